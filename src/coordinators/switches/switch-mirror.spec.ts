/** A group that was not reached follows the switches of group 0, and nothing else moves. */
import { SWITCH_NAMES, type SwitchName } from '../../machine/commands/index.js';
import { SwitchMirror, type DecidingGroup, type MirroredGroup } from './switch-mirror.js';

class Switches {
  readonly off = new Set<SwitchName>();
  leader: number | null = 1;
  lagMs = 0;
  readonly tables = { controls: { isOn: (name: SwitchName) => !this.off.has(name) } };
  status = (): unknown => ({ leader: this.leader, lagMs: this.lagMs, role: 'follower' });
}

let first: Switches;
let own: Switches;
let proposed: number;
let mirror: SwitchMirror;

beforeEach(() => {
  jest.useFakeTimers();
  first = new Switches();
  own = new Switches();
  proposed = 0;
  const host = {
    tables: own.tables,
    propose: () => {
      proposed += 1;
      for (const name of SWITCH_NAMES) {
        if (first.off.has(name)) own.off.add(name);
        else own.off.delete(name);
      }
      return Promise.resolve();
    },
  };
  mirror = new SwitchMirror(host as unknown as MirroredGroup, first as unknown as DecidingGroup, {
    monotonicMs: () => Date.now(),
    log: () => undefined,
  });
  mirror.start();
});

afterEach(() => {
  mirror.stop();
  jest.useRealTimers();
});

it('turns what stands differently for three seconds, once', () => {
  first.off.add('timersFire');
  jest.advanceTimersByTime(3_000);
  expect(proposed).toBe(0);
  jest.advanceTimersByTime(2_000);
  expect(proposed).toBe(1);
  expect([...own.off]).toEqual(['timersFire']);
  jest.advanceTimersByTime(20_000);
  expect(proposed).toBe(1);
});

it.each<[string, () => void]>([
  ['that is over soon', () => setTimeout(() => first.off.clear(), 2_500)],
  ['while nobody leads group 0', () => (first.leader = null)],
  ['while this node is behind in group 0', () => (first.lagMs = 5_000)],
  ['after the leadership', () => mirror.stop()],
])('leaves a difference %s alone', (_what, happens) => {
  first.off.add('kv');
  happens();
  jest.advanceTimersByTime(20_000);
  expect(proposed).toBe(0);
});
