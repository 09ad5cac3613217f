/** Request and answer of the extension of a lease (messages.md §7) as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { COUNT, TIMESTAMP } from '../docs-api/index.js';

export class ExtendRequestDto {
  @ApiProperty({
    type: 'integer',
    required: false,
    default: 60,
    minimum: 1,
    maximum: 2_147_483_647,
    description: 'From now on; never shortens. Absent or unparsable: 60.',
  })
  readonly seconds?: number;
}

const EXPIRY = { ...TIMESTAMP, nullable: true, description: 'Earliest of the extended leases.' };

export class ExtendedLeaseDto {
  @ApiProperty({ type: 'string' }) readonly leaseId!: string;
  @ApiProperty({ type: 'boolean', description: '`renewed > 0`.' }) readonly success!: boolean;
  @ApiProperty({ ...COUNT, description: 'Lanes of the pop.' }) readonly renewed!: number;
  @ApiProperty(EXPIRY) readonly newExpiresAt!: string | null;
  @ApiProperty(EXPIRY) readonly expiresAt!: string | null;
  @ApiProperty(EXPIRY) readonly lease_expires_at!: string | null;
}

const LEASE_ID = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';

const times = (at: string | null): object => ({
  ...{ newExpiresAt: at, expiresAt: at, lease_expires_at: at },
});

export const EXTEND_EXAMPLES = {
  'two minutes from now': { value: { seconds: 120 } },
  'the default': { value: {} },
};

export const EXTEND_ANSWERS = {
  extended: {
    leaseId: LEASE_ID,
    success: true,
    renewed: 1,
    ...times('2026-03-04T05:08:07.123456Z'),
  },
  'unknown, expired or released': {
    leaseId: LEASE_ID,
    success: false,
    renewed: 0,
    ...times(null),
  },
};
