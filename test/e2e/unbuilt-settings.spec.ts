/** A setting that protects something and is not built yet stops the boot instead of being ignored. */
import { TestBroker } from '../support/broker.js';

describe('settings of parts that are not built', () => {
  it.each([['QUEEN_ENCRYPTION_KEY', { QUEEN_ENCRYPTION_KEY: 'ab'.repeat(32) }]])(
    '%s stops the boot and is named',
    async (name, env) => {
      await expect(TestBroker.start(env)).rejects.toThrow(name);
    },
  );
});
