/**
 * One state machine over in-memory ports, for specs: builds entries from encoded commands, applies
 * them and gives back the outcomes and events. Small helpers speak the message plane in one line each.
 */
import { crc32 } from 'node:zlib';
import { encodeUtf8 } from '../../src/common/utf8.js';
import { logIndex, term as brandTerm } from '../../src/common/ids.js';
import { murmur3x128Into } from '../../src/common/murmur3-128.js';
import {
  AckStatus,
  encodeAck,
  encodeClaim,
  encodeEntryHeader,
  encodeExtend,
  encodeRegister,
  encodeUnclaim,
  patchCommandHeader,
  PushCommandBuilder,
  StartMode,
} from '../../src/machine/commands/index.js';
import type {
  AckOutcome,
  AckSignal,
  AckTarget,
  AckTargetOutcome,
  ClaimOutcome,
  ClaimRange,
  ExtendOutcome,
  GrantOutcome,
  ImplicitDefaults,
  Outcome,
  PushGroupOutcome,
  PushOutcome,
  RegisterCommand,
  RegisterOutcome,
  UnclaimOutcome,
} from '../../src/machine/commands/index.js';
import type { IdIndexPort, Machine, MachineEvents, RowPort } from '../../src/machine/machine.js';
import { createMachine } from '../../src/machine/queen-machine.js';
import { createTables } from '../../src/machine/tables/create-tables.js';
import type { TablesImpl } from '../../src/machine/tables/create-tables.js';
import { COLUMN_KEYSPACES } from '../../src/machine/tables/keyspaces.js';

export const TENANT = new Uint8Array(16).fill(1);
export const OTHER_TENANT = new Uint8Array(16).fill(2);
export const DEFAULTS: ImplicitDefaults = {
  leaseTime: 60,
  retryLimit: 3,
  dedupWindowSeconds: 3600,
};
export const SECOND = 1_000_000;
export const NO_LEASE = new Uint8Array(0);

export class MemoryRows implements RowPort {
  readonly rows = new Map<string, Uint8Array>();

  get(key: Uint8Array): Uint8Array | undefined {
    return this.rows.get(hex(key));
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.rows.set(hex(key), value.slice());
  }

  delete(key: Uint8Array): void {
    this.rows.delete(hex(key));
  }

  /** In key order. */
  *all(): Generator<readonly [Uint8Array, Uint8Array]> {
    for (const key of [...this.rows.keys()].sort()) {
      yield [Uint8Array.from(Buffer.from(key, 'hex')), this.rows.get(key)!];
    }
  }
}

/** By the first 4 bytes of the hash only, so that the machine must verify what it is offered. */
export class MemoryIds implements IdIndexPort {
  readonly places = new Map<string, { offset: number; baseOffset: number }[]>();

  candidates(
    ...[partition, hash, visit]: Parameters<IdIndexPort['candidates']>
  ): ReturnType<IdIndexPort['candidates']> {
    const known = this.places.get(placeKey(partition, hash.bytes, hash.at)) ?? [];
    for (const { offset, baseOffset } of [...known].reverse()) {
      if (visit(offset as never, baseOffset as never)) return;
    }
  }

  add(...[partition, hash, place]: Parameters<IdIndexPort['add']>): void {
    const key = placeKey(partition, hash.bytes, hash.at);
    const known = this.places.get(key);
    const one = { offset: place.offset, baseOffset: place.baseOffset };
    if (known === undefined) this.places.set(key, [one]);
    else known.push(one);
  }
}

export interface Applied {
  readonly outcomes: readonly {
    readonly session: number;
    readonly sequence: number;
    readonly outcome: Outcome;
  }[];
  readonly events: readonly (readonly [name: string, ...args: unknown[]])[];
}

export interface PushOptions {
  readonly queue?: string;
  readonly partition?: string;
  readonly optionsVersion?: number;
  readonly encrypted?: boolean;
  readonly defaults?: ImplicitDefaults;
  readonly tenant?: Uint8Array;
}

export interface ClaimOptions {
  readonly group?: string;
  readonly queue?: string;
  readonly partition?: string;
  readonly count?: number;
  readonly leaseId?: Uint8Array;
  readonly leaseSeconds?: number;
  readonly conflated?: boolean;
  readonly commitOnDelivery?: boolean;
  /** Overrides what the dispatcher would have seen. */
  readonly range?: Partial<ClaimRange>;
}

export interface AckOptions {
  readonly group?: string;
  readonly queue?: string;
  readonly partition?: string;
  readonly leaseId?: Uint8Array;
  readonly completed?: readonly number[];
  readonly signals?: readonly (readonly [offset: number, status: 'failed' | 'dlq' | 'retry'])[];
  readonly error?: string | null;
  readonly fallbackError?: string | null;
  readonly baseOffset?: number;
  readonly partitionId?: number;
  readonly tenant?: Uint8Array;
}

const STATUS = {
  failed: AckStatus.Failed,
  dlq: AckStatus.Dlq,
  retry: AckStatus.Retry,
} as const;

