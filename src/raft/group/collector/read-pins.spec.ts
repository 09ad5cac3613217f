/** Reads hold what they may need: who waits for them, and who does not. */
import { ReadPins } from './read-pins.js';

describe('ReadPins', () => {
  it('waits for reads that began before, not for later ones', async () => {
    const pins = new ReadPins();
    const before = pins.enter();
    const also = pins.enter();
    let settled = false;
    const waiting = pins.settled().then(() => (settled = true));
    const after = pins.enter();
    pins.leave(before);
    await Promise.resolve();
    expect(settled).toBe(false);
    pins.leave(also);
    await waiting;
    pins.leave(after);
    await pins.settled();
  });

  it('lets several wait, each for its own', async () => {
    const pins = new ReadPins();
    const order: string[] = [];
    const a = pins.enter();
    const first = pins.settled().then(() => order.push('first'));
    const b = pins.enter();
    const second = pins.settled().then(() => order.push('second'));
    pins.leave(b);
    pins.leave(a);
    await Promise.all([first, second]);
    expect(order).toHaveLength(2);
  });
});
