/**
 * Random sequences in which pops wait while the next operation is done: who can be served is, at once and
 * with exactly what the model says, and nobody else.
 */
import { expectAgreement } from './campaign.js';
import { InProcessBroker } from './in-process-broker.js';

const SEQUENCES = Number(process.env['QUEEN_MODEL_WAIT_SEQUENCES'] ?? 400);

it(
  'agrees with the model about pops that wait',
  () =>
    expectAgreement(() => InProcessBroker.start(), {
      ...{ from: 6_000_000, count: SEQUENCES, kinds: { waits: true } },
    }),
  60 * 60_000,
);
