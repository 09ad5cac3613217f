/** Traces (spec §13) in the machine: entries and counts come and go with the trace, exactly. */
import { checkCommand, encodeAppendTrace, encodeSweepTraces } from '../commands/index.js';
import type { AppendTraceOutcome, SweepTracesOutcome } from '../commands/traces.js';
import { KEYSPACE } from '../tables/keyspaces.js';
import type { TracePlace } from '../tables/trace-keys.js';
import { traceNameKey, traceNamesKey } from '../tables/trace-keys.js';
import { decodeTraceCount, decodeTraceNameRow } from '../tables/trace-row.js';
import type { TraceEvent } from '../tables/trace-row.js';
import {
  MachineHarness,
  OTHER_TENANT,
  SECOND,
  TENANT,
} from '../../../test/support/machine-harness.js';

let machine: MachineHarness;

beforeEach(() => {
  machine = new MachineHarness();
  machine.push(['a']);
});

function eventOf(change: Partial<TraceEvent> & { readonly id?: number } = {}): TraceEvent {
  const { id = 1, ...fields } = change;
  return {
    traceId: new Uint8Array(16).fill(7),
    partitionId: machine.tables.partitions.id(machine.partition()),
    transactionId: `m${id}`,
    hash: new Uint8Array(16).fill(id),
    messageId: null,
    consumerGroup: 'g',
    eventType: 'event',
    data: '{"n":1}',
    worker: null,
    names: ['x', 'y'],
    ...fields,
  };
}

function append(event: TraceEvent, tenant = TENANT): TracePlace | null {
  const rowId = machine.mint();
  const bytes = encodeAppendTrace(tenant, { rowId, event });
  checkCommand(bytes);
  const { stored } = machine.run<AppendTraceOutcome>(bytes);
  return stored ? { createdAt: machine.machine.lastStamp(), rowId } : null;
}

function sweep(...traces: (TracePlace | null)[]): number {
  const bytes = encodeSweepTraces({ traces: traces.flatMap((one) => one ?? []), counts: [] });
  checkCommand(bytes);
  return machine.run<SweepTracesOutcome>(bytes).removed;
}

const tenant = (): number => machine.tables.names.tenant(TENANT)!;

const name = (text: string): object | undefined => {
  const value = machine.rows.get(traceNameKey(tenant(), text));
  return value === undefined ? undefined : decodeTraceNameRow(value);
};

const traceRows = (): number =>
  [...machine.rows.all()].filter(([key]) =>
    [KEYSPACE.traces, KEYSPACE.traceNames, KEYSPACE.tracedMessages].includes(key[0] as 0x40),
  ).length;

it('counts traces and messages of a name, and names', () => {
  append(eventOf());
  append(eventOf({ names: ['x'] }));
  const last = append(eventOf({ id: 2, names: ['x'] }));
  expect(name('x')).toEqual({ traces: 3, messages: 2, lastSeen: last!.createdAt });
  expect(name('y')).toMatchObject({ traces: 1, messages: 1 });
  expect(decodeTraceCount(machine.rows.get(traceNamesKey(tenant()))!)).toBe(2);
});

it('leaves no row behind when everything is swept, and counts what was there', () => {
  const places = [
    append(eventOf()),
    append(eventOf({ id: 2 })),
    append(eventOf({ partitionId: 0 })),
  ];
  expect(sweep(places[0]!, places[1]!)).toBe(2);
  expect(name('x')).toMatchObject({ traces: 1, messages: 1 });
  expect(sweep(...places)).toBe(1);
  expect(traceRows()).toBe(0);
});

it('stores nothing for a partition that is not there, or of another tenant', () => {
  expect(append(eventOf({ partitionId: 99 }))).toBeNull();
  expect(append(eventOf(), OTHER_TENANT)).toBeNull();
  expect(traceRows()).toBe(0);
  expect(machine.tables.names.tenant(OTHER_TENANT)).toBeUndefined();
});

it('is the same on a machine that replays', () => {
  const place = append(eventOf());
  append(eventOf({ names: ['x', 'z'] }));
  machine.now += SECOND;
  sweep(place);
  const replayed = new MachineHarness();
  for (const entry of machine.log) replayed.replay(entry);
  expect(replayed.machine.digest()).toEqual(machine.machine.digest());
  expect([...replayed.rows.rows].sort()).toEqual([...machine.rows.rows].sort());
});

it('refuses before the log what keys cannot hold', () => {
  const bytes = (names: readonly string[]): Uint8Array =>
    encodeAppendTrace(TENANT, { rowId: machine.mint(), event: eventOf({ names }) });
  expect(() => checkCommand(bytes(['n'.repeat(512)]))).toThrow(/too long/);
  expect(() => checkCommand(bytes(['n'.repeat(511)]))).not.toThrow();
  expect(() => checkCommand(bytes(Array.from({ length: 65 }, (_, i) => `${i}`)))).toThrow(/many/);
});
