/**
 * Payload bytes of a timer on their way into a message. Compressed ones are unpacked here, bounded.
 * Messages are JSON wherever they are delivered, so bytes that are none travel as `{"_raw_b64":"…"}`.
 */
import { Decompress } from 'fzstd';
import { skipValue, skipWhitespace } from '../common/json/json-scan.js';
import { isValidUtf8 } from '../common/utf8.js';

class TooLong extends Error {}

/** 'bad': no zstd frame; 'too long': more than `maxBytes` come out. */
export function unpackZstd(packed: Uint8Array, maxBytes: number): Uint8Array | 'bad' | 'too long' {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  const stream = new Decompress((chunk, final) => {
    size += chunk.length;
    if (size > maxBytes) throw new TooLong();
    chunks.push(chunk.slice());
    if (final === true) ended = true;
  });
  try {
    stream.push(packed, true);
  } catch (error) {
    // Anything else it throws says that these bytes are no zstd frame.
    return error instanceof TooLong ? 'too long' : 'bad';
  }
  return ended && packed.length > 0 ? Buffer.concat(chunks) : 'bad';
}

/** The bytes as a message carries them. */
export function messagePayload(bytes: Uint8Array): Uint8Array {
  if (isJson(bytes)) return bytes;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
  return Buffer.from(`{"_raw_b64":"${text}"}`);
}

function isJson(bytes: Uint8Array): boolean {
  const { length } = bytes;
  if (!isValidUtf8(bytes, 0, length)) return false;
  const end = skipValue(bytes, skipWhitespace(bytes, 0, length), length);
  return end >= 0 && skipWhitespace(bytes, end, length) === length;
}
