/** Families of admission and of forwarding to the leader; skipped when QUEEN_RAFT_METRICS is off. */
import type { Admission } from '../../http/admission.js';
import type { Groups } from '../../raft/index.js';
import type { Family } from '../family.js';

export function admissionFamilies(admission: Admission): readonly Family[] {
  return [
    {
      kind: 'gauge',
      name: 'queen_raft_admit_bytes',
      labels: ['kind'],
      help: 'Budget of requests in work, and bytes held of it. A budget of 0 is no limit.',
      read: () => [
        { labels: { kind: 'cap' }, value: admission.capBytes },
        { labels: { kind: 'held' }, value: admission.heldBytes },
      ],
    },
    {
      kind: 'counter',
      name: 'queen_raft_admit_total',
      labels: ['outcome'],
      help: 'Requests that had to wait, and requests refused with 429.',
      read: () => [
        { labels: { outcome: 'waited' }, value: admission.waited },
        { labels: { outcome: 'refused' }, value: admission.refused },
      ],
    },
    {
      kind: 'gauge',
      name: 'queen_raft_admit_waiting',
      help: 'Requests that wait for admission now.',
      read: () => admission.waiting,
    },
  ];
}

export function forwardFamilies(groups: Groups): readonly Family[] {
  const sum = (of: (stages: ReturnType<Groups['figures']>[number]['stages']) => number): number =>
    groups.figures().reduce((total, { stages }) => total + of(stages), 0);
  return [
    {
      kind: 'counter',
      name: 'queen_raft_admit_forwarded_total',
      labels: ['outcome'],
      help: 'Commands of followers that this node took in as leader, or turned away.',
      read: () => [
        {
          labels: { outcome: 'admitted' },
          value: sum(({ forwardedAdmitted }) => forwardedAdmitted),
        },
        { labels: { outcome: 'refused' }, value: sum(({ forwardedRefused }) => forwardedRefused) },
      ],
    },
    {
      kind: 'counter',
      name: 'queen_raft_forward_total',
      labels: ['kind'],
      help: 'Commands sent to the leader and served as leader; streams to members that came up.',
      read: () => [
        { labels: { kind: 'sent' }, value: sum(({ forwardsSent }) => forwardsSent) },
        { labels: { kind: 'served' }, value: sum(({ forwardedAdmitted }) => forwardedAdmitted) },
        { labels: { kind: 'streams_opened' }, value: groups.members.streamsOpened },
        { labels: { kind: 'legacy_leader' }, value: 0 },
      ],
    },
  ];
}
