/**
 * Cuts a push request into commands that fit an entry. A chunk is, per append group, the number of its
 * outcome in that chunk's command, or -1. A group that is too large alone is in no chunk: its items
 * answer `error`.
 */
import { LEFT_OUT } from '../machine/commands/push-batch.js';
import { pushGroupBytes, type PushGroupSize } from '../machine/commands/push-batch-encoder.js';

export function planChunks(sizes: readonly PushGroupSize[], maxBytes: number): Int32Array[] {
  const chunks: Int32Array[] = [];
  let current: Int32Array | null = null;
  let members = 0;
  let used = 0;
  sizes.forEach((size, number) => {
    if (size.messages === 0) return;
    const bytes = pushGroupBytes(size);
    if (bytes > maxBytes) return;
    if (current === null || used + bytes > maxBytes) {
      current = new Int32Array(sizes.length).fill(LEFT_OUT);
      chunks.push(current);
      members = 0;
      used = 0;
    }
    current[number] = members;
    members += 1;
    used += bytes;
  });
  return chunks;
}
