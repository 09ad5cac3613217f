/** The check before the log of timer operations, alone or as a section of a transaction. */
import { BinaryReader, DecodeError } from '../../common/binary-reader.js';
import { checkPushBody } from './push-view.js';
import { decodeTimers } from './timers.js';

/** A timer's message is one push to the timer's own queue. Throws DecodeError. */
export function checkTimerOps(bytes: Uint8Array, start: number, end: number): void {
  for (const op of decodeTimers(new BinaryReader(bytes, start, end))) {
    if (op.op !== 'schedule') continue;
    const { groups, messages, queue } = checkPushBody(bytes, op.bodyStart, op.bodyEnd);
    if (groups !== 1 || messages !== 1 || queue !== op.queue) {
      throw new DecodeError('a timer brings one message to its queue', op.bodyStart);
    }
  }
}
