/** A setting that protects something and is not built yet stops the boot instead of being ignored. */
import { TestBroker } from '../support/broker.js';

describe('settings of parts that are not built', () => {
  it.each([
    ['JWT_ENABLED', { JWT_ENABLED: 'true', JWT_SECRET: 'x'.repeat(32) }],
    ['QUEEN_ENCRYPTION_KEY', { QUEEN_ENCRYPTION_KEY: 'ab'.repeat(32) }],
  ])('%s stops the boot and is named', async (name, env) => {
    await expect(TestBroker.start(env)).rejects.toThrow(name);
  });
});
