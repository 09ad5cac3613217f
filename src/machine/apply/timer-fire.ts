/**
 * Firing due timers (state.md §2.3). The sweeper names timers with the message and the due instant it
 * saw; one that was cancelled, moved or fired since is skipped, and none fires before its time on the
 * log clock. A message that is appended, or repeats one in the destination's dedup window, ends its
 * timer in the same entry. A refused one comes back later, and at last becomes a dead letter.
 */
import { errorRule, isErrorCode } from '../../common/errors.js';
import { nameRefusal } from '../../common/name-budget.js';
import { CommandKind, PushItemStatus } from '../commands/catalogue.js';
import type { ImplicitDefaults } from '../commands/catalogue.js';
import { PushBodyView } from '../commands/push-view.js';
import type {
  FailTimersCommand,
  FailTimersOutcome,
  FailureRules,
  FiredTimer,
  FireTimersCommand,
  FireTimersOutcome,
} from '../commands/timers.js';
import type { PrefetchSink } from '../machine.js';
import { timerKeyOf } from '../tables/timer-keys.js';
import type { TimerName } from '../tables/timer-keys.js';
import { NO_OFFSET } from '../tables/dead-letter-row.js';
import { timerDue } from '../tables/timer-row.js';
import type { TimerRecordPlace, TimerRow } from '../tables/timer-row.js';
import type { ApplyContext } from './context.js';
import { writeDeadLetters } from './dead-letters.js';
import { later } from './lease-rules.js';
import type { PushApplier, PushBody } from './push.js';
import { createImplicitQueue } from './queues.js';
import { findTimer, putTimer, removeTimer } from './timer-rows.js';

/** Refusals from here up (pressure, no leader, full disk) may pass by themselves. */
const LEAST_RETRYABLE_STATUS = 429;
/** The consumer group under which timers that never could be fired are filed. */
export const TIMER_GROUP = '__timer__';

/** A fire inside its entry. */
export interface Fire {
  readonly command: FireTimersCommand;
  readonly body: PushBody;
}

/** One named timer and what is known of it. */
interface Candidate {
  readonly fired: FiredTimer;
  readonly name: TimerName;
  /** Undefined: it is not what the sweeper saw. */
  readonly row: TimerRow | undefined;
  readonly refusal: Refusal | null;
  /** Its record in this command. */
  readonly place: TimerRecordPlace;
}

interface Refusal {
  readonly code: string;
  readonly text: string;
}

const view = new PushBodyView();

export function prefetchFire(
  context: ApplyContext,
  { command, body }: Fire,
  push: PushApplier,
  sink: PrefetchSink,
): void {
  const tenant = context.tenant();
  if (tenant === undefined) return;
  view.open(body.bytes, body.start, body.end);
  for (let at = 0; view.nextGroup(); at += view.count) {
    const queue = view.queueName();
    for (const { timerKey } of command.timers.slice(at, at + view.count)) {
      sink.row(timerKeyOf({ tenant, queue, timerKey }));
    }
  }
  push.prefetch(body, sink);
}

export function applyFire(context: ApplyContext, fire: Fire, push: PushApplier): FireTimersOutcome {
  const candidates = candidatesOf(context, fire);
  const { rules } = fire.command;
  const { defaults } = view.limits();
  let at = 0;
  const { groups } = push.apply(fire.body, {
    keepsEncryption: true,
    accepts: () => isAccepted(candidates[at++]),
  });
  const statuses = groups.flatMap((group) => Array.from(group.statuses));
  const counts = { fired: 0, duplicates: 0, skipped: 0, failed: 0, deadLettered: 0 };
  candidates.forEach((candidate, i) => {
    const { name, row, refusal } = candidate;
    if (row === undefined) {
      counts.skipped += 1;
    } else if (refusal !== null) {
      counts[failTimer(context, { candidate, row, refusal, rules, defaults })] += 1;
    } else {
      removeTimer(context, name, row);
      counts[statuses[i] === PushItemStatus.Duplicate ? 'duplicates' : 'fired'] += 1;
    }
  });
  return { kind: CommandKind.FireTimers, ...counts };
}

function isAccepted(candidate: Candidate | undefined): boolean {
  return candidate?.row !== undefined && candidate.refusal === null;
}

/** In the order of the messages. A command whose timers are fewer than its messages fires the fewer. */
function candidatesOf(context: ApplyContext, { command, body }: Fire): Candidate[] {
  const tenant = context.tenant();
  const candidates: Candidate[] = [];
  view.open(body.bytes, body.start, body.end);
  while (view.nextGroup()) {
    const queue = view.queueName();
    const tooLong = nameRefusal({ queue, partition: view.partitionName() });
    const refusal = tooLong === undefined ? null : { code: 'name_too_long', text: tooLong };
    for (let i = 0; i < view.count; i++) {
      const fired = command.timers[candidates.length];
      if (fired === undefined || tenant === undefined) return candidates;
      const name = { tenant, queue, timerKey: fired.timerKey };
      const place = {
        entryIndex: context.index,
        start: body.entryOffset + view.blockAt + view.recordStart(i),
        length: view.recordLength(i),
        crc: view.recordCrc(i),
      };
      const row = dueTimer(context, name, {
        due: fired.due,
        bytes: view.bytes,
        idAt: view.idAt(i),
      });
      candidates.push({ fired, name, row, refusal, place });
    }
  }
  return candidates;
}

