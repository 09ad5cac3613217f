/** The ledger of the crash tests finds every kind of broken promise that it exists for. */
import { Ledger } from './ledger.js';

const delivery = { leaseId: 'l', sentAtMs: 0, answeredAtMs: 1, leaseMs: 1000 };

describe('ledger', () => {
  let ledger: Ledger;

  beforeEach(() => {
    ledger = new Ledger();
  });

  const found = (): readonly string[] => ledger.violations.kept;

  it('is silent about a broker that keeps its word', () => {
    const log = ledger.log('p');
    log.acknowledge('1-0', 0, 'm0');
    log.acknowledge('1-1', 1, 'm1');
    log.checkWhole(2, 'audit');
    const cursor = ledger.cursor('g', 'p');
    cursor.deliver({ ...delivery, first: 0, last: 1 });
    cursor.attempt(1, true);
    cursor.settle(1);
    cursor.checkDelivered(1);
    expect(found()).toEqual([]);
  });

  it('knows what retention may take', () => {
    const log = ledger.log('p');
    log.acknowledge('1-0', 0, 'm0');
    log.sentAt(0, 1000);
    log.acknowledge('1-1', 1, 'm1');
    log.sentAt(1, 3000);
    expect(log.isSentBefore({ from: 0, to: 0 }, 2000)).toBe(true);
    expect(log.isSentBefore({ from: 0, to: 1 }, 2000)).toBe(false);
    ledger.cursor('g', 'p').deliver({ ...delivery, first: 1, last: 1 }, () => true);
    log.observe('1-1', 1, 'audit');
    log.checkRange({ start: 1, end: 2 }, 'audit');
    expect(found()).toEqual([]);
    log.checkRange({ start: 1, end: 1 }, 'audit');
    expect(found()).toHaveLength(1);
  });

  it.each([
    [
      'a lost message',
      (): void => {
        ledger.log('p').acknowledge('1-0', 0, 'm');
        ledger.log('p').checkWhole(0, 'audit');
      },
    ],
    [
      'a gap',
      (): void => {
        ledger.log('p').observe('1-1', 1, 'audit');
        ledger.log('p').checkWhole(2, 'audit');
      },
    ],
    [
      'a message that stands there twice',
      (): void => {
        ledger.log('p').acknowledge('1-0', 0, 'm');
        ledger.log('p').observe('1-0', 1, 'audit');
      },
    ],
    [
      'an offset given out twice',
      (): void => {
        ledger.log('p').acknowledge('1-0', 0, 'm');
        ledger.log('p').acknowledge('2-0', 0, 'n');
      },
    ],
    [
      'a repeat that got another message id',
      (): void => {
        ledger.log('p').acknowledge('1-0', 0, 'm');
        ledger.log('p').acknowledge('1-0', 0, 'n');
      },
    ],
    [
      'messages of one producer out of order',
      (): void => {
        ledger.log('p').observe('1-5', 0, 'audit');
        ledger.log('p').observe('1-4', 1, 'audit');
        ledger.log('p').checkWhole(2, 'audit');
      },
    ],
    [
      'a delivery after its ack',
      (): void => {
        const cursor = ledger.cursor('g', 'p');
        cursor.deliver({ ...delivery, first: 0, last: 3 });
        cursor.attempt(3, true);
        cursor.settle(3);
        cursor.deliver({ ...delivery, first: 3, last: 4 });
      },
    ],
    [
      'a skipped message',
      (): void => ledger.cursor('g', 'p').deliver({ ...delivery, first: 1, last: 2 }),
    ],
    [
      'two live leases',
      (): void => {
        const cursor = ledger.cursor('g', 'p');
        cursor.deliver({ ...delivery, first: 0, last: 3 });
        cursor.deliver({ ...delivery, first: 0, last: 3, leaseId: 'other' });
      },
    ],
    [
      'a skipped message that retention may not have taken',
      (): void => ledger.cursor('g', 'p').deliver({ ...delivery, first: 1, last: 2 }, () => false),
    ],
    ['a group that is stuck', (): void => ledger.cursor('g', 'p').checkAttempted(0)],
    ['a message never delivered', (): void => ledger.cursor('g', 'p').checkDelivered(0)],
  ])('finds %s', (_what, breakPromise) => {
    breakPromise();
    expect(found()).toHaveLength(1);
  });
});
