/**
 * What other nodes ask of this one: requests of their clients for partitions that live here, rings to take
 * over, and whether this node takes partitions. The asking node checked its client; the tenant it names is
 * believed because its stream carries the cluster token. Never rejects: refusals are answers.
 */
import { DecodeError } from '../../common/binary-reader.js';
import { QueenError } from '../../common/errors.js';
import type { NodeId } from '../../common/ids.js';
import type { EphemeralEngine } from '../engine/ephemeral-engine.js';
import type { EphemeralGate } from '../gate.js';
import { AckBodyScan } from '../requests/ack-body.js';
import { parseMessageId } from '../requests/names.js';
import { DEFAULT_PARTITION, PushBodyScan } from '../requests/push-body.js';
import type { Adoption } from './adoption.js';
import { LEAVING_BODY } from './hand-over.js';
import { MOVED, type PartitionPlace, type RelayAnswer } from './neighbours.js';
import { NO_BODY, type PeerRequest, type ServedAnswer } from './peer-calls.js';
import { decodePopCall, decodeUndelivered } from './pop-call-codec.js';

export interface PeerServingParts {
  readonly engine: EphemeralEngine;
  readonly gate: EphemeralGate;
  readonly adoption: Adoption;
  /** This node owns the partition. */
  ownsHere(place: PartitionPlace): boolean;
  /** 'starting' until the HTTP port is open, 'leaving' once it stops. */
  state(): 'starting' | 'serving' | 'leaving';
  epochOf(peer: NodeId): string;
  peerLeaves(peer: NodeId, epoch: string): void;
  /** Unforeseen faults go to the log. */
  fault(error: unknown): void;
}

const OK: RelayAnswer = { status: 200, retryAfter: 0, body: NO_BODY };

export class PeerServingDesk {
  private readonly pushScan = new PushBodyScan();
  private readonly ackScan = new AckBodyScan();

  constructor(private readonly parts: PeerServingParts) {}

  async serve(
    from: NodeId,
    request: PeerRequest,
    signal: AbortSignal,
  ): Promise<ServedAnswer | null> {
    try {
      return await this.dispatch(from, request, signal);
    } catch (error) {
      if (error instanceof QueenError) return refusal(error);
      this.parts.fault(error);
      return refusal(new QueenError(error instanceof DecodeError ? 'bad_request' : 'internal'));
    }
  }

  private dispatch(
    from: NodeId,
    request: PeerRequest,
    signal: AbortSignal,
  ): Promise<ServedAnswer | null> | ServedAnswer | null {
    const { engine, parts } = { engine: this.parts.engine, parts: this.parts };
    const { tenant, body } = request;
    switch (request.verb) {
      case 'push':
        return this.push(request);
      case 'pop':
        return this.pop(request, signal);
      case 'ack':
        return this.ack(request);
      case 'undeliver': {
        const { group, answer } = decodeUndelivered(body);
        engine.undeliverAnswer(tenant, group, answer);
        return null;
      }
      case 'reset':
        return engine.reset(tenant, textOf(body)).then(() => null);
      case 'delete':
        return engine.delete(tenant, textOf(body)).then(() => null);
      case 'adopt':
        return this.adopt(from, request);
      case 'leaving':
        parts.peerLeaves(from, textOf(body));
        return OK;
      case 'ready':
        return this.ready();
    }
  }

  private push({ tenant, body }: PeerRequest): ServedAnswer {
    const { engine, gate } = this.parts;
    this.pushScan.scan(body);
    const { queue, partition, count } = this.pushScan;
    const place = { tenant, queue, partition };
    if (!this.parts.ownsHere(place)) return MOVED;
    engine.push(tenant, place, this.pushScan, gate.check(tenant));
    return { status: 201, retryAfter: 0, body: Buffer.from(`{"pushed":${count}}`) };
  }

  private async pop({ tenant, body }: PeerRequest, signal: AbortSignal): Promise<ServedAnswer> {
    const { engine, gate } = this.parts;
    const call = decodePopCall(body, engine.parts.nowMs());
    const place = { tenant, queue: call.queue, partition: call.partition ?? DEFAULT_PARTITION };
    if (!this.parts.ownsHere(place)) return MOVED;
    gate.check(tenant);
    const outcome = await engine.pop(tenant, call, signal);
    if (outcome.kind === 'moved') return MOVED;
    const { delivery } = outcome;
    const answer = { status: 200, retryAfter: 0, body: outcome.body };
    return delivery === null ? answer : { ...answer, lost: () => engine.undeliver(delivery) };
  }

  private ack({ tenant, body }: PeerRequest): ServedAnswer {
    const { engine, gate } = this.parts;
    const { ackScan } = this;
    ackScan.scan(body);
    const first = ackScan.count === 0 ? null : parseMessageId(ackScan.idText(0));
    const partition = first?.partition ?? DEFAULT_PARTITION;
    if (!this.parts.ownsHere({ tenant, queue: ackScan.queue, partition })) return MOVED;
    gate.check(tenant);
    return { status: 200, retryAfter: 0, body: engine.ack(tenant, ackScan) };
  }

  private adopt(from: NodeId, { tenant, body }: PeerRequest): ServedAnswer {
    const { parts } = this;
    const state = parts.state();
    if (state === 'leaving') return { status: 503, retryAfter: 1, body: LEAVING_BODY };
    if (state === 'starting') return { status: 503, retryAfter: 1, body: NO_BODY };
    const sender = `${from}:${parts.epochOf(from)}`;
    const limits = parts.gate.limits(tenant);
    const verdicts = parts.adoption.adoptAll(sender, tenant, body, limits);
    return { status: 200, retryAfter: 0, body: verdicts };
  }

  private ready(): ServedAnswer {
    const state = this.parts.state();
    if (state === 'leaving') return { status: 503, retryAfter: 1, body: LEAVING_BODY };
    if (state === 'starting') return { status: 503, retryAfter: 1, body: NO_BODY };
    const { engine } = this.parts;
    const { rings, messages } = engine.store.held();
    const report = { epoch: engine.parts.incarnation, rings, messages };
    return { status: 200, retryAfter: 0, body: Buffer.from(JSON.stringify(report)) };
  }
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
}

/** The refusal as the client of the other node gets it. */
function refusal(error: QueenError): RelayAnswer {
  const { retryAfter } = error.fields as { retryAfter?: unknown };
  const seconds = typeof retryAfter === 'number' ? retryAfter : (error.retryAfterSeconds ?? 0);
  const body = Buffer.from(JSON.stringify({ error: error.message, code: error.code }));
  return { status: error.status, retryAfter: seconds, body };
}
