/**
 * Clients of a simulated cluster: they push, pop, acknowledge and read through any node that is up,
 * repeat what was not answered, and tell the oracle what they were promised.
 */
import { QueenError } from '../../../src/common/errors.js';
import { CommandKind } from '../../../src/machine/commands/catalogue.js';
import type { GrantedRange, GrantOutcome } from '../../../src/machine/commands/catalogue.js';
import type { ClusterGroup } from '../../../src/raft/group/cluster/cluster-group.js';
import type { PopRequest, PreparedCommand } from '../../../src/raft/group/group.js';
import {
  ackCommand,
  asPush,
  pushCommand,
  registerCommand,
  TENANT,
} from '../../support/group-commands.js';
import type { Prng } from '../core/prng.js';
import { LockBook } from './lock-book.js';
import { LockClients } from './lock-clients.js';
import type { Oracle } from './oracle.js';
import type { SimNode } from './sim-node.js';
import { INBOX, inboxCommand, LEDGER_GROUP, ledgerCommand, verdictOf } from './transactions.js';
import type { VirtualTime } from './virtual-time.js';

export const QUEUE = 'orders';
export const GROUP = 'workers';
const PARTITIONS = ['a', 'b', 'c'];
/** Offered skew of clocks is inside the machine's margin of 500 ms. */
const LEASE_SECONDS = 2;
const MAX_TRIES = 40;

export interface ClientsOptions {
  readonly time: VirtualTime;
  readonly prng: Prng;
  readonly nodes: readonly SimNode[];
  readonly oracle: Oracle;
}

export class Clients {
  readonly counts = {
    ...{ pushes: 0, pops: 0, grants: 0, acks: 0, reads: 0, errors: 0, open: 0 },
    ...{ transactions: 0, rollbacks: 0 },
  };
  stopped = false;
  private nextId = 1;
  /** Inputs whose transaction was answered with yes. */
  private readonly settled = new Set<number>();

  readonly locks: LockClients;

  constructor(private readonly options: ClientsOptions) {
    const { time, prng, oracle } = options;
    this.locks = new LockClients({
      ...{ time, prng, book: new LockBook(oracle, () => time.nowMs) },
      attempt: (run) => this.attempt(run),
      within: (ms) => this.within(ms),
    });
  }

  /** One client that does one thing after another, for ever. */
  start(pauseMicros: number): void {
    const { time, prng } = this.options;
    const step = (): void => {
      if (this.stopped) return;
      this.counts.open += 1;
      this.act().then(
        () => {
          this.counts.open -= 1;
          time.after(prng.below(pauseMicros), step, 0);
        },
        (error: unknown) => this.options.oracle.broke(error),
      );
    };
    time.after(prng.below(pauseMicros), step, 0);
  }

  async register(): Promise<void> {
    await this.submitUntilDone(registerCommand(QUEUE, GROUP));
    // An input leaves the inbox with its transaction alone.
    await this.submitUntilDone(registerCommand(INBOX, LEDGER_GROUP, { retryLimit: 1_000_000 }));
  }

  private async submitUntilDone(command: PreparedCommand): Promise<void> {
    for (;;) {
      const done = await this.attempt((group) => group.submit(command, this.within(3_000)));
      if (done !== null) return;
      await this.options.time.sleep(100_000);
    }
  }

  /** Pops and acknowledges until nothing is left. */
  async drain(): Promise<void> {
    for (let empty = 0; empty < 5;) {
      const before = this.counts.grants;
      await this.popAndAck(true);
      empty = this.counts.grants === before ? empty + 1 : 0;
      await this.options.time.sleep(empty > 0 ? 1_000_000 : 1_000);
    }
  }

  private act(): Promise<void> {
    const { prng } = this.options;
    const choice = prng.next();
    if (choice < 0.35) return this.push();
    if (choice < 0.48) return this.transact();
    if (choice < 0.56) return this.locks.turn();
    if (choice < 0.85) return this.popAndAck(false);
    return this.read();
  }

  private async push(): Promise<void> {
    const { prng, oracle, time } = this.options;
    const partition = prng.pick(PARTITIONS);
    const ids = Array.from({ length: 1 + prng.below(3) }, () => `t${this.nextId++}`);
    // Some are larger than what entries gather by copying.
    const size = prng.chance(0.05) ? 40_000 : prng.below(200);
    const messages = ids.map((id) => ({
      transactionId: id,
      payload: `"${id}${'x'.repeat(size)}"`,
    }));
    for (let tries = 0; tries < MAX_TRIES && !this.stopped; tries += 1) {
      const outcome = await this.attempt((group) =>
        group.submit(pushCommand(QUEUE, partition, messages), this.within(500 + prng.below(4_000))),
      );
      if (outcome === null) {
        await time.sleep(prng.below(300_000));
        continue;
      }
      const [answer] = asPush(outcome).groups;
      ids.forEach((id, i) => {
        oracle.pushed(id, answer?.partitionId ?? 0, answer?.offsets[i] ?? -1);
      });
      this.counts.pushes += 1;
      oracle.note(`pushed ${ids[0]}`);
      return;
    }
  }

  /** One more input, and the transaction of the first that is free. */
  private async transact(): Promise<void> {
    const { prng } = this.options;
    const input = inboxCommand(`i${this.nextId++}`);
    await this.attempt((group) => group.submit(input, this.within(500 + prng.below(2_000))));
    const request = popRequest(false, 1, { queue: INBOX, group: LEDGER_GROUP });
    const answer = await this.attempt((group) =>
      group.pop(request, this.within(200 + prng.below(2_000))),
    );
    const grant = answer?.grant ?? null;
    for (const range of grant?.ranges ?? []) {
      if (grant !== null) await this.settle(grant, range);
    }
  }

