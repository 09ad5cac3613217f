/** Who is too slow: at the line to its length, below the least rate, and never while the process stood. */
import { BodyPace, type PacedBody, type PaceRules } from './body-pace.js';

const RULES: PaceRules = {
  minBytesPerSecond: 100,
  graceMs: 10_000,
  deadlineMs: 110_000,
  sweepMs: 1_000,
};

class Body implements PacedBody {
  receivedBytes = 0;
  refusals = 0;

  constructor(readonly announcedBytes: number) {}

  tooSlow(): void {
    this.refusals += 1;
  }
}

let nowMs: number;

beforeEach(() => {
  nowMs = 5_000;
  jest.useFakeTimers({ doNotFake: ['performance'] });
});

afterEach(() => jest.useRealTimers());

function pass(ms: number, each: () => void = () => undefined): void {
  for (let passed = 0; passed < ms; passed += RULES.sweepMs) {
    each();
    nowMs += RULES.sweepMs;
    jest.advanceTimersByTime(RULES.sweepMs);
  }
}

const paceOf = (rules: Partial<PaceRules> = {}): BodyPace =>
  new BodyPace({ ...RULES, ...rules }, () => nowMs);

it('ends a stalled body soon after the grace, and sweeps no more', () => {
  const pace = paceOf();
  const body = new Body(60_000_000);
  pace.begin(body);
  pass(10_000);
  expect(body.refusals).toBe(0);
  pass(1_000);
  expect([body.refusals, pace.count]).toEqual([1, 0]);
  pass(1_000);
  expect(jest.getTimerCount()).toBe(0);
});

it('ends a trickle that cannot be complete in time, not a steady upload', () => {
  const pace = paceOf();
  const trickle = new Body(60_000_000);
  const steady = new Body(60_000_000);
  for (const body of [trickle, steady]) pace.begin(body);
  pass(60_000, () => {
    trickle.receivedBytes += 5_000;
    steady.receivedBytes += 550_000;
  });
  expect([trickle.refusals, steady.refusals]).toEqual([1, 0]);
});

it('asks for the least rate when nothing was announced', () => {
  const pace = paceOf();
  const slow = new Body(-1);
  const quick = new Body(-1);
  for (const body of [slow, quick]) pace.begin(body);
  pass(120_000, () => {
    slow.receivedBytes += 80;
    quick.receivedBytes += 100;
  });
  expect([slow.refusals, quick.refusals]).toEqual([1, 0]);
});

it('does not count time in which the process stood still', () => {
  const pace = paceOf();
  const body = new Body(1_000);
  pace.begin(body);
  nowMs += 60_000;
  jest.advanceTimersByTime(1_000);
  pass(5_000);
  expect(body.refusals).toBe(0);
  pass(10_000);
  expect(body.refusals).toBe(1);
});

it('keeps no timer when nothing arrives, and none when it is off', () => {
  const pace = paceOf();
  const body = new Body(10);
  pace.begin(body);
  pace.end(body);
  pace.end(body);
  pass(1_000);
  expect(jest.getTimerCount()).toBe(0);
  const off = paceOf({ minBytesPerSecond: 0 });
  off.begin(body);
  pass(200_000);
  expect([body.refusals, off.count]).toEqual([0, 0]);
});
