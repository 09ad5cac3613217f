/**
 * Calls between the nodes over the raft port's streams, which know their peers by the cluster token. A
 * call is answered once, or not at all: then its caller hears null, when the time is over or the peer
 * is lost. A frame that came this way is never sent on: being one is the mark of a forwarded request.
 *
 *   request  u8 1 | u32 id (0 = no answer wanted) | u8 verb | 16B tenant | u32 timeoutMs | body
 *   answer   u8 2 | u32 id | u16 status | u16 retryAfter | body
 *   cancel   u8 3 | u32 id
 */
import { BinaryReader, DecodeError } from '../../common/binary-reader.js';
import { BinaryWriter } from '../../common/binary-writer.js';
import { nodeId, type NodeId } from '../../common/ids.js';
import type { PeerChannel } from '../../raft/index.js';
import { WheelClock } from '../pops/wheel-clock.js';
import type { WheelEntry } from '../../common/timing-wheel.js';
import type { RelayAnswer } from './neighbours.js';

export const VERBS = [
  ...(['push', 'pop', 'ack', 'undeliver', 'reset', 'delete'] as const),
  ...(['adopt', 'leaving', 'ready'] as const),
] as const;
export type Verb = (typeof VERBS)[number];

export interface PeerRequest {
  readonly verb: Verb;
  readonly tenant: Uint8Array;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
}

export interface ServedAnswer extends RelayAnswer {
  /** Called when the answer cannot go out any more. */
  readonly lost?: () => void;
}

/** Serves a request of another node; never rejects. Null = there is nothing to answer. */
export type PeerServing = (
  from: NodeId,
  request: PeerRequest,
  signal: AbortSignal,
) => Promise<ServedAnswer | null>;

const REQUEST = 1;
const ANSWER = 2;
const CANCEL = 3;
const TENANT_BYTES = 16;
const MAX_ID = 0xffff_ffff;
export const NO_TENANT: Uint8Array = new Uint8Array(TENANT_BYTES);
export const NO_BODY: Uint8Array = new Uint8Array(0);

class PendingCall implements WheelEntry<PendingCall> {
  wheelBucket = -1;
  wheelTick = 0;
  wheelNext: PendingCall | undefined;
  wheelPrevious: PendingCall | undefined;

  constructor(
    readonly id: number,
    readonly to: NodeId,
    readonly settle: (answer: RelayAnswer | null) => void,
  ) {}
}

export class PeerCalls {
  private readonly pending = new Map<number, PendingCall>();
  private readonly clock: WheelClock<PendingCall>;
  /** Requests of others that run here, by peer and id. */
  private readonly serving = new Map<string, AbortController>();
  private readonly writer = new BinaryWriter(64);
  private lastId = 0;

  constructor(
    private readonly channel: PeerChannel,
    private readonly nowMs: () => number,
    private readonly serve: PeerServing,
  ) {
    this.clock = new WheelClock(nowMs, (call) => this.finish(call, null));
    channel.listen({
      received: (from, body) => this.received(from, body),
      disconnected: (peer) => this.disconnected(peer),
    });
  }

  isConnected(peer: NodeId): boolean {
    return this.channel.isConnected(peer);
  }

  /** Null: not sent, no answer in time, the peer was lost, or `signal` ended it. */
  call(to: NodeId, request: PeerRequest, signal?: AbortSignal): Promise<RelayAnswer | null> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve(null);
      const id = this.nextId();
      const abort = (): void => {
        this.finish(call, null);
        this.send(to, CANCEL, id);
      };
      const call = new PendingCall(id, to, (answer) => {
        signal?.removeEventListener('abort', abort);
        resolve(answer);
      });
      this.pending.set(id, call);
      this.clock.schedule(call, this.nowMs() + request.timeoutMs);
      signal?.addEventListener('abort', abort, { once: true });
      if (!this.request(to, id, request)) this.finish(call, null);
    });
  }

  /** Without an answer. */
  tell(to: NodeId, request: PeerRequest): void {
    this.request(to, 0, request);
  }

  stop(): void {
    this.clock.stop();
    for (const call of [...this.pending.values()]) this.finish(call, null);
    for (const controller of this.serving.values()) controller.abort();
  }

  private nextId(): number {
    do {
      this.lastId = this.lastId === MAX_ID ? 1 : this.lastId + 1;
    } while (this.pending.has(this.lastId));
    return this.lastId;
  }

  private finish(call: PendingCall, answer: RelayAnswer | null): void {
    if (!this.pending.delete(call.id)) return;
    this.clock.cancel(call);
    call.settle(answer);
  }

  private begin(kind: number, id: number): BinaryWriter {
    this.writer.clear();
    this.writer.u8(kind);
    this.writer.u32(id);
    return this.writer;
  }

  private send(to: NodeId, kind: number, id: number): void {
    this.channel.send(to, [this.begin(kind, id).toBytes()]);
  }

  private request(to: NodeId, id: number, request: PeerRequest): boolean {
    const writer = this.begin(REQUEST, id);
    writer.u8(VERBS.indexOf(request.verb));
    writer.raw(request.tenant);
    writer.u32(Math.max(0, Math.ceil(request.timeoutMs)));
    return this.channel.send(to, [writer.toBytes(), request.body]);
  }

  private received(from: NodeId, bytes: Uint8Array): void {
    const reader = new BinaryReader(bytes);
    const kind = reader.u8();
    const id = reader.u32();
    if (kind === REQUEST) this.take(from, id, readRequest(reader));
    else if (kind === ANSWER) this.answered(from, id, reader);
    else if (kind === CANCEL) this.serving.get(servingKey(from, id))?.abort();
    else throw new DecodeError('unknown frame of the ephemeral channel', 0);
  }

  private answered(from: NodeId, id: number, reader: BinaryReader): void {
    const status = reader.u16();
    const retryAfter = reader.u16();
    const call = this.pending.get(id);
    if (call?.to !== from) return;
    this.finish(call, { status, retryAfter, body: reader.raw(reader.remaining) });
  }

  private take(from: NodeId, id: number, request: PeerRequest): void {
    const controller = new AbortController();
    const key = servingKey(from, id);
    if (id !== 0) this.serving.set(key, controller);
    void this.serve(from, request, controller.signal).then((answer) => {
      if (this.serving.get(key) === controller) this.serving.delete(key);
      if (id === 0 || answer === null) return;
      const writer = this.begin(ANSWER, id);
      writer.u16(answer.status);
      writer.u16(answer.retryAfter);
      const head = writer.toBytes();
      const sent = !controller.signal.aborted && this.channel.send(from, [head, answer.body]);
      if (!sent) answer.lost?.();
    });
  }

  private disconnected(peer: NodeId): void {
    for (const call of [...this.pending.values()]) {
      if (call.to === peer) this.finish(call, null);
    }
    for (const [key, controller] of this.serving) {
      if (key.startsWith(`${peer}:`)) controller.abort();
    }
  }
}

function readRequest(reader: BinaryReader): PeerRequest {
  const verb = VERBS[reader.u8()];
  if (verb === undefined) throw new DecodeError('unknown verb of the ephemeral channel', 5);
  const tenant = reader.raw(TENANT_BYTES);
  const timeoutMs = reader.u32();
  return { verb, tenant, timeoutMs, body: reader.raw(reader.remaining) };
}

function servingKey(peer: NodeId, id: number): string {
  return `${nodeId(peer)}:${id}`;
}
