/** Binding the encryption key: first come, for ever, on every node and after a restart. */
import { MachineHarness } from '../../../test/support/machine-harness.js';
import { encodeBindEncryptionKey } from '../commands/index.js';
import type { BindEncryptionKeyOutcome } from '../commands/index.js';

const bind = (harness: MachineHarness, byte: number): boolean => {
  const check = new Uint8Array(16).fill(byte);
  return harness.run<BindEncryptionKeyOutcome>(encodeBindEncryptionKey({ check })).isBound;
};

it('binds the first key; others are told', () => {
  const harness = new MachineHarness();
  expect(harness.tables.encryption.check).toBeNull();
  expect([bind(harness, 1), bind(harness, 2), bind(harness, 1)]).toEqual([true, false, true]);
  const reloaded = harness.reloaded();
  expect(reloaded.tables.encryption.check).toEqual(new Uint8Array(16).fill(1));
  expect(bind(reloaded, 2)).toBe(false);
});
