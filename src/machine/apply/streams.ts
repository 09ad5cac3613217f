/**
 * Streams at apply (state.md §4): registering queries and committing cycles. A cycle judges its query,
 * its lease and its pushes before anything is written; then messages, state and cursor change together.
 */
import { offset } from '../../common/ids.js';
import type { TenantId } from '../../common/ids.js';
import { CommandKind } from '../commands/catalogue.js';
import { QuotaKind } from '../commands/controls.js';
import type {
  CycleAck,
  CycleAckOutcome,
  RegisterStreamCommand,
  RegisterStreamOutcome,
  StreamCycleCommand,
  StreamCycleOutcome,
} from '../commands/streams.js';
import type { PrefetchSink } from '../machine.js';
import { encodeStateRow, streamStateKey } from '../tables/stream-rows.js';
import type { StreamQuery } from '../tables/stream-rows.js';
import type { ApplyContext, LivePartition } from './context.js';
import { acceptsAck } from './lease-rules.js';
import type { PushApplier, PushBody } from './push.js';

export function applyRegisterStream(
  context: ApplyContext,
  command: RegisterStreamCommand,
): RegisterStreamOutcome {
  const { names, streams } = context.tables;
  const tenant = context.tenant();
  const known = tenant === undefined ? undefined : streams.byName(tenant, command.name);
  if (known === undefined) return registerNew(context, command, tenant);
  const { queryId } = known;
  const sameHash = known.configHash === command.configHash;
  if (!sameHash && !command.reset) return registered('mismatch', queryId);
  const generation = sameHash ? known.generation : known.generation + 1;
  if (!sameHash) {
    streams.discard({ tenant: known.tenant, queryId, generation: known.generation });
  }
  const { sourceQueue, sinkQueue, configHash } = command;
  put(context, {
    ...known,
    ...{ sourceQueue, sinkQueue, configHash, generation, updatedAt: context.now },
  });
  names.ensureTenant(context.tenantUuid);
  return registered(sameHash ? 'known' : 'reset', queryId);
}

function registerNew(
  context: ApplyContext,
  command: RegisterStreamCommand,
  known: TenantId | undefined,
): RegisterStreamOutcome {
  const { controls, names, streams } = context.tables;
  const grant = controls.quota(QuotaKind.Streams, context.tenantUuid);
  if (command.needsGrant && grant?.enabled !== true) return registered('denied', null);
  const most = grant?.limits.maxQueries ?? null;
  const count = known === undefined ? 0 : streams.count(known);
  if (most !== null && count >= most) return registered('full', null);
  const tenant = names.ensureTenant(context.tenantUuid);
  const { queryId, name, sourceQueue, sinkQueue, configHash } = command;
  put(context, {
    ...{ tenant, queryId, name, sourceQueue, sinkQueue, configHash, generation: 1 },
    ...{ createdAt: context.now, updatedAt: context.now },
  });
  return registered('fresh', queryId);
}

function put(context: ApplyContext, query: StreamQuery): void {
  const { digest } = context;
  context.tables.streams.put(query);
  digest.bytes(query.queryId);
  for (const text of [query.name, query.sourceQueue, query.sinkQueue ?? '', query.configHash]) {
    digest.text(text);
  }
  digest.word(query.generation);
}

function registered(
  verdict: RegisterStreamOutcome['verdict'],
  queryId: Uint8Array | null,
): RegisterStreamOutcome {
  return { kind: CommandKind.RegisterStream, verdict, queryId };
}

/** A cycle inside its entry. */
export interface Cycle {
  readonly command: StreamCycleCommand;
  readonly pushes: PushBody;
}

export function prefetchCycle(cycle: Cycle, push: PushApplier, sink: PrefetchSink): void {
  push.prefetch(cycle.pushes, sink);
}

export function applyCycle(
  context: ApplyContext,
  { command, pushes }: Cycle,
  push: PushApplier,
): StreamCycleOutcome {
  const tenant = context.tenant();
  const query =
    tenant === undefined ? undefined : context.tables.streams.byId(tenant, command.queryId);
  if (query === undefined) return refused('no_query', 'no such query');
  const partition = context.livePartition(command.partitionId);
  if (partition === undefined || partition.queue.tenant !== tenant) {
    return refused('no_partition', 'no such partition');
  }
  const { ack } = command;
  const cursor = ack === null ? -1 : leasedCursor(context, partition, ack);
  if (ack !== null && cursor < 0) return refused('rejected_ack', 'invalid or expired lease');
  const obstacle = push.obstacle(pushes, () => undefined);
  if (obstacle !== null) {
    const { queue, partition: sink, originalOffset } = obstacle;
    return originalOffset === null
      ? refused('reprepare', `encryption of queue ${queue} was switched`)
      : refused(
          'duplicate',
          `a message is stored already in ${queue}/${sink} at ${originalOffset}`,
        );
  }
  const { groups } = push.apply(pushes);
  writeState(context, query, command);
  const acked = ack === null ? null : settle(context, { partition, cursor, ack });
  return {
    kind: CommandKind.StreamCycle,
    verdict: 'applied',
    text: '',
    pushes: groups,
    ack: acked,
  };
}

