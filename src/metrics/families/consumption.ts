/** Families of consumption on this node: parked pops, and what the dispatchers hold. */
import type { DispatcherFigures, Groups } from '../../raft/index.js';
import type { Family } from '../family.js';

export function consumptionFamilies(groups: Groups): readonly Family[] {
  const sum = (of: (figures: DispatcherFigures) => number): number =>
    groups.dispatcherFigures().reduce((total, figures) => total + of(figures), 0);
  return [
    {
      kind: 'gauge',
      name: 'queen_parked_long_polls',
      help: 'Pops that wait for messages now.',
      read: () => sum(({ parked }) => parked),
    },
    {
      kind: 'gauge',
      name: 'queen_consume_engine',
      labels: ['kind'],
      help: 'What the dispatcher holds: (queue, group) pairs, and partitions it knows as claimable.',
      read: () => [
        { labels: { kind: 'groups' }, value: sum(({ lanes }) => lanes) },
        { labels: { kind: 'partitions' }, value: sum(({ readyPartitions }) => readyPartitions) },
      ],
    },
    {
      kind: 'counter',
      name: 'queen_consume_parts_total',
      labels: ['kind'],
      help: '(queue, group) pairs the dispatcher took up and dropped.',
      read: () => [
        { labels: { kind: 'loaded' }, value: sum(({ lanesLoaded }) => lanesLoaded) },
        { labels: { kind: 'unloaded' }, value: sum(({ lanesUnloaded }) => lanesUnloaded) },
      ],
    },
  ];
}
