/**
 * Operators' controls (state.md §0.4, §0.5; admin.md §1.2, §1.8): switches of the cluster, quotas of
 * tenants, the purge of one. Each is one replicated command, in force on a node as soon as it applied it.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { uuidText } from '../../common/uuid-v7.js';
import { QueenError } from '../../common/errors.js';
import type { QueenConfig } from '../../config/index.js';
import { QUEEN_CONFIG } from '../../config/index.js';
import { deadlineAfter } from '../../http/deadlines.js';
import type { Logger } from '../../logging/index.js';
import { LOGGER } from '../../logging/index.js';
import { CommandKind } from '../../machine/commands/catalogue.js';
import {
  encodePurgeTenant,
  encodeSetQuota,
  encodeSetSwitches,
} from '../../machine/commands/index.js';
import type { SetSwitchesCommand } from '../../machine/commands/index.js';
import { StateGate } from '../../preparation/state-gate.js';
import { Groups } from '../../raft/index.js';
import type { CallOptions, Group } from '../../raft/index.js';
import { QUOTA_KINDS } from './quota-body.js';
import type { QuotaRequest } from './quota-body.js';

@Injectable()
export class ControlsService implements OnModuleInit {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(StateGate) private readonly gate: StateGate,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Every node tells its log of every flip, once. */
  onModuleInit(): void {
    const log = this.logger.child('switches');
    this.groups.first.listen({
      switched: (name, on) => log.warn('switch turned', { switch: name, on }),
    });
  }

  keyValueAndTimers(): object {
    const { controls } = this.groups.first.tables;
    const { tenants, hot } = this.gate.figures();
    return {
      kvEnabled: controls.isOn('kv'),
      timersScheduleEnabled: controls.isOn('timersSchedule'),
      timersFireEnabled: controls.isOn('timersFire'),
      quotaTenants: tenants,
      // Occupancy is counted with every write, never measured now and then.
      quotaAgeMs: tenants === 0 ? null : 0,
      quotaHot: hot,
    };
  }

  isEphemeralOn(): boolean {
    return this.groups.first.tables.controls.isOn('ephemeral');
  }

  /** Group 0 decides; the others follow at once, or by their own mirror when one is not reached now. */
  async turn(command: SetSwitchesCommand): Promise<void> {
    const [first, ...others] = this.groups.all();
    if (first === undefined) return;
    await this.turnIn(first, command);
    await Promise.all(others.map((group) => this.turnIn(group, command)));
  }

  private async turnIn(group: Group, command: SetSwitchesCommand): Promise<void> {
    const outcome = await group.submit({ bytes: encodeSetSwitches(command) }, this.options());
    if (outcome.kind !== CommandKind.SetSwitches) throw new QueenError('retry');
  }

  async setQuota(tenant: Uint8Array, request: QuotaRequest): Promise<object> {
    const { kind, enabled, limits } = request;
    const bytes = encodeSetQuota(tenant, { kind: QUOTA_KINDS[kind], enabled, limits });
    const outcome = await this.groups.ofTenant(tenant).submit({ bytes }, this.options());
    if (outcome.kind !== CommandKind.SetQuota) throw new QueenError('retry');
    return { success: true, tenant: uuidText(tenant), kind, enabled, ...limits };
  }

  async purge(tenant: Uint8Array): Promise<object> {
    const bytes = encodePurgeTenant(tenant);
    const outcome = await this.groups.ofTenant(tenant).submit({ bytes }, this.options());
    if (outcome.kind !== CommandKind.PurgeTenant) throw new QueenError('retry');
    const { partitions } = outcome;
    return { success: true, tenant: uuidText(tenant), partitionsDeleted: partitions, done: true };
  }

  sharedState(): object {
    const { first } = this.groups;
    const { applied, durable } = first.status();
    const queues = this.groups
      .all()
      .reduce((sum, { tables }) => sum + tables.queues.live().length, 0);
    return {
      ...{ enabled: true, reason: 'raft_state_machine' },
      ...{ appliedIndex: applied, durableIndex: durable, queues },
    };
  }

  private options(): CallOptions {
    return { deadlineMs: deadlineAfter(this.config.server.stmtTimeoutMs) };
  }
}