/** The timer if it is the one the sweeper saw and its time has come. */
function dueTimer(
  context: ApplyContext,
  name: TimerName,
  seen: { readonly due: number; readonly bytes: Uint8Array; readonly idAt: number },
): TimerRow | undefined {
  const row = findTimer(context, name);
  if (row === undefined || timerDue(row) !== seen.due || seen.due > context.now) return undefined;
  for (let k = 0; k < 16; k++) {
    if (row.messageId[k] !== seen.bytes[seen.idAt + k]) return undefined;
  }
  return row;
}

export function prefetchFail(
  context: ApplyContext,
  command: FailTimersCommand,
  sink: PrefetchSink,
): void {
  const tenant = context.tenant();
  if (tenant === undefined) return;
  for (const { queue, timerKey } of command.timers) {
    sink.row(timerKeyOf({ tenant, queue, timerKey }));
  }
}

/** The sweeper could not even bring the messages; their log bytes are those of the schedule. */
export function applyFail(context: ApplyContext, command: FailTimersCommand): FailTimersOutcome {
  const tenant = context.tenant();
  const counts = { skipped: 0, failed: 0, deadLettered: 0 };
  const { rules, defaults } = command;
  for (const fired of command.timers) {
    const { queue, timerKey, due, messageId: bytes, code, text } = fired;
    const name = tenant === undefined ? undefined : { tenant, queue, timerKey };
    const row = name === undefined ? undefined : dueTimer(context, name, { due, bytes, idAt: 0 });
    if (name === undefined || row === undefined) {
      counts.skipped += 1;
      continue;
    }
    const refusal = { code, text };
    const candidate = { fired, name, row, refusal, place: row.place };
    counts[failTimer(context, { candidate, row, refusal, rules, defaults })] += 1;
  }
  return { kind: CommandKind.FailTimers, ...counts };
}

interface Failure {
  readonly candidate: Candidate;
  readonly row: TimerRow;
  readonly refusal: Refusal;
  readonly rules: FailureRules;
  readonly defaults: ImplicitDefaults;
}

/** A refusal that may pass never costs an attempt; the others back off and end as a dead letter. */
function failTimer(context: ApplyContext, failure: Failure): 'failed' | 'deadLettered' {
  const { candidate, row, refusal, rules } = failure;
  const { name } = candidate;
  const { now } = context;
  if (isTransient(refusal.code)) {
    const visibleAt = later(now, rules.transientMicros);
    putTimer(context, name, { ...row, visibleAt, updatedAt: now }, row);
    return 'failed';
  }
  const attempts = row.attempts + 1;
  const lastError = `${refusal.code}: ${refusal.text}`;
  if (attempts >= rules.maxAttempts) {
    removeTimer(context, name, row);
    fileTimer(context, failure, { attempts, lastError });
    return 'deadLettered';
  }
  const wait = Math.min(rules.backoffMinMicros * 2 ** row.attempts, rules.backoffMaxMicros);
  const visibleAt = later(now, wait);
  putTimer(context, name, { ...row, attempts, lastError, visibleAt, updatedAt: now }, row);
  return 'failed';
}

function fileTimer(
  context: ApplyContext,
  { candidate, row, defaults }: Failure,
  end: { readonly attempts: number; readonly lastError: string },
): void {
  const { tables } = context;
  const { name, place, fired } = candidate;
  const tenant = tables.names.ensureTenant(context.tenantUuid);
  const queue =
    tables.queues.find(tenant, name.queue) ?? createImplicitQueue(context, name.queue, defaults);
  const known = tables.partitions.find(queue.id, row.partition);
  const slot = known >= 0 ? known : tables.partitions.create(queue, row.partition, context.now);
  const group = tables.names.ensureGroup(tenant, TIMER_GROUP);
  writeDeadLetters(context, slot, [
    {
      queueId: queue.id,
      partitionId: tables.partitions.id(slot),
      groupId: group,
      offset: NO_OFFSET,
      entryIndex: place.entryIndex,
      blockOffset: place.start,
      start: 0,
      length: place.length,
      crc: place.crc,
      messageFlags: row.messageFlags,
      messageId: row.messageId,
      transactionHash: row.transactionHash,
      retryCount: end.attempts,
      failedAt: context.now,
      deadLetterId: fired.deadLetterId,
      error: end.lastError,
    },
  ]);
  context.digest.word(group);
}

function isTransient(code: string): boolean {
  return isErrorCode(code) && errorRule(code).status >= LEAST_RETRYABLE_STATUS;
}
