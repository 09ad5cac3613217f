/**
 * The other members of the cluster: watches who takes partitions, sends on what belongs elsewhere, hands
 * over what has to move, and empties this node before it stops (cluster.md §6). One loop every 250 ms.
 */
import { QueenError } from '../../common/errors.js';
import type { NodeId } from '../../common/ids.js';
import type { Logger, TargetLogger } from '../../logging/index.js';
import type { Group, PeerChannel } from '../../raft/index.js';
import type { EphemeralEngine } from '../engine/ephemeral-engine.js';
import type { EphemeralGate } from '../gate.js';
import type { TenantShare } from '../queues/queue-store.js';
import { nextTurn } from '../queues/slices.js';
import type { Ring } from '../rings/ring.js';
import { Adoption } from './adoption.js';
import { HandOver, type Parcel } from './hand-over.js';
import { MemberWatch, type Loss, type PeerReport } from './member-watch.js';
import { MOVED, type Neighbours, type PartitionPlace } from './neighbours.js';
import type { RelayAnswer, RelayCall, RelayRequest } from './neighbours.js';
import { NO_BODY, NO_TENANT, PeerCalls } from './peer-calls.js';
import { PeerServingDesk } from './peer-serving.js';
import { Placement } from './placement.js';
import { decodePieces, joinPieces } from './ring-codec.js';

const LOOP_MS = 250;
const PROBE_MS = 1000;
const PROBE_TIMEOUT_MS = 1000;
const MOVE_WITHIN_MS = 30_000;
const DRAIN_WITHIN_MS = 15_000;
const LEAVING_TIMEOUT_MS = 2000;
/** Rings whose owner is looked up in one turn of the event loop. */
const RINGS_PER_TURN = 200;

export interface ClusterParts {
  readonly engine: EphemeralEngine;
  readonly gate: EphemeralGate;
  readonly group: Pick<Group, 'membersView' | 'status' | 'cluster'>;
  readonly channel: PeerChannel;
  readonly memberTtlMs: number;
  readonly nowMs: () => number;
  /** The HTTP port of this node is open. */
  readonly isListening: () => boolean;
  readonly logger: Pick<Logger, 'child'>;
}

export class ClusterNeighbours implements Neighbours {
  forwarded = 0;
  isLeaving = false;
  private readonly self: NodeId;
  private readonly placement = new Placement();
  private readonly members: MemberWatch;
  private readonly calls: PeerCalls;
  private readonly handOver: HandOver;
  private readonly adoption: Adoption;
  private readonly log: TargetLogger;
  private readonly probing = new Map<NodeId, number>();
  private readonly epochs = new Map<NodeId, string>();
  /** Silent members that were told of. */
  private readonly silent = new Set<NodeId>();
  private lostElsewhere = 0;
  private timer: NodeJS.Timeout | null = null;
  private moving: Promise<void> | null = null;
  private movedVersion = 0;

  constructor(private readonly parts: ClusterParts) {
    const { engine, gate, channel, nowMs } = parts;
    this.log = parts.logger.child('ephemeral');
    this.self = parts.group.status().nodeId;
    this.members = new MemberWatch(this.self, parts.memberTtlMs);
    this.adoption = new Adoption(engine);
    const desk = new PeerServingDesk({
      ...{ engine, gate, adoption: this.adoption },
      ownsHere: (place) => this.ownerOf(place) === null,
      state: () => (this.isLeaving ? 'leaving' : parts.isListening() ? 'serving' : 'starting'),
      epochOf: (peer) => this.epochs.get(peer) ?? '',
      peerLeaves: (peer, epoch) => this.peerLeaves(peer, epoch),
      fault: (error) => this.log.error('request of another node failed', { error: String(error) }),
    });
    this.calls = new PeerCalls(channel, nowMs, (from, request, signal) =>
      desk.serve(from, request, signal),
    );
    this.handOver = new HandOver({
      account: engine.store.account,
      incarnation: engine.parts.incarnation,
      nowMs,
      log: this.log,
      ownerOf: (place) => this.ownerOf(place),
      send: (to, batch) => this.calls.call(to, { verb: 'adopt', ...batch }),
      adopt: (parcel) => this.takeBack(parcel),
      peerLeaves: (peer) => this.peerLeaves(peer, this.epochs.get(peer) ?? ''),
    });
    this.placement.setMembers([this.self]);
  }

