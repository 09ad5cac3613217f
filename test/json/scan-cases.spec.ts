/**
 * The table of JSON texts against the scanner, alone and as a payload inside a push body.
 */
import { skipValue } from '../../src/common/json/json-scan.js';
import { JsonCursor } from '../../src/common/json/json-cursor.js';
import { decodeString } from '../../src/common/json/json-text.js';
import {
  failureCode,
  failurePosition,
  failureText,
  INVALID_UTF8,
  TOO_DEEP,
} from '../../src/common/json/json-syntax.js';
import { PushScan } from '../../src/common/json/push-scan.js';
import { PushScanner } from '../../src/common/json/push-scanner.js';
import { JSON_CASES } from './cases.js';

const cursor = new JsonCursor();

/** 0 when the bytes are one JSON text, else the failure. */
function failureOf(bytes: Uint8Array): number {
  cursor.reset(bytes);
  cursor.skip();
  cursor.finish();
  return cursor.failure;
}

function withFiller(bytes: Uint8Array, before: string, after: string): Uint8Array {
  return Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
}

describe('the table of JSON texts', () => {
  it('is large and says each thing once', () => {
    expect(JSON_CASES.length).toBeGreaterThan(220);
    expect(new Set(JSON_CASES.map((one) => one.name)).size).toBe(JSON_CASES.length);
  });

  it.each(JSON_CASES.map((one) => [one.verdict, one.name, one.bytes] as const))(
    '%s %s',
    (verdict, _name, bytes) => {
      const failure = failureOf(bytes);
      const isAccepted = verdict === 'y' || verdict === 'i+';
      expect(failure === 0 ? 'accepted' : failureText(failure)).toEqual(
        isAccepted ? 'accepted' : expect.stringContaining('invalid JSON at byte'),
      );
      expect(failurePosition(failure)).toBeLessThanOrEqual(bytes.length);
    },
  );

  it.each(JSON_CASES.filter((one) => one.verdict !== 'i-').map((one) => [one.name, one] as const))(
    'agrees with JSON.parse on: %s',
    (_name, one) => {
      let parsed = true;
      try {
        JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(one.bytes));
      } catch {
        parsed = false;
      }
      expect(failureOf(one.bytes) === 0).toBe(parsed);
    },
  );

  it('judges every text the same as a payload inside a push body, and never reads past the end', () => {
    const scanner = new PushScanner();
    const scan = new PushScan();
    for (const one of JSON_CASES) {
      const body = withFiller(one.bytes, '{"items":[{"queue":"q","payload":', '}]}');
      const accepted = scanner.scanBody(body, scan) === undefined;
      expect([one.name, accepted]).toEqual([one.name, one.verdict === 'y' || one.verdict === 'i+']);
      if (!accepted) continue;
      const payload = body.subarray(scan.payloadStarts[0], scan.payloadEnds[0]);
      expect(Buffer.from(payload).toString()).toBe(Buffer.from(one.bytes).toString().trim());
      const padded = withFiller(one.bytes, 'x', '"]}9');
      const end = 1 + one.bytes.length;
      expect(skipValue(padded, 1, end)).toBeLessThanOrEqual(end);
    }
  });

  it('names the reason', () => {
    const deep = new TextEncoder().encode('['.repeat(513));
    expect(failureCode(failureOf(deep))).toBe(TOO_DEEP);
    expect(failurePosition(failureOf(deep))).toBe(512);
    expect(failureCode(failureOf(Uint8Array.of(0x22, 0xff, 0x22)))).toBe(INVALID_UTF8);
    expect(failureText(failureOf(new Uint8Array(0)))).toBe(
      'invalid JSON at byte 0: unexpected end of the body',
    );
  });

  it('decodes every accepted string as JSON.parse does', () => {
    for (const one of JSON_CASES) {
      if (one.verdict !== 'y' && one.verdict !== 'i+') continue;
      const value: unknown = JSON.parse(
        new TextDecoder('utf-8', { ignoreBOM: true }).decode(one.bytes),
      );
      if (!Array.isArray(value) || typeof value[0] !== 'string' || value.length !== 1) continue;
      const at = one.bytes.indexOf(0x22);
      const end = one.bytes.lastIndexOf(0x22);
      expect(decodeString(one.bytes, at + 1, end)).toBe(value[0]);
    }
  });
});