export class MachineHarness {
  readonly tables: TablesImpl;
  readonly machine: Machine;
  now = 1_700_000_000 * SECOND;
  term = 3;
  skewMicros = 500_000;
  /** Every entry applied so far, as parts; for replays on other machines. */
  readonly log: { readonly index: number; readonly term: number; readonly parts: Uint8Array[] }[] =
    [];
  private minted = 0;

  constructor(
    readonly rows = new MemoryRows(),
    readonly ids = new MemoryIds(),
  ) {
    this.tables = createTables();
    this.machine = createMachine({ tables: this.tables, rows, ids });
  }

  /** A machine started from this one's flushed rows, as after a restart at this index. */
  reloaded(): MachineHarness {
    this.machine.flushDirtyRows();
    const rows = new MemoryRows();
    for (const [key, value] of this.rows.all()) rows.put(key, value);
    const next = new MachineHarness(rows, this.ids);
    next.machine.loadHeader(this.machine.encodeHeader());
    for (const keyspace of COLUMN_KEYSPACES) {
      for (const [key, value] of rows.all()) {
        if (key[0] === keyspace) next.machine.loadRow(key, value);
      }
    }
    next.machine.finishLoad();
    next.now = this.now;
    next.term = this.term;
    next.minted = this.minted;
    return next;
  }

  /** One entry of these commands at the current time. */
  entry(...commands: Uint8Array[]): Applied {
    const parts = [encodeEntryHeader(this.now, commands.length), ...commands];
    return this.replay({ index: this.machine.appliedIndex + 1, term: this.term, parts });
  }

  replay(entry: { index: number; term: number; parts: Uint8Array[] }): Applied {
    this.log.push(entry);
    const outcomes: Applied['outcomes'][number][] = [];
    const events: Applied['events'][number][] = [];
    this.machine.execute(
      { index: logIndex(entry.index), term: brandTerm(entry.term), parts: entry.parts },
      { outcome: (session, sequence, outcome) => outcomes.push({ session, sequence, outcome }) },
      recorder(events),
    );
    return { outcomes, events };
  }

  /** Applies one command alone in its entry and returns its outcome. */
  run<T extends Outcome>(command: Uint8Array): T {
    return this.entry(command).outcomes[0]!.outcome as T;
  }

  advance(seconds: number): void {
    this.now += Math.round(seconds * SECOND);
  }

  mint(): Uint8Array {
    this.minted += 1;
    const id = new Uint8Array(16);
    new DataView(id.buffer).setUint32(12, this.minted);
    return id;
  }

  /** `null` = no client id. The payload is the id's text. */
  pushBytes(ids: readonly (string | null)[], options: PushOptions = {}): Uint8Array {
    const builder = new PushCommandBuilder(
      { defaults: options.defaults ?? DEFAULTS, windowMinSeconds: 900 },
      (bytes, start, end) => crc32(bytes.subarray(start, end)),
    );
    const group = builder.group({
      queue: options.queue ?? 'orders',
      partition: options.partition ?? 'p',
      optionsVersion: options.optionsVersion ?? 1,
      encrypted: options.encrypted ?? false,
    });
    for (const id of ids) {
      const minted = this.mint();
      const text = encodeUtf8(id ?? `minted-${this.minted}`);
      const hash = new Uint8Array(16);
      murmur3x128Into(text, 0, text.length, hash, 0);
      const range = { bytes: text, start: 0, end: text.length };
      builder.add(group, {
        id: minted,
        idAt: 0,
        hash,
        hashAt: 0,
        clientId: id !== null,
        encrypted: options.encrypted ?? false,
        transactionId: range,
        producerSub: null,
        traceId: null,
        payload: range,
      });
    }
    return builder.build(options.tenant ?? TENANT);
  }

  push(ids: readonly (string | null)[], options: PushOptions = {}): PushGroupOutcome {
    return this.run<PushOutcome>(this.pushBytes(ids, options)).groups[0]!;
  }

  register(group: string, changes: Partial<RegisterCommand> = {}): RegisterOutcome {
    return this.run<RegisterOutcome>(
      encodeRegister(TENANT, {
        queue: 'orders',
        group,
        createQueue: true,
        defaults: DEFAULTS,
        mode: StartMode.All,
        instant: 0 as never,
        conflation: false,
        namespace: '',
        task: '',
        contact: null,
        ...changes,
      }),
    );
  }

  partition(queue = 'orders', partition = 'p'): number {
    const tenant = this.tables.names.tenant(TENANT)!;
    return this.tables.partitions.find(this.tables.queues.find(tenant, queue)!.id, partition);
  }

  cursor(group = 'g', queue = 'orders', partition = 'p'): number {
    const tenant = this.tables.names.tenant(TENANT)!;
    const id = this.tables.names.group(tenant, group)!;
    return this.tables.cursors.find(this.partition(queue, partition), id);
  }

