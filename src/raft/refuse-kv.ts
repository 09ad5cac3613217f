/**
 * The test switch QUEEN_TEST_REFUSE_APPLY_KV=<namespace>/<key>: apply fails at entries that carry an
 * operation on this key, alike on every node that has the switch. It looks for the bytes that name the
 * key in a command, so it knows calls and transactions alike.
 */
import { BinaryWriter } from '../common/binary-writer.js';
import type { LogEntry } from './group/ports.js';

export function refuseKv(name: string): (entry: LogEntry) => void {
  const at = name.indexOf('/');
  if (at < 1) throw new Error('QUEEN_TEST_REFUSE_APPLY_KV needs <namespace>/<key>');
  const writer = new BinaryWriter();
  writer.string(name.slice(0, at));
  writer.string(name.slice(at + 1));
  const pattern = Buffer.from(writer.toBytes());
  return ({ parts }) => {
    if (
      !parts.some((part) =>
        Buffer.from(part.buffer, part.byteOffset, part.length).includes(pattern),
      )
    )
      return;
    throw new Error(`QUEEN_TEST_REFUSE_APPLY_KV: an entry writes ${name}`);
  };
}
