/** Requests and answers of the operators' controls as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { COUNT, UUID_TEXT } from '../../docs-api/index.js';

const optional = { required: false } as const;
const FLAG = { ...optional, type: 'boolean' as const };
const LIMIT = { ...optional, ...COUNT, nullable: true, description: 'Absent or null: no limit.' };
const SHOWN = { ...COUNT, nullable: true };

export class SwitchesDto {
  @ApiProperty({ ...FLAG, description: 'Keys, values and locks.' }) readonly kv?: boolean;
  @ApiProperty({ ...FLAG, description: 'New timers.' }) readonly timersSchedule?: boolean;
  @ApiProperty({ ...FLAG, description: 'Firing of due timers.' }) readonly timersFire?: boolean;
}

export class SwitchesStateDto {
  @ApiProperty({ type: 'boolean' }) readonly kvEnabled!: boolean;
  @ApiProperty({ type: 'boolean' }) readonly timersScheduleEnabled!: boolean;
  @ApiProperty({ type: 'boolean' }) readonly timersFireEnabled!: boolean;
  @ApiProperty({ ...COUNT, description: 'Tenants with a quota of kind `kv`.' })
  readonly quotaTenants!: number;
  @ApiProperty({ ...SHOWN, description: 'Age of the occupancy figures; null without quotas.' })
  readonly quotaAgeMs!: number | null;
  @ApiProperty({ ...COUNT, description: 'Tenants near one of their limits.' })
  readonly quotaHot!: number;
}

export class EphemeralSwitchDto {
  @ApiProperty({ type: 'boolean' }) readonly enabled!: boolean;
}

export class EphemeralStateDto {
  @ApiProperty({ type: 'boolean' }) readonly ephemeralEnabled!: boolean;
  @ApiProperty({ ...FLAG, enum: [true] }) readonly mirrored?: boolean;
}

export class ControlRefusalDto {
  @ApiProperty({ type: 'string' }) readonly error!: string;
}

export class QuotaDto {
  @ApiProperty({ type: 'string', enum: ['kv', 'ephemeral', 'streams'] }) readonly kind!: string;
  @ApiProperty({ ...optional, type: 'string', description: 'UUID; absent: the request’s tenant.' })
  readonly tenant?: string;
  @ApiProperty({ ...FLAG, default: true }) readonly enabled?: boolean;
  @ApiProperty(LIMIT) readonly maxRows?: number | null;
  @ApiProperty(LIMIT) readonly maxBytes?: number | null;
  @ApiProperty(LIMIT) readonly maxTimers?: number | null;
  @ApiProperty(LIMIT) readonly maxTimerHorizonSeconds?: number | null;
  @ApiProperty(LIMIT) readonly maxReadsPerSecond?: number | null;
  @ApiProperty(LIMIT) readonly maxWritesPerSecond?: number | null;
  @ApiProperty(LIMIT) readonly maxQueues?: number | null;
  @ApiProperty(LIMIT) readonly maxMessagesPerSecond?: number | null;
  @ApiProperty(LIMIT) readonly maxQueries?: number | null;
}

export class QuotaSetDto {
  @ApiProperty({ type: 'boolean', enum: [true] }) readonly success!: boolean;
  @ApiProperty(UUID_TEXT) readonly tenant!: string;
  @ApiProperty({ type: 'string', enum: ['kv', 'ephemeral', 'streams'] }) readonly kind!: string;
  @ApiProperty({ type: 'boolean' }) readonly enabled!: boolean;
  @ApiProperty(SHOWN) readonly maxRows!: number | null;
  @ApiProperty(SHOWN) readonly maxBytes!: number | null;
  @ApiProperty(SHOWN) readonly maxTimers!: number | null;
  @ApiProperty(SHOWN) readonly maxTimerHorizonSeconds!: number | null;
  @ApiProperty(SHOWN) readonly maxReadsPerSecond!: number | null;
  @ApiProperty(SHOWN) readonly maxWritesPerSecond!: number | null;
  @ApiProperty(SHOWN) readonly maxQueues!: number | null;
  @ApiProperty(SHOWN) readonly maxMessagesPerSecond!: number | null;
  @ApiProperty(SHOWN) readonly maxQueries!: number | null;
}

export class ReservedTenantDto {
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly error!: string;
  @ApiProperty({ ...optional, type: 'string', enum: ['reserved_tenant'] }) readonly code?: string;
}

export class PurgedTenantDto {
  @ApiProperty({ type: 'boolean', enum: [true] }) readonly success!: boolean;
  @ApiProperty(UUID_TEXT) readonly tenant!: string;
  @ApiProperty(COUNT) readonly partitionsDeleted!: number;
  @ApiProperty({ type: 'boolean' }) readonly done!: boolean;
}

export class SharedStateDto {
  @ApiProperty({ type: 'boolean' }) readonly enabled!: boolean;
  @ApiProperty({ type: 'string', enum: ['raft_state_machine'] }) readonly reason!: string;
  @ApiProperty(COUNT) readonly appliedIndex!: number;
  @ApiProperty(COUNT) readonly durableIndex!: number;
  @ApiProperty(COUNT) readonly queues!: number;
}
