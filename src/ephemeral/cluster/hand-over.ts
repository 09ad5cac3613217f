/**
 * Rings on their way to the node that owns them now (cluster.md §6.3). A ring is cut into pieces, leaves
 * this node at once and waits here as bytes until the owner of the moment took it: tried again with a
 * growing pause, taken back when this node is the owner again, lost at the deadline or when it is refused.
 * Every piece has a number, so that one sent twice is taken once.
 */
import type { NodeId } from '../../common/ids.js';
import type { TargetLogger } from '../../logging/index.js';
import type { MemoryAccount } from '../rings/memory-account.js';
import type { Ring } from '../rings/ring.js';
import type { PartitionPlace, RelayAnswer } from './neighbours.js';
import { cutPiece, encodePiece, joinPieces } from './ring-codec.js';

const PIECE_BYTES = 2 * 1024 * 1024;
const PIECE_MESSAGES = 50_000;
const BATCH_BYTES = 8 * 1024 * 1024;
const PIECES_PER_PROCESS = 2 ** 24;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2000;
/** One request, unless the deadline of the hand-over comes first. */
const ADOPT_TIMEOUT_MS = 10_000;

/** One piece on its way. */
export interface Parcel {
  readonly place: PartitionPlace;
  readonly number: number;
  readonly messages: number;
  readonly bytes: Uint8Array;
  /** The ring it belongs to, to count rings. */
  readonly ring: object;
}

/** Pieces of one tenant in one request. */
export interface Batch {
  readonly tenant: Uint8Array;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
}

export interface HandOverPort {
  readonly account: MemoryAccount;
  /** Of this process, hex: numbers of pieces never meet those of an earlier one. */
  readonly incarnation: string;
  readonly nowMs: () => number;
  readonly log: TargetLogger;
  /** Null = this node. */
  ownerOf(place: PartitionPlace): NodeId | null;
  /** Null when there was no answer. */
  send(to: NodeId, batch: Batch): Promise<RelayAnswer | null>;
  /** Takes a piece back that belongs here again; false = it does not fit. */
  adopt(parcel: Parcel): boolean;
  /** The peer said that it leaves. */
  peerLeaves(peer: NodeId): void;
}

export interface HandOverCounts {
  rings: number;
  delivered: number;
  lost: number;
  messages: number;
}

interface Fate {
  readonly left: readonly Parcel[];
  readonly lost: readonly Parcel[];
  readonly delivered: readonly Parcel[];
}

const NONE: Fate = { left: [], lost: [], delivered: [] };

export class HandOver {
  /** Partitions lost on the way. */
  wipes = 0;
  /** Pieces that left and have not arrived. */
  inFlight = 0;
  private numbers: number;
  private readonly running = new Set<Promise<unknown>>();

  constructor(private readonly port: HandOverPort) {
    this.numbers = Number.parseInt(port.incarnation.slice(0, 6), 16) * PIECES_PER_PROCESS;
  }

  /** Cuts the ring; the caller removes it from its queue in the same turn. */
  pack(tenant: Uint8Array, ring: Ring): Parcel[] {
    const place = { tenant, queue: ring.queue.name, partition: ring.partition };
    const parcels: Parcel[] = [];
    for (let from = ring.first; ;) {
      const to = pieceEnd(ring, from);
      this.numbers += 1;
      const cut = { from, to, number: this.numbers, nowMs: this.port.nowMs() };
      const bytes = encodePiece(cutPiece(ring, cut));
      parcels.push({ place, number: cut.number, messages: to - from, bytes, ring });
      if (to === ring.next) return parcels;
      from = to;
    }
  }

  /** Ships until everything arrived, was lost, or the deadline passed. `first` resolves after one try. */
  ship(
    parcels: readonly Parcel[],
    withinMs: number,
  ): { first: Promise<void>; all: Promise<HandOverCounts> } {
    let firstDone: () => void = () => undefined;
    const first = new Promise<void>((resolve) => {
      firstDone = resolve;
    });
    const all = this.run(parcels, this.port.nowMs() + withinMs, firstDone);
    this.running.add(all);
    void all.finally(() => this.running.delete(all));
    return { first, all };
  }