  /** First, sometimes, one that must lose; then the one that counts, until it is answered. */
  private async settle(grant: GrantOutcome, range: GrantedRange): Promise<void> {
    const { oracle, prng, time } = this.options;
    const trap = prng.pick(['none', 'key', 'duplicate'] as const);
    const isTrap = trap === 'key' || (trap === 'duplicate' && range.firstOffset > 0);
    if (isTrap) {
      const lost = await this.submitTransaction(ledgerCommand(grant, range, trap));
      if (lost === 'done') oracle.fail(`a transaction with a part that loses (${trap}) was done`);
      if (lost !== null) this.counts.rollbacks += 1;
    }
    const command = ledgerCommand(grant, range, 'none');
    for (let tries = 0; tries < 8; tries += 1) {
      const verdict = await this.submitTransaction(command);
      if (verdict === null) {
        await time.sleep(prng.below(200_000));
        continue;
      }
      oracle.note(`transaction ${range.firstOffset} ${verdict}`);
      if (verdict !== 'done') return;
      if (this.settled.has(range.firstOffset)) oracle.fail(`${range.firstOffset} was done twice`);
      this.settled.add(range.firstOffset);
      this.counts.transactions += 1;
      return;
    }
  }

  private submitTransaction(command: PreparedCommand): Promise<string | null> {
    const { prng } = this.options;
    return this.attempt(async (group) =>
      verdictOf(await group.submit(command, this.within(500 + prng.below(2_000)))),
    );
  }

  private async popAndAck(patient: boolean): Promise<void> {
    const { prng, time, oracle } = this.options;
    const request = popRequest(prng.chance(0.5), 1 + prng.below(5));
    const askedAtMs = time.nowMs;
    const answer = await this.attempt((group) =>
      group.pop(request, this.within(200 + prng.below(3_000))),
    );
    this.counts.pops += 1;
    const grant = answer?.grant ?? null;
    if (grant === null) return;
    this.counts.grants += 1;
    const lease = Buffer.from(grant.leaseId).toString('hex');
    // The lease began when its entry was stamped, at the earliest when the pop was asked.
    const leaseMs = LEASE_SECONDS * 1000 - (time.nowMs - askedAtMs) - 100;
    for (const range of grant.ranges) {
      const {
        partitionId: partition,
        groupId: group,
        firstOffset: first,
        lastOffset: last,
      } = range;
      oracle.granted(lease, { partition, group, first, last }, leaseMs);
      oracle.note(`granted ${partition}/${first}-${last}`);
    }
    if (!patient && prng.chance(0.15)) return;
    await time.sleep(prng.below(patient ? 1_000 : 800_000));
    for (const range of grant.ranges) await this.ack(grant, range, patient);
  }

  private async ack(grant: GrantOutcome, range: GrantedRange, patient: boolean): Promise<void> {
    const { oracle, time, prng } = this.options;
    const { partitionId, groupId, firstOffset: first, lastOffset: last } = range;
    const { leaseId } = grant;
    // From here on it may have been applied, whatever the client hears of it.
    oracle.released(partitionId, groupId, Buffer.from(leaseId).toString('hex'));
    for (let tries = 0; tries < (patient ? MAX_TRIES : 8); tries += 1) {
      const outcome = await this.attempt((group) =>
        group.submit(
          ackCommand(GROUP, { partitionId, leaseId, first, last }),
          this.within(500 + prng.below(2_000)),
        ),
      );
      if (outcome === null) {
        await time.sleep(prng.below(200_000));
        continue;
      }
      if (outcome.kind !== CommandKind.Ack) throw new Error('not an ack');
      const verdict = outcome.targets[0]?.verdict;
      if (verdict === 'applied' || verdict === 'repeat') {
        oracle.acked(partitionId, first, last);
        this.counts.acks += 1;
      }
      return;
    }
  }

  private async read(): Promise<void> {
    const { oracle, prng } = this.options;
    const floor = oracle.floor();
    await this.attempt(async (group) => {
      await group.readBarrier(this.within(300 + prng.below(2_000)));
      for (const [partition, offset] of floor) {
        const { partitions } = group.tables;
        const slot = partitions.byId(partition as never);
        const last = slot < 0 ? -1 : partitions.lastOffset(slot);
        if (last < offset) {
          oracle.fail(`a read saw ${partition}/${last}, ${offset} was answered before it began`);
        }
      }
      this.counts.reads += 1;
      return true;
    });
  }

  /** Null when no node is up or the cluster says no. */
  private async attempt<T>(run: (group: ClusterGroup) => Promise<T>): Promise<T | null> {
    const { nodes, prng, time } = this.options;
    const node = prng.pick(nodes);
    const { group } = node;
    if (group === null || time.isPaused(node.id)) return null;
    try {
      return await time.as(node.id, () => run(group));
    } catch (error) {
      if (!(error instanceof QueenError)) throw error;
      this.counts.errors += 1;
      this.options.oracle.note(`${node.id} ${error.code}`);
      return null;
    }
  }

  private within(ms: number): { readonly deadlineMs: number } {
    return { deadlineMs: (this.options.time.nowMicros + 1_000_000) / 1000 + ms };
  }
}

function popRequest(
  wait: boolean,
  maxMessages: number,
  from: Pick<PopRequest, 'queue' | 'group'> = { queue: QUEUE, group: GROUP },
): PopRequest {
  return {
    tenant: TENANT,
    scope: 'queue',
    ...from,
    partition: '',
    namespace: '',
    task: '',
    maxMessages,
    maxPartitions: 2,
    leaseSeconds: LEASE_SECONDS,
    commitOnDelivery: false,
    wait,
    intent: { mode: 'all', instantMicros: 0 },
    conflation: null,
    autopilot: null,
  };
}
