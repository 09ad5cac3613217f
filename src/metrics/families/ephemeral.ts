/** Families of the ephemeral queues of this node. */
import type { EphemeralFigures } from '../../http/ephemeral-figures.js';
import type { Family } from '../family.js';

export function ephemeralFamilies(figures: EphemeralFigures): readonly Family[] {
  return [
    {
      kind: 'gauge',
      name: 'queen_ephemeral_bytes',
      help: 'Memory held against QUEEN_EPHEMERAL_MAX_BYTES.',
      read: () => figures.source().bytes,
    },
    {
      kind: 'gauge',
      name: 'queen_ephemeral_queues',
      help: 'Ephemeral queues on this node.',
      read: () => figures.source().queues,
    },
    {
      kind: 'gauge',
      name: 'queen_ephemeral_parked_pops',
      help: 'Pops of ephemeral queues that wait on this node now.',
      read: () => figures.source().parked,
    },
    {
      kind: 'counter',
      name: 'queen_ephemeral_messages_total',
      labels: ['verb'],
      help: 'Messages pushed, popped and acknowledged on this node.',
      read: () => {
        const { pushed, popped, acked } = figures.source();
        return [
          { labels: { verb: 'push' }, value: pushed },
          { labels: { verb: 'pop' }, value: popped },
          { labels: { verb: 'ack' }, value: acked },
        ];
      },
    },
    {
      kind: 'counter',
      name: 'queen_ephemeral_dropped_total',
      labels: ['cause'],
      help: 'Messages dropped: for room, for their age, or given up by a group at the retry limit.',
      read: () => {
        const { bounds, ttl, retry } = figures.source().dropped;
        return Object.entries({ bounds, ttl, retry }).map(([cause, value]) => ({
          labels: { cause },
          value,
        }));
      },
    },
    {
      kind: 'counter',
      name: 'queen_ephemeral_forwarded_total',
      help: 'Requests of clients of this node that the owner of their partition served.',
      read: () => figures.source().forwarded,
    },
    {
      kind: 'counter',
      name: 'queen_ephemeral_wipes_total',
      help: 'Partitions whose contents were lost: not handed over, or gone with their node.',
      read: () => figures.source().wipes,
    },
    {
      kind: 'gauge',
      name: 'queen_ephemeral_silent_peers',
      help: 'Members that the leader hears and that have not answered this node for 30 s.',
      read: () => figures.source().silentPeers,
    },
  ];
}