  /** Resolves when nothing is under way any more. */
  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all([...this.running]);
  }

  private async run(
    parcels: readonly Parcel[],
    deadlineMs: number,
    firstDone: () => void,
  ): Promise<HandOverCounts> {
    this.hold(parcels, 1);
    const lost: Parcel[] = [];
    let left = parcels;
    for (
      let pauseMs = FIRST_PAUSE_MS;
      left.length > 0;
      pauseMs = Math.min(MAX_PAUSE_MS, 2 * pauseMs)
    ) {
      const fate = await this.attempt(left, deadlineMs);
      this.hold(fate.delivered, -1);
      this.hold(fate.lost, -1);
      lost.push(...fate.lost);
      left = fate.left;
      firstDone();
      if (left.length === 0) break;
      const restMs = deadlineMs - this.port.nowMs();
      if (restMs <= 0) {
        this.hold(left, -1);
        lost.push(...left);
        this.tellLost(left, 'deadline');
        break;
      }
      await pause(Math.min(pauseMs, restMs));
    }
    firstDone();
    return this.account(parcels, lost);
  }

  private hold(parcels: readonly Parcel[], sign: 1 | -1): void {
    for (const { bytes } of parcels) this.port.account.addPayload(sign * bytes.length);
    this.inFlight += sign * parcels.length;
  }

  private account(parcels: readonly Parcel[], lost: readonly Parcel[]): HandOverCounts {
    const rings = new Set(parcels.map(({ ring }) => ring));
    const gone = new Set(lost.filter(({ messages }) => messages > 0).map(({ ring }) => ring));
    this.wipes += gone.size;
    const sum = (some: readonly Parcel[]): number =>
      some.reduce((n, { messages }) => n + messages, 0);
    const messages = sum(parcels) - sum(lost);
    return { rings: rings.size, delivered: rings.size - gone.size, lost: gone.size, messages };
  }

  /** One try for every parcel, all owners in parallel, the pieces of each in order. */
  private async attempt(parcels: readonly Parcel[], deadlineMs: number): Promise<Fate> {
    const byOwner = new Map<NodeId | null, Parcel[]>();
    for (const parcel of parcels) {
      const owner = this.port.ownerOf(parcel.place);
      const list = byOwner.get(owner);
      if (list === undefined) byOwner.set(owner, [parcel]);
      else list.push(parcel);
    }
    const fates = await Promise.all(
      [...byOwner].map(([owner, list]) =>
        owner === null
          ? Promise.resolve(this.takeBack(list))
          : this.deliver(owner, list, deadlineMs),
      ),
    );
    return fates.reduce(joinFates, NONE);
  }

  private takeBack(parcels: readonly Parcel[]): Fate {
    const lost = parcels.filter((parcel) => !this.port.adopt(parcel));
    if (lost.length > 0) this.tellLost(lost, 'refused here');
    return { left: [], lost, delivered: parcels.filter((parcel) => !lost.includes(parcel)) };
  }

  private async deliver(
    owner: NodeId,
    parcels: readonly Parcel[],
    deadlineMs: number,
  ): Promise<Fate> {
    let fate = NONE;
    for (let at = 0; at < parcels.length;) {
      const restMs = deadlineMs - this.port.nowMs();
      if (restMs <= 0) return joinFates(fate, { ...NONE, left: parcels.slice(at) });
      const batch = batchAt(parcels, at);
      at += batch.length;
      const one = await this.deliverBatch(owner, batch, Math.min(restMs, ADOPT_TIMEOUT_MS));
      fate = joinFates(fate, one);
      // The pieces after it must not overtake it.
      if (one.left.length > 0) return joinFates(fate, { ...NONE, left: parcels.slice(at) });
    }
    return fate;
  }

  private async deliverBatch(
    owner: NodeId,
    batch: readonly Parcel[],
    timeoutMs: number,
  ): Promise<Fate> {
    const [head] = batch;
    if (head === undefined) return NONE;
    const body = joinPieces(batch.map((parcel) => parcel.bytes));
    const { tenant } = head.place;
    const answer = await this.port.send(owner, { tenant, body, timeoutMs });
    if (answer?.status === 200) {
      // One byte per piece: taken or refused.
      const lost = batch.filter((_, i) => answer.body[i] !== 1);
      if (lost.length > 0) this.tellLost(lost, 'refused', owner);
      return { left: [], lost, delivered: batch.filter((parcel) => !lost.includes(parcel)) };
    }
    const status = answer?.status ?? 0;
    if (answer !== null && isLeaving(answer)) this.port.peerLeaves(owner);
    if (status === 0 || status === 429 || status >= 500) return { ...NONE, left: batch };
    this.tellLost(batch, `status ${status}`, owner);
    return { ...NONE, lost: batch };
  }

  private tellLost(parcels: readonly Parcel[], why: string, node: NodeId | null = null): void {
    const messages = parcels.reduce((sum, parcel) => sum + parcel.messages, 0);
    if (messages === 0) return;
    const partitions = new Set(parcels.map(({ ring }) => ring)).size;
    this.port.log.warn("hand-over failed; the partition's contents are dropped", {
      ...{ why, partitions, messages },
      ...(node === null ? {} : { node }),
    });
  }
}

export const LEAVING_BODY: Uint8Array = Buffer.from('leaving');

function isLeaving({ status, body }: RelayAnswer): boolean {
  return status === 503 && Buffer.from(body).toString() === 'leaving';
}

function joinFates(a: Fate, b: Fate): Fate {
  return {
    left: [...a.left, ...b.left],
    lost: [...a.lost, ...b.lost],
    delivered: [...a.delivered, ...b.delivered],
  };
}

/** Sequence after the last message of the piece that begins at `from`. */
function pieceEnd(ring: Ring, from: number): number {
  let bytes = 0;
  let to = from;
  while (to < ring.next && to - from < PIECE_MESSAGES) {
    bytes += ring.lengthOf(to);
    if (to > from && bytes > PIECE_BYTES) break;
    to += 1;
  }
  return to;
}

/** Parcels of one tenant from `at` on, up to a batch. */
function batchAt(parcels: readonly Parcel[], at: number): Parcel[] {
  const batch: Parcel[] = [];
  let bytes = 0;
  for (let i = at; i < parcels.length; i += 1) {
    const parcel = parcels[i];
    const head = batch[0];
    if (parcel === undefined) break;
    bytes += parcel.bytes.length;
    const fits = bytes <= BATCH_BYTES && sameTenant(head, parcel);
    if (head !== undefined && !fits) break;
    batch.push(parcel);
  }
  return batch;
}

function sameTenant(head: Parcel | undefined, { place }: Parcel): boolean {
  return head === undefined || Buffer.compare(head.place.tenant, place.tenant) === 0;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
