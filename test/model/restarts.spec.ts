/**
 * Random sequences with restarts of the broker in between: whatever a client can see stays as the model
 * says, although all that is in memory is gone and the log is applied again.
 */
import { expectAgreement } from './campaign.js';
import { InProcessBroker } from './in-process-broker.js';

const SEQUENCES = Number(process.env['QUEEN_MODEL_RESTART_SEQUENCES'] ?? 60);

it(
  'agrees with the model over restarts',
  () =>
    expectAgreement(() => InProcessBroker.start(), {
      ...{ from: 5_000_000, count: SEQUENCES, kinds: { restarts: true }, perBroker: 20 },
    }),
  60 * 60_000,
);
