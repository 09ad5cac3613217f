/** Writes that wait for room: what they leave at the connection, and what ends the wait. */
import { Writable } from 'node:stream';
import { writePaced } from './paced-write.js';

const PIECE = new Uint8Array(8);
let taken: (() => void)[];
let connection: Writable;

beforeEach(() => {
  taken = [];
  connection = new Writable({
    highWaterMark: 1,
    write: (_piece, _encoding, done) => void taken.push(done),
  });
});

const listeners = (): number[] =>
  ['drain', 'close', 'error'].map((name) => connection.listenerCount(name));

it('wait until the piece is taken, and leave no listener', async () => {
  const before = listeners();
  for (let n = 0; n < 100; n += 1) {
    let isOver = false;
    const written = writePaced(connection, PIECE).then(() => (isOver = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect([taken.length, isOver]).toEqual([1, false]);
    taken.pop()?.();
    await written;
  }
  expect(listeners()).toEqual(before);
});

it('end with the connection, and refuse to write on', async () => {
  const before = listeners();
  const written = writePaced(connection, PIECE);
  connection.destroy();
  await written;
  await expect(writePaced(connection, PIECE)).rejects.toThrow('the connection is gone');
  expect(listeners()).toEqual(before);
});
