/** The two fixed answers as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';

export class StatusDto {
  @ApiProperty({ type: 'string', enum: ['ok'] }) readonly status!: string;
  @ApiProperty({ type: 'string', enum: ['raft'] }) readonly engine!: string;
}

export class RefreshedDto {
  @ApiProperty({ type: 'boolean', enum: [true] }) readonly success!: boolean;
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly refreshed!: boolean;
  @ApiProperty({ type: 'string', enum: ['raft'] }) readonly engine!: string;
}