  get wipes(): number {
    return this.handOver.wipes + this.lostElsewhere;
  }

  get silentPeers(): number {
    return this.silent.size;
  }

  start(): void {
    this.timer = setInterval(() => this.look(), LOOP_MS);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.calls.stop();
  }

  /** Leaving and without anybody else, the node serves what it has until it ends. */
  ownerOf(place: PartitionPlace): NodeId | null {
    const owner = this.placement.ownerOf(place);
    return owner === this.self ? null : owner;
  }

  async relay(owner: NodeId, place: PartitionPlace, call: RelayCall): Promise<RelayAnswer> {
    await this.shipPartition(place);
    this.forwarded += 1;
    const answer = await this.calls.call(owner, call, call.signal);
    if (answer === null) throw new QueenError('ephemeral_forward_failed');
    return answer.status === 0 ? MOVED : answer;
  }

  tell(to: NodeId, request: RelayRequest): void {
    this.calls.tell(to, request);
  }

  tellAll(request: RelayRequest): void {
    for (const peer of this.members.live()) this.calls.tell(peer, request);
  }

  /**
   * Before the process stops, while its port still serves: the others are told, then everything here goes
   * to them, for at most 15 s.
   */
  async drain(): Promise<void> {
    this.isLeaving = true;
    const untilMs = this.parts.nowMs() + DRAIN_WITHIN_MS;
    const told = await this.tellLeaving();
    this.place();
    await this.moving;
    // Without anybody to take them the contents end with the process.
    const isAlone = this.placement.ids.length === 0;
    const parcels = isAlone ? [] : await this.packAll(() => true);
    const restMs = Math.max(0, untilMs - this.parts.nowMs());
    const counts = await this.handOver.ship(parcels, restMs).all;
    await Promise.race([this.handOver.idle(), later(Math.max(0, untilMs - this.parts.nowMs()))]);
    const left = this.parts.engine.store.held();
    this.parts.logger.child('shutdown').info('ephemeral rings handed over', {
      ...{ peers: this.members.live().length, told, rings: counts.rings },
      ...{ delivered: counts.delivered, lost: counts.lost + left.rings, messages: counts.messages },
      still_shipping: this.handOver.inFlight,
    });
  }

  private async tellLeaving(): Promise<number> {
    const body = Buffer.from(this.parts.engine.parts.incarnation);
    const request = {
      verb: 'leaving',
      tenant: NO_TENANT,
      body,
      timeoutMs: LEAVING_TIMEOUT_MS,
    } as const;
    const answers = await Promise.all(
      this.members.live().map((peer) => this.calls.call(peer, request)),
    );
    return answers.filter((answer) => answer?.status === 200).length;
  }

  // --- who takes partitions ------------------------------------------------------------------------

  private look(): void {
    const now = this.parts.nowMs();
    const view = this.parts.group.membersView?.() ?? null;
    const losses = this.members.look(view, now, (peer) => this.calls.isConnected(peer));
    this.lost(losses);
    for (const peer of this.members.live()) this.probe(peer, now);
    this.tellSilent(now);
    this.place();
    if (this.movedVersion !== this.placement.version) this.kick();
  }

  private probe(peer: NodeId, nowMs: number): void {
    const lastMs = this.probing.get(peer) ?? -Infinity;
    const everyMs = this.members.isAdmitted(peer) ? PROBE_MS : LOOP_MS;
    if (lastMs === Infinity || nowMs - lastMs < everyMs) return;
    this.probing.set(peer, Infinity);
    const request = {
      verb: 'ready',
      tenant: NO_TENANT,
      body: NO_BODY,
      timeoutMs: PROBE_TIMEOUT_MS,
    } as const;
    void this.calls.call(peer, request).then((answer) => {
      this.probing.set(peer, this.parts.nowMs());
      this.probed(peer, answer);
    });
  }

  private probed(peer: NodeId, answer: RelayAnswer | null): void {
    const report = answer?.status === 200 ? readReport(answer.body) : null;
    if (report !== null) {
      if (!this.members.isAdmitted(peer)) {
        this.log.info('peer listening: it takes partitions', { node: peer });
      }
      this.epochs.set(peer, report.epoch);
      this.lost(this.members.ready(peer, report, this.parts.nowMs()));
    } else if (answer !== null) {
      this.members.notReady(peer);
    }
    this.place();
    if (this.movedVersion !== this.placement.version) this.kick();
  }

