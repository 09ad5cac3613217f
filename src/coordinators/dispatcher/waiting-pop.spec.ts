/** Parked pops and their lists: order, leaving in the middle, settling exactly once. */
import { REQUEST } from '../../../test/support/dispatcher-host.js';
import { AbsentPops } from './absent-pops.js';
import { WaitingList, WaitingPop } from './waiting-pop.js';

const TENANT = REQUEST.tenant;

function pop(arrival: number, partition = 'p'): WaitingPop & { outcome?: unknown } {
  const created: WaitingPop & { outcome?: unknown } = new WaitingPop({
    request: { ...REQUEST, scope: 'partition', partition },
    ticket: { session: 1, sequence: arrival },
    claimBeforeMs: 1000,
    arrival,
    resolve: (answer) => (created.outcome = answer.granted),
    reject: (error) => (created.outcome = error.message),
    onSettled: () => undefined,
  });
  return created;
}

const arrivals = (list: WaitingList): number[] => {
  const seen: number[] = [];
  list.forEach((one) => seen.push(one.arrival));
  return seen;
};

describe('waiting list', () => {
  it('keeps arrival order, also for those that come back', () => {
    const list = new WaitingList();
    for (const arrival of [2, 5, 7]) list.insert(pop(arrival));
    for (const arrival of [4, 1, 6, 9, 3]) list.insert(pop(arrival));
    expect(arrivals(list)).toEqual([1, 2, 3, 4, 5, 6, 7, 9]);
    expect(list.size).toBe(8);
  });

  it('forgets a pop that is settled, wherever it stands', () => {
    const list = new WaitingList();
    const pops = [1, 2, 3, 4].map((arrival) => pop(arrival));
    for (const one of pops) list.insert(one);
    pops[1]!.answer(false);
    pops[3]!.fail(new Error('gone'));
    pops[0]!.answer(true);
    expect(arrivals(list)).toEqual([3]);
    expect(list.first()).toBe(pops[2]);
    expect(pops.map(({ outcome }) => outcome)).toEqual([true, false, undefined, 'gone']);
  });

  it('answers a pop once', () => {
    const one = pop(1);
    one.answer(true);
    one.answer(false);
    one.fail(new Error('late'));
    expect(one.outcome).toBe(true);
  });
});

describe('absent pops', () => {
  it('are taken by name, oldest first, and once', () => {
    const absent = new AbsentPops();
    const [a, b, c] = [pop(1), pop(2, 'q'), pop(3)] as const;
    for (const one of [c, a, b]) absent.add(one);
    expect(absent.take(TENANT, 'orders', 'p')).toEqual([a, c]);
    expect(absent.take(TENANT, 'orders', 'p')).toEqual([]);
    expect(absent.take(TENANT, 'orders', 'q')).toEqual([b]);
    expect(absent.size).toBe(0);
  });

  it('forget a name with its last waiter', () => {
    const absent = new AbsentPops();
    const [a, b] = [pop(1), pop(2)] as const;
    absent.add(a);
    absent.add(b);
    a.answer(false);
    expect(absent.size).toBe(1);
    b.fail(new Error('stop'));
    expect(absent.size).toBe(0);
  });

  it('do not confuse names that join to the same text', () => {
    const absent = new AbsentPops();
    absent.add(pop(1, '1'));
    expect(absent.take(TENANT, 'orders1', '')).toEqual([]);
  });
});
