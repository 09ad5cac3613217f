/** Half of the random sequences: the broker agrees with the model, answer by answer. */
import { expectAgreement } from './campaign.js';
import { InProcessBroker } from './in-process-broker.js';

const SEQUENCES = Number(process.env['QUEEN_MODEL_SEQUENCES'] ?? 10_000);

it(
  'agrees with the model',
  () => expectAgreement(() => InProcessBroker.start(), { from: 1 * 1_000_000, count: SEQUENCES }),
  60 * 60_000,
);
