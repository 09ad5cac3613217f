/** Families of this process: uptime, memory, event loop, requests and messages it handled. */
import type { Traffic } from '../../http/traffic.js';
import type { EventLoopLag } from '../event-loop-lag.js';
import type { Family } from '../family.js';

type Verb = 'push' | 'pop' | 'ack';

export function processFamilies(traffic: Traffic, lag: EventLoopLag): readonly Family[] {
  const counters = (['push', 'pop', 'ack'] as const).flatMap((verb) => verbFamilies(traffic, verb));
  return [
    {
      kind: 'gauge',
      name: 'queen_uptime_seconds',
      help: 'Seconds since this process started.',
      read: () => process.uptime(),
    },
    {
      kind: 'gauge',
      name: 'queen_process_resident_memory_bytes',
      help: 'Resident memory of this process.',
      read: () => process.memoryUsage.rss(),
    },
    {
      kind: 'gauge',
      name: 'queen_event_loop_lag_avg_milliseconds',
      help: 'Mean lateness of the event loop since the start.',
      read: () => lag.meanMs(),
    },
    {
      kind: 'gauge',
      name: 'queen_malloc_bytes',
      labels: ['kind'],
      help: 'Memory of the runtime: heap in use and reserved, buffers, and what is outside the heap.',
      read: () => {
        const { heapUsed, heapTotal, external, arrayBuffers } = process.memoryUsage();
        const kinds = { heap_used: heapUsed, heap_total: heapTotal, external, arrayBuffers };
        return Object.entries(kinds).map(([kind, value]) => ({
          labels: { kind: kind === 'arrayBuffers' ? 'array_buffers' : kind },
          value,
        }));
      },
    },
    ...counters,
    {
      kind: 'counter',
      name: 'queen_process_ack_failed_total',
      help: 'Acknowledged items that were answered success:false.',
      read: () => traffic.ackFailed,
    },
  ];
}

function verbFamilies(traffic: Traffic, verb: Verb): readonly Family[] {
  return [
    {
      ...{ kind: 'counter', name: `queen_process_${verb}_requests_total` },
      help: `API requests of kind ${verb}.`,
      read: () => traffic[`${verb}Requests`],
    },
    {
      ...{ kind: 'counter', name: `queen_process_${verb}_messages_total` },
      help: `Messages of ${verb} requests.`,
      read: () => traffic[`${verb}Messages`],
    },
  ];
}
