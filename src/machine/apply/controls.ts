/**
 * Switches, quotas and the purge of a tenant (state.md §0.4, §0.5, §1.8). A purge takes one entry: the
 * tenant's queues go, its number is never used again, and whatever lies under that number is
 * unreachable from then on and is removed node-locally in slices. Quotas are the operator's and stay.
 */
import { CommandKind } from '../commands/catalogue.js';
import { SWITCH_NAMES, QUOTA_LIMITS } from '../commands/controls.js';
import type {
  PurgeTenantOutcome,
  SetQuotaCommand,
  SetQuotaOutcome,
  SetSwitchesCommand,
  SetSwitchesOutcome,
  SwitchName,
} from '../commands/controls.js';
import type { ApplyContext } from './context.js';

export function applySetSwitches(
  context: ApplyContext,
  command: SetSwitchesCommand,
): SetSwitchesOutcome {
  const changed: SwitchName[] = [];
  SWITCH_NAMES.forEach((name, bit) => {
    const on = command[name];
    if (on === undefined || !context.tables.controls.turn(name, on)) return;
    changed.push(name);
    context.digest.word(bit * 2 + (on ? 1 : 0));
    context.effects.switched(bit, on);
  });
  return { kind: CommandKind.SetSwitches, changed };
}

export function applySetQuota(context: ApplyContext, command: SetQuotaCommand): SetQuotaOutcome {
  const { kind, enabled, limits } = command;
  const { digest, tenantUuid, tables } = context;
  tables.controls.setQuota(kind, tenantUuid, { enabled, limits });
  digest.bytes(tenantUuid);
  digest.word(kind * 2 + (enabled ? 1 : 0));
  for (const name of QUOTA_LIMITS) digest.number(limits[name] ?? -1);
  context.effects.quotaSet(kind);
  return { kind: CommandKind.SetQuota };
}

export function applyPurgeTenant(context: ApplyContext): PurgeTenantOutcome {
  const { names, queues, kv, ephemeral, timers, streams } = context.tables;
  const tenant = context.tenant();
  let partitions = 0;
  if (tenant !== undefined) {
    for (const queue of queues.list(tenant)) {
      partitions += queue.partitionCount;
      queues.remove(queue);
      context.digest.word(queue.id);
      context.effects.queueDeleted(queue.id);
    }
    for (const name of ephemeral.list(tenant)) ephemeral.drop(tenant, name);
    kv.forget(tenant);
    timers.forget(tenant);
    streams.forget(tenant);
    names.forgetTenant(tenant);
    context.digest.word(tenant);
    context.effects.tenantPurged(tenant);
  }
  return { kind: CommandKind.PurgeTenant, partitions };
}
