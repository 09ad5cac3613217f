/** Bodies share memory one after another, never at the same time. */
import { BodyPool, releaseBody } from './body-pool.js';

describe('BodyPool', () => {
  it('lends exactly the wanted bytes', () => {
    expect(new BodyPool().take(70_000)?.length).toBe(70_000);
    expect(new BodyPool().take(1)?.length).toBe(1);
  });

  it('keeps no memory for huge bodies', () => {
    expect(new BodyPool().take(1024 * 1024 + 1)).toBeUndefined();
  });

  it('uses memory again once it was handed back', () => {
    const pool = new BodyPool();
    const first = pool.take(100_000)!;
    releaseBody(first);
    expect(pool.take(90_000)!.buffer).toBe(first.buffer);
  });

  it('never lends memory twice, also when it is handed back twice', () => {
    const pool = new BodyPool();
    const first = pool.take(100_000)!;
    releaseBody(first);
    releaseBody(first);
    const [second, third] = [pool.take(100_000)!, pool.take(100_000)!];
    expect(second.buffer).not.toBe(third.buffer);
  });

  it('takes no foreign bytes in', () => {
    const pool = new BodyPool();
    const foreign = Buffer.alloc(65_536);
    releaseBody(foreign);
    expect(pool.take(65_536)!.buffer).not.toBe(foreign.buffer);
  });

  it('bounds what lies idle', () => {
    const pool = new BodyPool();
    const lent = Array.from({ length: 40 }, () => pool.take(1024 * 1024)!);
    const known = new Set(lent.map((body) => body.buffer));
    lent.forEach(releaseBody);
    const again = Array.from({ length: 40 }, () => pool.take(1024 * 1024)!);
    expect(again.filter((body) => known.has(body.buffer))).toHaveLength(16);
  });
});
