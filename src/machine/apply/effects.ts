/**
 * What an entry has to say, kept back until the whole entry is applied: outcomes for the origin
 * nodes and events for coordinators and local waiters. Events are columns of numbers, not closures.
 */
import type { GrantOutcome, Outcome } from '../commands/catalogue.js';
import type { TrimRule } from '../commands/retention.js';
import type { Cut, MachineEvents, OutcomeSink } from '../machine.js';
import { SWITCH_NAMES } from '../commands/controls.js';
import type { QuotaKind } from '../commands/controls.js';

const enum EventKind {
  QueueCreated,
  QueueConfigured,
  QueueDeleted,
  Registered,
  Appended,
  CursorChanged,
  Granted,
  TimerDue,
  Trimmed,
  PartitionDropped,
  Switched,
  QuotaSet,
  TenantPurged,
}

/** A cut as one number: messages and rule. */
const RULES = 4;

export class Effects {
  private readonly sessions: number[] = [];
  private readonly sequences: number[] = [];
  private readonly outcomes: Outcome[] = [];
  private readonly kinds: EventKind[] = [];
  private readonly firsts: number[] = [];
  private readonly seconds: number[] = [];
  private readonly grants: GrantOutcome[] = [];

  outcome(session: number, sequence: number, outcome: Outcome): void {
    this.sessions.push(session);
    this.sequences.push(sequence);
    this.outcomes.push(outcome);
  }

  queueCreated(queueId: number): void {
    this.event(EventKind.QueueCreated, queueId, 0);
  }

  queueConfigured(queueId: number): void {
    this.event(EventKind.QueueConfigured, queueId, 0);
  }

  queueDeleted(queueId: number): void {
    this.event(EventKind.QueueDeleted, queueId, 0);
  }

  registered(queueId: number, groupId: number): void {
    this.event(EventKind.Registered, queueId, groupId);
  }

  appended(partitionSlot: number): void {
    this.event(EventKind.Appended, partitionSlot, 0);
  }

  cursorChanged(cursorSlot: number): void {
    this.event(EventKind.CursorChanged, cursorSlot, 0);
  }

  timerDue(due: number): void {
    this.event(EventKind.TimerDue, due, 0);
  }

  granted(grant: GrantOutcome): void {
    this.event(EventKind.Granted, this.grants.length, 0);
    this.grants.push(grant);
  }

  trimmed(partitionSlot: number, cut: Cut): void {
    this.event(EventKind.Trimmed, partitionSlot, cut.messages * RULES + cut.rule);
  }

  partitionDropped(queueId: number, partitionSlot: number): void {
    this.event(EventKind.PartitionDropped, queueId, partitionSlot);
  }

  /** `bit` counts in SWITCH_NAMES. */
  switched(bit: number, on: boolean): void {
    this.event(EventKind.Switched, bit, on ? 1 : 0);
  }

  quotaSet(kind: QuotaKind): void {
    this.event(EventKind.QuotaSet, kind, 0);
  }

  tenantPurged(tenant: number): void {
    this.event(EventKind.TenantPurged, tenant, 0);
  }

  /** Outcomes in log order, then events in log order; forgets them first, so a throw repeats nothing. */
  deliver(sink: OutcomeSink, events: MachineEvents): void {
    const { sessions, sequences, outcomes } = this;
    const answered = outcomes.splice(0);
    const raised = this.kinds.splice(0);
    const firsts = this.firsts.splice(0);
    const seconds = this.seconds.splice(0);
    const grants = this.grants.splice(0);
    const origins = sessions.splice(0);
    const numbers = sequences.splice(0);
    answered.forEach((outcome, i) => sink.outcome(origins[i]!, numbers[i]!, outcome));
    raised.forEach((kind, i) =>
      raise(events, kind, { first: firsts[i]!, second: seconds[i]!, grants }),
    );
  }

  private event(kind: EventKind, first: number, second: number): void {
    this.kinds.push(kind);
    this.firsts.push(first);
    this.seconds.push(second);
  }
}

interface EventFields {
  readonly first: number;
  readonly second: number;
  readonly grants: readonly GrantOutcome[];
}

function raise(events: MachineEvents, kind: EventKind, fields: EventFields): void {
  const { first, second, grants } = fields;
  switch (kind) {
    case EventKind.QueueCreated:
      return events.queueCreated(first);
    case EventKind.QueueConfigured:
      return events.queueConfigured(first);
    case EventKind.QueueDeleted:
      return events.queueDeleted(first);
    case EventKind.Registered:
      return events.registered(first, second);
    case EventKind.Appended:
      return events.appended(first);
    case EventKind.CursorChanged:
      return events.cursorChanged(first);
    case EventKind.Granted:
      return events.granted(grants[first]!);
    case EventKind.TimerDue:
      return events.timerDue(first);
    case EventKind.Trimmed: {
      const rule = (second % RULES) as TrimRule;
      return events.trimmed(first, { messages: Math.floor(second / RULES), rule });
    }
    case EventKind.PartitionDropped:
      return events.partitionDropped(first, second);
    case EventKind.Switched:
      return events.switched(SWITCH_NAMES[first]!, second === 1);
    case EventKind.QuotaSet:
      return events.quotaSet(first);
    case EventKind.TenantPurged:
      return events.tenantPurged(first);
  }
}
