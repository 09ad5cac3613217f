/** Membership arithmetic: simple steps and one joint step reach the same place; refusals; order. */
import fc from 'fast-check';
import { logIndex, nodeId } from '../../common/ids.js';
import {
  EMPTY_CONFIG,
  canonicalConfig,
  changeConfig,
  enterJoint,
  leaveJoint,
  memberIds,
  reconcileProgress,
  sameConfig,
  simpleChange,
  type ChangeOutcome,
} from './membership.js';
import { decodeConfigChange, encodeConfigChange } from './membership-codec.js';
import type { ConfigState, SingleChange } from './types.js';

const action = fc.constantFrom('add-voter' as const, 'add-learner' as const, 'remove' as const);
const single: fc.Arbitrary<SingleChange> = fc.record({
  action,
  node: fc.integer({ min: 1, max: 5 }).map(nodeId),
});
const limits = { maxMessages: 1, maxBytes: 0 };

/** A membership reached by applying simple changes one at a time; refused ones are skipped. */
function reach(changes: readonly SingleChange[], from = seeded()): ConfigState {
  return changes.reduce((config, one) => {
    const outcome = simpleChange(config, [one]);
    return outcome.ok ? outcome.config : config;
  }, from);
}

function seeded(): ConfigState {
  return accepted(simpleChange(EMPTY_CONFIG, [{ action: 'add-voter', node: nodeId(1) }]));
}

function accepted(outcome: ChangeOutcome): ConfigState {
  if (!outcome.ok) throw new Error(outcome.refusal);
  return outcome.config;
}

describe('membership arithmetic', () => {
  it('a joint change ends where the same changes end one by one', () => {
    fc.assert(
      fc.property(fc.array(single), fc.array(single, { maxLength: 6 }), (setup, changes) => {
        const start = reach(setup);
        // Only sequences that no single step refuses are comparable.
        const steps = changes.reduce<ConfigState | undefined>((config, one) => {
          const outcome = config === undefined ? undefined : simpleChange(config, [one]);
          return outcome?.ok === true ? outcome.config : undefined;
        }, start);
        fc.pre(steps !== undefined);
        const joint = accepted(enterJoint(start, changes, true));
        expect(joint.outgoing).toEqual(start.voters);
        expect(sameConfig(accepted(leaveJoint(joint)), steps)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('a demoted voter votes on in the outgoing half until the joint state is left', () => {
    fc.assert(
      fc.property(fc.array(single), fc.array(single, { minLength: 1 }), (setup, changes) => {
        const outcome = enterJoint(reach(setup), changes, false);
        fc.pre(outcome.ok);
        const joint = accepted(outcome);
        for (const id of joint.learners) expect(joint.outgoing).not.toContain(id);
        for (const id of joint.learnersNext) expect(joint.outgoing).toContain(id);
      }),
    );
  });

  it('input lists in any order give the same frozen, sorted configuration', () => {
    const config = canonicalConfig({
      ...EMPTY_CONFIG,
      voters: [3, 1, 2].map(nodeId),
      learners: [9, 4].map(nodeId),
    });
    expect(config.voters).toEqual([1, 2, 3]);
    expect(memberIds(config)).toEqual([1, 2, 3, 4, 9]);
    expect(Object.isFrozen(config) && Object.isFrozen(config.voters)).toBe(true);
  });

  it('refuses contradictions from outside', () => {
    const voters = [nodeId(1)];
    expect(() => canonicalConfig({ ...EMPTY_CONFIG, voters, learners: voters })).toThrow('learner');
    expect(() => canonicalConfig({ ...EMPTY_CONFIG, voters, autoLeave: true })).toThrow('leave');
  });

  it('the transition decides between simple and joint', () => {
    const start = seeded();
    const add = (...nodes: number[]) =>
      nodes.map((node) => ({ action: 'add-voter' as const, node: nodeId(node) }));
    expect(accepted(changeConfig(start, { transition: 'auto', changes: add(2) })).outgoing).toEqual(
      [],
    );
    const two = accepted(changeConfig(start, { transition: 'auto', changes: add(2, 3) }));
    expect([two.outgoing, two.autoLeave]).toEqual([[1], true]);
    const explicit = accepted(changeConfig(start, { transition: 'explicit', changes: add(2) }));
    expect([explicit.outgoing, explicit.autoLeave]).toEqual([[1], false]);
    expect(accepted(changeConfig(explicit, { transition: 'auto', changes: [] })).voters).toEqual([
      1, 2,
    ]);
  });

  it('keeps the progress of a promoted learner and creates others at the last index', () => {
    const config = { ...EMPTY_CONFIG, voters: [nodeId(1)], learners: [nodeId(2)] };
    const before = reconcileProgress(config, new Map(), { lastIndex: logIndex(7), limits });
    const learner = before.get(nodeId(2));
    expect([learner?.isLearner, learner?.next]).toEqual([true, 7]);
    learner?.acknowledge(logIndex(5));
    const promoted = accepted(simpleChange(config, [{ action: 'add-voter', node: nodeId(2) }]));
    const after = reconcileProgress(promoted, before, { lastIndex: logIndex(9), limits });
    expect([after.get(nodeId(2))?.isLearner, after.get(nodeId(2))?.match]).toEqual([false, 5]);
  });
});

describe('membership entry bytes', () => {
  it('round trips, context and large ids included', () => {
    const node = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }).map(nodeId);
    const changes = fc.array(
      fc.record({ action: fc.constantFrom('update' as const, 'remove' as const), node }),
      { minLength: 1 },
    );
    const transition = fc.constantFrom('auto' as const, 'implicit' as const, 'explicit' as const);
    const context = fc.uint8Array();
    fc.assert(
      fc.property(fc.record({ transition, changes, context }), (change) => {
        expect(decodeConfigChange(encodeConfigChange(change))).toEqual(change);
      }),
    );
  });

  it('leaving is the empty entry', () => {
    const leave = { transition: 'auto' as const, changes: [] };
    expect(encodeConfigChange(leave).byteLength).toBe(0);
    expect(decodeConfigChange(new Uint8Array(0))).toEqual(leave);
  });

  it.each([
    ['short', [1, 0]],
    ['future version', [2, 0, 0, 0]],
    ['unknown transition', [1, 9, 0, 0]],
    ['missing change', [1, 0, 0, 1, 0]],
    ['unknown action', [1, 0, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0, 1]],
  ])('%s is malformed, not a throw', (_name, raw) => {
    expect(decodeConfigChange(Uint8Array.from(raw))).toBe('malformed');
  });
});