/** In order: the last operation on a key wins. */
function writeState(context: ApplyContext, query: StreamQuery, command: StreamCycleCommand): void {
  const { rows, digest } = context;
  const place = { ...query, partitionId: command.partitionId };
  if (command.stateOps.length > 0) {
    digest.bytes(query.queryId);
    digest.number(command.partitionId);
  }
  for (const { key, value } of command.stateOps) {
    const rowKey = streamStateKey(place, key);
    digest.text(key);
    if (value === null) {
      rows.delete(rowKey);
    } else {
      rows.put(rowKey, encodeStateRow(context.now, value));
      digest.bytes(value);
    }
  }
}

/** Cursor of the group whose live lease the acknowledgement names; -1 when it names none. */
function leasedCursor(
  context: ApplyContext,
  { slot, queue }: LivePartition,
  ack: CycleAck,
): number {
  const { cursors, leases, names } = context.tables;
  const group = names.group(queue.tenant, ack.group);
  const cursor = group === undefined ? -1 : cursors.find(slot, group);
  const lease = cursor < 0 ? -1 : cursors.lease(cursor);
  if (lease < 0 || ack.leaseId.length === 0) return -1;
  return acceptsAck(leases, lease, context) && leases.matches(lease, ack.leaseId) ? cursor : -1;
}

interface Settling {
  readonly partition: LivePartition;
  readonly cursor: number;
  readonly ack: CycleAck;
}

/** The batch under the lease as a whole, its first messages, or none of it (§4.3). */
function settle(context: ApplyContext, settling: Settling): CycleAckOutcome {
  const { ack, cursor } = settling;
  const { cursors } = context.tables;
  if (!ack.completed) {
    cursors.clearLease(cursor);
    finish(context, cursor);
    return { count: 0, leaseReleased: true };
  }
  if (ack.release) settleBatch(context, settling);
  else advance(context, settling);
  finish(context, cursor);
  return { count: ack.count, leaseReleased: ack.release };
}

function settleBatch(context: ApplyContext, { cursor, ack }: Settling): void {
  const { cursors, leases } = context.tables;
  const lease = cursors.lease(cursor);
  const leaseId = leases.copyId(lease);
  const end = leases.batchEnd(lease);
  cursors.setReleased(cursor, leaseId, leases.firstOffset(lease), end);
  context.digest.bytes(leaseId);
  cursors.setCommitted(cursor, Math.max(cursors.committed(cursor), end));
  cursors.addConsumed(cursor, ack.count);
  cursors.setAttempt(cursor, -1, 0);
  cursors.setBatchRetryCount(cursor, 0);
  cursors.clearLease(cursor);
}

/** By messages that exist: what retention cut off at the batch's start is passed over for nothing. */
function advance(context: ApplyContext, { partition, cursor, ack }: Settling): void {
  const { cursors, leases, partitions } = context.tables;
  const lease = cursors.lease(cursor);
  const first = Math.max(leases.firstOffset(lease), partitions.logStart(partition.slot));
  const reached = Math.min(first + ack.count - 1, leases.batchEnd(lease));
  const committed = Math.max(cursors.committed(cursor), reached);
  if (ack.count === 0 || committed === cursors.committed(cursor)) return;
  cursors.addConsumed(cursor, committed - Math.max(cursors.committed(cursor), first - 1));
  cursors.setCommitted(cursor, committed);
  cursors.setAttempt(cursor, offset(committed + 1), cursors.attemptCount(cursor));
}

function finish(context: ApplyContext, cursor: number): void {
  context.tables.cursors.bump(cursor);
  context.cursorChanged(cursor);
}

function refused(verdict: StreamCycleOutcome['verdict'], text: string): StreamCycleOutcome {
  return { kind: CommandKind.StreamCycle, verdict, text, pushes: [], ack: null };
}
