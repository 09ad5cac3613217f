/** Families of admission; skipped when QUEEN_RAFT_METRICS is off. */
import type { Admission } from '../../http/admission.js';
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
