/** Answers of the identity routes (admin.md §1.8) as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { DEFAULT_TENANT_TEXT } from '../tenancy/tenant.js';

const TEXT = { type: 'string' } as const;

export class ClusterChoiceDto {
  @ApiProperty(TEXT) readonly id!: string;
  @ApiProperty(TEXT) readonly slug!: string;
}

export class ClusterMembershipDto extends ClusterChoiceDto {
  @ApiProperty(TEXT) readonly role!: string;
  @ApiProperty(TEXT) readonly tenant_slug!: string;
  @ApiProperty(TEXT) readonly tenant_id!: string;
  @ApiProperty(TEXT) readonly status!: string;
  @ApiProperty(TEXT) readonly cell_slug!: string;
}

export class MeDto {
  @ApiProperty(TEXT) readonly user_id!: string;
  @ApiProperty({ type: 'string', nullable: true }) readonly email!: string | null;
  @ApiProperty(TEXT) readonly tenant_slug!: string;
  @ApiProperty({ type: 'boolean' }) readonly is_operator!: boolean;
  @ApiProperty({ type: 'boolean' }) readonly operator_enabled!: boolean;
  @ApiProperty({ type: 'boolean' }) readonly operator_live!: boolean;
  @ApiProperty({ type: ClusterChoiceDto }) readonly acting_cluster!: ClusterChoiceDto;
  @ApiProperty({ type: [ClusterMembershipDto] }) readonly clusters!: ClusterMembershipDto[];
  @ApiProperty(TEXT) readonly act_cluster_header!: string;
  @ApiProperty(TEXT) readonly role!: string;
  @ApiProperty({ type: 'string', nullable: true }) readonly cluster!: string | null;
  @ApiProperty({ type: 'boolean' }) readonly standalone!: boolean;
  @ApiProperty({
    type: 'array',
    items: { type: 'string', enum: ['admin', 'read-write', 'read-only', 'write-only'] },
    required: false,
    description: 'Only with a token: every role it carries.',
  })
  readonly roles?: readonly string[];
}

export class AuthRequiredDto {
  @ApiProperty({ type: 'string', enum: ['auth_required'] }) readonly error!: string;
  @ApiProperty({ type: 'string', enum: ['auth_required'] }) readonly code!: string;
}

export class OkDto {
  @ApiProperty({ type: 'boolean', enum: [true] }) readonly ok!: boolean;
}

export function meOf(serverId: string): MeDto {
  const local = { id: 'local', slug: 'local' };
  return {
    ...{ user_id: 'standalone', email: null, tenant_slug: 'local', is_operator: true },
    ...{ operator_enabled: true, operator_live: true, acting_cluster: local },
    clusters: [
      {
        ...local,
        ...{ role: 'admin', tenant_slug: 'local', tenant_id: DEFAULT_TENANT_TEXT },
        ...{ status: 'active', cell_slug: serverId },
      },
    ],
    ...{ act_cluster_header: 'x-queen-act-cluster', role: 'admin', cluster: null },
    standalone: true,
  };
}

/** Whose the token is: what it may do decides which controls the dashboard offers. */
export function holderOf(
  serverId: string,
  token: { readonly subject: string | null; readonly roles: readonly string[] },
): MeDto {
  const me = meOf(serverId);
  const role = token.roles[0] ?? 'none';
  const isAdmin = role === 'admin';
  return {
    ...me,
    ...{ user_id: token.subject ?? 'token', role, roles: token.roles },
    ...{ is_operator: isAdmin, operator_enabled: isAdmin, operator_live: isAdmin },
    clusters: me.clusters.map((cluster) => ({ ...cluster, role })),
  };
}

export const ME_EXAMPLE = meOf('queen-1');
export const HOLDER_EXAMPLE = holderOf('queen-1', { subject: 'ana', roles: ['read-only'] });

/** Loads nothing. */
export const LOGIN_PAGE = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Queen</title></head>
<body style="font: 16px/1.5 system-ui; max-width: 34em; margin: 4em auto; padding: 0 1em">
<h1>Queen</h1>
<p>This broker checks tokens and keeps no sessions of people. Sign in through the proxy in front of
it, or open <a href="/">the dashboard</a> and paste a token.</p>
</body></html>
`;
