/** A smaller share of the sequences over real HTTP: sockets, Fastify and the real disk are in between. */
import { expectAgreement } from './campaign.js';
import { HttpBroker } from './http-broker.js';

it(
  'agrees with the model over HTTP',
  () => expectAgreement(() => HttpBroker.start(), { from: 3_000_000, count: 300 }),
  20 * 60_000,
);
