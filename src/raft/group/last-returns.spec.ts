/** How a group whose log met damage ends: when nobody is owed messages any more, or after a second. */
import { ReadPins } from './collector/read-pins.js';
import { LastReturns } from './last-returns.js';

const nothing = { warn: () => undefined };
const pause = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

// However busy the machine is, the second is not over before a test says so.
beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

function gate(): { readonly promise: Promise<void>; open(error?: Error): void } {
  let settle: (error?: Error) => void = () => undefined;
  const promise = new Promise<void>((resolve, reject) => {
    settle = (error) => (error === undefined ? resolve() : reject(error));
  });
  return { promise, open: (error) => settle(error) };
}

function ended(returns: LastReturns): { isStopped(): boolean } {
  let isStopped = false;
  returns.end(() => (isStopped = true));
  return { isStopped: () => isStopped };
}

describe('the last returns of a group', () => {
  it('take no pop from the moment of the damage on', () => {
    const returns = new LastReturns(nothing, () => false);
    expect(returns.isEnding).toBe(false);
    ended(returns);
    expect(returns.isEnding).toBe(true);
  });

  it('wait for a read, and for what its failure hands back', async () => {
    const pins = new ReadPins();
    const returns = new LastReturns(nothing, () => pins.isHeld);
    const sent = gate();
    const read = pins.enter();
    const end = ended(returns);
    await pause(100);
    expect(end.isStopped()).toBe(false);
    pins.leave(read);
    returns.track(sent.promise);
    await pause(100);
    expect(end.isStopped()).toBe(false);
    sent.open();
    await pause(100);
    expect(end.isStopped()).toBe(true);
  });

  it('wait for a claim whose pop has not begun to read', async () => {
    let isGranting = true;
    const returns = new LastReturns(nothing, () => isGranting);
    const end = ended(returns);
    await pause(100);
    expect(end.isStopped()).toBe(false);
    isGranting = false;
    await pause(100);
    expect(end.isStopped()).toBe(true);
  });

  it('do not wait for ever, and stop once', async () => {
    const returns = new LastReturns(nothing, () => true);
    const stops: string[] = [];
    returns.end(() => stops.push('first'));
    returns.end(() => stops.push('second'));
    await pause(900);
    expect(stops).toEqual([]);
    await pause(10_000);
    expect(stops).toEqual(['first']);
  });
});