  /**
   * What a dispatcher that sees the current state would propose. A group that was never registered
   * gets its number outside the log: register first where entries are replayed on another machine.
   */
  range(options: ClaimOptions = {}): ClaimRange {
    const { tables } = this;
    const { group = 'g', queue = 'orders', partition = 'p' } = options;
    const tenant = tables.names.tenant(TENANT)!;
    const slot = this.partition(queue, partition);
    const groupId = tables.names.ensureGroup(tenant, group);
    const cursor = tables.cursors.find(slot, groupId);
    const seed = tables.partitions.logStart(slot) - 1;
    const committed = cursor < 0 ? seed : tables.cursors.committed(cursor);
    const first = Math.max(committed + 1, tables.partitions.logStart(slot));
    const last = tables.partitions.lastOffset(slot);
    const wanted = options.conflated === true ? last : first + (options.count ?? 1000) - 1;
    return {
      queueId: tables.partitions.queueId(slot),
      partitionId: tables.partitions.id(slot),
      groupId,
      cursorVersion: cursor < 0 ? 0 : tables.cursors.version(cursor),
      seedCommitted: seed,
      firstOffset: first as never,
      lastOffset: Math.min(last, wanted) as never,
      conflated: options.conflated ?? false,
      ...options.range,
    };
  }

  claimBytes(options: ClaimOptions = {}): Uint8Array {
    return encodeClaim({
      skewMicros: this.skewMicros,
      grants: [
        {
          ticket: { session: 9, sequence: 1 },
          leaseId: options.leaseId ?? this.mint(),
          leaseMicros: (options.leaseSeconds ?? 60) * SECOND,
          commitOnDelivery: options.commitOnDelivery ?? false,
          ranges: [this.range(options)],
        },
      ],
    });
  }

  claim(options: ClaimOptions = {}): GrantOutcome {
    return this.run<ClaimOutcome>(this.claimBytes(options)).grants[0]!;
  }

  unclaim(grant: GrantOutcome): number {
    const ranges = grant.ranges.map((range) => ({
      partitionId: range.partitionId,
      groupId: range.groupId,
      cursorVersion: range.cursorVersion,
      restoreCommitted: grant.commitOnDelivery ? range.firstOffset - 1 : -2,
    }));
    return this.run<UnclaimOutcome>(encodeUnclaim({ leaseId: grant.leaseId, ranges })).restored;
  }

  extend(leaseId: Uint8Array, seconds: number, tenant = TENANT): ExtendOutcome {
    return this.run<ExtendOutcome>(encodeExtend(tenant, { leaseId, seconds }));
  }

  target(options: AckOptions): AckTarget {
    const slot = this.partition(options.queue, options.partition);
    const signals = (options.signals ?? []).map(([offset, status]): AckSignal => ({
      offset: offset as never,
      baseOffset: (options.baseOffset ?? 0) as never,
      status: STATUS[status],
      error: options.error === undefined ? `${status} ${offset}` : options.error,
      deadLetterId: this.mint(),
    }));
    return {
      partitionId: (options.partitionId ?? this.tables.partitions.id(slot)) as never,
      leaseId: options.leaseId ?? NO_LEASE,
      completed: ranges(options.completed ?? []),
      signals,
      fallbackError: options.fallbackError ?? null,
    };
  }

  ack(options: AckOptions): AckTargetOutcome {
    return this.ackTarget(this.target(options), options);
  }

  ackTarget(target: AckTarget, options: AckOptions = {}): AckTargetOutcome {
    const { tenant = TENANT, group = 'g' } = options;
    const command = { group, skewMicros: this.skewMicros, targets: [target] };
    return this.run<AckOutcome>(encodeAck(tenant, command)).targets[0]!;
  }
}

/** Ascending offsets as ranges [first, last, …]. */
export function ranges(offsets: readonly number[]): number[] {
  const result: number[] = [];
  for (const offset of [...new Set(offsets)].sort((a, b) => a - b)) {
    if (result.length > 0 && result[result.length - 1] === offset - 1) {
      result[result.length - 1] = offset;
    } else {
      result.push(offset, offset);
    }
  }
  return result;
}

/** Stamps the submit fields and returns the same bytes. */
export function submitted(
  bytes: Uint8Array,
  fields: { session: number; sequence: number; floor?: number },
): Uint8Array {
  patchCommandHeader(bytes, fields.session, fields.sequence, fields.floor ?? 0);
  return bytes;
}

function recorder(events: (readonly [name: string, ...args: unknown[]])[]): MachineEvents {
  const note =
    (name: string) =>
    (...args: unknown[]): void => {
      events.push([name, ...args]);
    };
  return {
    queueCreated: note('queueCreated'),
    queueConfigured: note('queueConfigured'),
    queueDeleted: note('queueDeleted'),
    registered: note('registered'),
    appended: note('appended'),
    cursorChanged: note('cursorChanged'),
    granted: note('granted'),
    timerDue: note('timerDue'),
    trimmed: note('trimmed'),
    partitionDropped: note('partitionDropped'),
    switched: note('switched'),
    quotaSet: note('quotaSet'),
    tenantPurged: note('tenantPurged'),
  };
}

function hex(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('hex');
}

function placeKey(partition: number, bytes: Uint8Array, at: number): string {
  return `${partition}:${hex(bytes.subarray(at, at + 4))}`;
}