  /** Once a silence: the leader hears the member, its answers do not come. */
  private tellSilent(nowMs: number): void {
    const silent = this.members.silent(nowMs);
    for (const node of silent) {
      if (this.silent.has(node)) continue;
      const { http, raft } = this.parts.group.cluster?.members().addresses.get(node) ?? {};
      this.log.warn(
        'a member the leader hears does not say that it serves: see its log, and the addresses in QUEEN_RAFT_PEERS',
        {
          ...{ node, http: http ?? '', raft: raft ?? '' },
          takes_partitions: this.members.isAdmitted(node),
        },
      );
    }
    this.silent.clear();
    for (const node of silent) this.silent.add(node);
  }

  private place(): void {
    const owners = this.members.owners(this.parts.nowMs());
    const ids = this.isLeaving ? owners : [this.self, ...owners];
    if (!this.placement.setMembers(ids)) return;
    this.log.info('placement changed', { members: this.placement.ids.join(',') });
  }

  private peerLeaves(peer: NodeId, epoch: string): void {
    this.members.leaving(peer, epoch, this.parts.nowMs());
    this.place();
    this.kick();
  }

  /** Counted once in the cluster: by the lowest of the nodes that are left. */
  private lost(losses: readonly Loss[]): void {
    for (const { node, rings, messages } of losses) {
      const left = [this.self, ...this.members.owners(this.parts.nowMs())].filter(
        (id) => id !== node,
      );
      if (Math.min(...left) !== this.self) continue;
      this.lostElsewhere += rings;
      this.log.warn('member gone without hand-over; its contents are lost', {
        node,
        rings,
        messages,
      });
    }
  }

  // --- what has to move ----------------------------------------------------------------------------

  private kick(): void {
    if (this.isLeaving) return;
    this.moving ??= this.move().finally(() => {
      this.moving = null;
      if (this.movedVersion !== this.placement.version) this.kick();
    });
  }

  private async move(): Promise<void> {
    this.movedVersion = this.placement.version;
    const parcels = await this.packAll((place) => this.ownerOf(place) !== null);
    if (parcels.length > 0) this.handOver.ship(parcels, MOVE_WITHIN_MS);
  }

  /** Takes the rings that fit out of their queues, a slice at a time. */
  private async packAll(fits: (place: PartitionPlace) => boolean): Promise<Parcel[]> {
    const parcels: Parcel[] = [];
    let left = RINGS_PER_TURN;
    for (const share of this.parts.engine.store.shares()) {
      for (const queue of share.queues.values()) {
        for (const ring of queue.rings.values()) {
          const place = { tenant: share.uuid, queue: queue.name, partition: ring.partition };
          if (fits(place)) parcels.push(...this.pack(share, ring));
          left -= 1;
          if (left > 0) continue;
          left = RINGS_PER_TURN;
          await nextTurn();
        }
      }
    }
    return parcels;
  }

  /** A ring without messages and groups has nothing to tell and just goes. */
  private pack(share: TenantShare, ring: Ring): Parcel[] {
    const { queue } = ring;
    queue.tidy(ring, this.parts.nowMs());
    const isBlank = ring.length === 0 && ring.cursors.size === 0;
    const parcels = isBlank ? [] : this.handOver.pack(share.uuid, ring);
    queue.removeRing(ring);
    this.parts.engine.desk.ringGone(queue, ring.partition);
    return parcels;
  }

  /** What this node still holds of a partition goes to its owner before a request does. */
  private async shipPartition({ tenant, queue: name, partition }: PartitionPlace): Promise<void> {
    const share = this.parts.engine.store.share(tenant);
    const ring = share.queues.get(name)?.rings.get(partition);
    if (ring === undefined) return;
    await this.handOver.ship(this.pack(share, ring), MOVE_WITHIN_MS).first;
  }

  private takeBack(parcel: Parcel): boolean {
    const [piece] = decodePieces(joinPieces([parcel.bytes]));
    const { tenant } = parcel.place;
    return (
      piece !== undefined && this.adoption.adopt(tenant, piece, this.parts.gate.limits(tenant))
    );
  }
}

function readReport(body: Uint8Array): PeerReport | null {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  const { epoch, rings, messages } = JSON.parse(text) as Partial<PeerReport>;
  if (typeof epoch !== 'string') return null;
  return { epoch, rings: rings ?? 0, messages: messages ?? 0 };
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
