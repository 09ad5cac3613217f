/** Families of consumption on this node: parked pops, and what the dispatchers hold. */
import type { DispatcherFigures, Groups } from '../../raft/index.js';
import type { RequestStages } from '../../http/request-stages.js';
import type { Family } from '../family.js';

export function consumptionFamilies(groups: Groups, requests: RequestStages): readonly Family[] {
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
      help: 'What the dispatcher holds: (queue, group) pairs, their cursors, claimable partitions.',
      read: () => [
        { labels: { kind: 'groups' }, value: sum(({ lanes }) => lanes) },
        {
          labels: { kind: 'parts' },
          value: groups.all().reduce((total, { tables }) => total + tables.cursors.count, 0),
        },
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
    {
      kind: 'counter',
      name: 'queen_consume_cold_claims_total',
      help: 'Partitions that were read from the store before they could be claimed.',
      read: () => sum(({ coldClaims }) => coldClaims),
    },
    {
      kind: 'counter',
      name: 'queen_conflation_conflicts_total',
      help: "Pops that asked for another delivery than their group's registration says.",
      read: () => sum(({ conflationConflicts }) => conflationConflicts),
    },
    ...popFamilies(requests),
  ];
}

function popFamilies(requests: RequestStages): readonly Family[] {
  return [
    {
      kind: 'counter',
      name: 'queen_pop_targeted_total',
      help: 'Pops of one queue or partition.',
      read: () => requests.popTargeted,
    },
    {
      kind: 'counter',
      name: 'queen_pop_wildcard_total',
      help: 'Pops by namespace or task.',
      read: () => requests.popWildcard,
    },
    {
      kind: 'counter',
      name: 'queen_pop_fill_wait_total',
      help: 'Long polls that ended.',
      read: () => requests.popWaits,
    },
    {
      kind: 'counter',
      name: 'queen_pop_fill_wait_microseconds_total',
      help: 'Time they waited.',
      read: () => requests.popWaitMicros,
    },
  ];
}
