/** Declared ephemeral queues in the machine: verdicts, digest, rows, restart (state.md §5.5). */
import { MachineHarness, OTHER_TENANT, TENANT } from '../../../test/support/machine-harness.js';
import { encodeDeclareEphemeral, encodeDropEphemeral } from '../commands/index.js';
import type { DeclareEphemeralOutcome, DropEphemeralOutcome } from '../commands/index.js';

const declare = (queue: string, optionsText = '{}', tenant = TENANT): Uint8Array =>
  encodeDeclareEphemeral(tenant, { queue, optionsText });
const drop = (queue: string, tenant = TENANT): Uint8Array => encodeDropEphemeral(tenant, { queue });

function shown(harness: MachineHarness): unknown {
  const { names, ephemeral } = harness.tables;
  return [TENANT, OTHER_TENANT].map((uuid) => {
    const tenant = names.tenant(uuid);
    if (tenant === undefined) return [];
    return ephemeral
      .list(tenant)
      .map((name) => [name, ephemeral.find(tenant, name)?.optionsText ?? null]);
  });
}

describe('declarations', () => {
  it('come, are replaced whole, and go; each tenant has its own', () => {
    const harness = new MachineHarness();
    const { ephemeral } = harness.tables;
    const steps: [Uint8Array, object, unknown][] = [
      [declare('b', '{"maxLength":1}'), { created: true }, [[['b', '{"maxLength":1}']], []]],
      [
        declare('a', '{}', OTHER_TENANT),
        { created: true },
        [[['b', '{"maxLength":1}']], [['a', '{}']]],
      ],
      [
        declare('b', '{"policy":"reject"}'),
        { created: false },
        [[['b', '{"policy":"reject"}']], [['a', '{}']]],
      ],
      [drop('a'), { existed: false }, [[['b', '{"policy":"reject"}']], [['a', '{}']]]],
      [drop('a', OTHER_TENANT), { existed: true }, [[['b', '{"policy":"reject"}']], []]],
      [drop('a', OTHER_TENANT), { existed: false }, [[['b', '{"policy":"reject"}']], []]],
    ];
    for (const [command, outcome, state] of steps) {
      const { version } = ephemeral;
      const digest = harness.machine.digest();
      const applied = harness.run<DeclareEphemeralOutcome | DropEphemeralOutcome>(command);
      expect(applied).toMatchObject(outcome);
      expect(shown(harness)).toEqual(state);
      expect(harness.machine.digest()).not.toEqual(digest);
      const changes = !('existed' in applied) || applied.existed;
      expect(ephemeral.version > version).toBe(changes);
    }
  });

  it('a drop of an unknown tenant is no error', () => {
    const harness = new MachineHarness();
    expect(harness.run<DropEphemeralOutcome>(drop('q')).existed).toBe(false);
  });

  it('come back from their rows, byte for byte', () => {
    const harness = new MachineHarness();
    harness.run(declare('räume/7', '{"ttlSeconds":1}'));
    harness.run(declare('gone'));
    harness.run(declare('kept', '{}', OTHER_TENANT));
    harness.machine.flushDirtyRows();
    harness.run(drop('gone'));
    const again = harness.reloaded();
    expect(shown(again)).toEqual(shown(harness));
    expect(shown(again)).toEqual([[['räume/7', '{"ttlSeconds":1}']], [['kept', '{}']]]);
    const tenant = again.tables.names.tenant(TENANT)!;
    expect(again.tables.ephemeral.find(tenant, 'räume/7')).toEqual(
      harness.tables.ephemeral.find(tenant, 'räume/7'),
    );
    harness.run(declare('next'));
    again.now = harness.now;
    again.run(declare('next'));
    expect(again.machine.digest()).toEqual(harness.machine.digest());
  });
});
