/**
 * Discovery pops (spec §5.3): the queues whose labels match are walked one after another, sharing one
 * budget. A walk waits for the scan of each lane; a pop that is settled meanwhile gives back what was
 * gathered, unclaimed.
 */
import type { QueueRow } from '../../machine/tables/tables.js';
import type { PopRequest } from '../../raft/group/group.js';
import type { ProposedGrant } from './claim-collector.js';
import { ClaimCollector } from './claim-collector.js';
import type { ConsumerLane } from './consumer-lane.js';
import type { DispatcherHost, DispatcherOptions } from './dispatcher-host.js';
import type { InspectContext } from './inspect.js';
import type { WaitingPop } from './waiting-pop.js';

export interface DiscoveryPort {
  readonly tables: DispatcherHost['tables'];
  readonly options: DispatcherOptions;
  context(): InspectContext;
  lane(queue: QueueRow, pop: WaitingPop): ConsumerLane | null;
  /** Resolves when every partition of the lane is judged, lookups included. */
  build(lane: ConsumerLane): Promise<void>;
  propose(grant: ProposedGrant): void;
  /** Gives back the slots of a grant that is not proposed. */
  release(grant: ProposedGrant): void;
}

export async function discover(pop: WaitingPop, port: DiscoveryPort): Promise<void> {
  let grant: ProposedGrant | null = null;
  try {
    for (const queue of matching(port, pop.request)) {
      const lane = port.lane(queue, pop);
      if (lane === null) continue;
      await port.build(lane);
      if (pop.settled) break;
      if (port.tables.queues.byId(queue.id) !== queue) continue;
      const collector: ClaimCollector = new ClaimCollector(lane, port.context(), port.options);
      grant = await collect(pop, { collector, lane, started: grant }, port);
      if (pop.settled || (grant !== null && collector.isFull(grant))) break;
    }
  } catch (error) {
    pop.fail(errorOf(error));
  }
  if (grant === null) pop.answer(false);
  else if (pop.settled || pop.claimBeforeMs <= port.options.monotonicMs()) {
    pop.answer(false);
    port.release(grant);
  } else port.propose(grant);
}

/** Once more when a batch had to be measured first (16 MiB bound, delayed partitions). */
async function collect(
  pop: WaitingPop,
  from: {
    readonly collector: ClaimCollector;
    readonly lane: ConsumerLane;
    readonly started: ProposedGrant | null;
  },
  port: DiscoveryPort,
): Promise<ProposedGrant | null> {
  const grant = from.collector.collectInto(pop, from.started);
  if (from.lane.lookups.size === 0) return grant;
  try {
    await port.build(from.lane);
  } catch (error) {
    // What was gathered until then is given back.
    pop.fail(errorOf(error));
  }
  if (pop.settled) return grant;
  return new ClaimCollector(from.lane, port.context(), port.options).collectInto(pop, grant);
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function matching(port: DiscoveryPort, request: PopRequest): QueueRow[] {
  const tenant = port.tables.names.tenant(request.tenant);
  if (tenant === undefined) return [];
  return port.tables.queues.list(tenant).filter(({ options: { namespace, task } }) => {
    const byNamespace = request.namespace === '' || request.namespace === namespace;
    return byNamespace && (request.task === '' || request.task === task);
  });
}
