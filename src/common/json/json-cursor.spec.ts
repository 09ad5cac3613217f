/**
 * The pull cursor: walking, skipping, and that a failure sticks.
 */
import { encodeUtf8 } from '../utf8.js';
import { fieldName } from './body-refusal.js';
import { JsonCursor } from './json-cursor.js';
import { failureText, KIND_ARRAY, KIND_NONE, KIND_NUMBER, KIND_OBJECT } from './json-syntax.js';

const cursor = new JsonCursor();

describe('JsonCursor', () => {
  it('walks what it is asked to and skips the rest', () => {
    const body = encodeUtf8(' {"a":[1,[2]],"\\u0062":{"c":"x\\ty"},"d":"","e":{}} ');
    cursor.reset(body);
    const seen: string[] = [];
    expect(cursor.kind()).toBe(KIND_OBJECT);
    expect(cursor.enterArray()).toBe(false);
    expect(cursor.enterObject()).toBe(true);
    while (cursor.nextKey()) {
      const key = cursor.keyText();
      if (cursor.keyIs(fieldName('a'))) {
        expect(cursor.kind()).toBe(KIND_ARRAY);
        expect(cursor.enterArray()).toBe(true);
        while (cursor.nextElement()) {
          cursor.skip();
          seen.push(Buffer.from(body.subarray(cursor.valueStart, cursor.valueEnd)).toString());
        }
      } else if (cursor.keyIs(fieldName('b'))) {
        expect(cursor.enterObject()).toBe(true);
        while (cursor.nextKey()) seen.push(`${cursor.keyText()}=${cursor.readString()}`);
      } else if (cursor.keyIs(fieldName('d'))) {
        seen.push(`d=${cursor.readString()}`);
      } else {
        expect(cursor.readString()).toBeUndefined();
        cursor.skip();
        seen.push(key);
      }
    }
    expect(cursor.finish()).toBe(true);
    expect(cursor.failure).toBe(0);
    expect(seen).toEqual(['1', '[2]', 'c=x\ty', 'd=', 'e']);
    cursor.release();
  });

  it('stops for good at a failure', () => {
    cursor.reset(encodeUtf8('[1 2]'));
    cursor.enterArray();
    cursor.nextElement();
    expect(cursor.kind()).toBe(KIND_NUMBER);
    cursor.skip();
    expect(cursor.nextElement()).toBe(false);
    expect(failureText(cursor.failure)).toBe('invalid JSON at byte 3: unexpected byte');
    expect([cursor.skip(), cursor.enterArray(), cursor.nextKey(), cursor.finish()]).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect([cursor.kind(), cursor.readString()]).toEqual([KIND_NONE, undefined]);
  });

  it('compares long escaped keys without harm', () => {
    cursor.reset(encodeUtf8(`{"${'\\u0061'.repeat(200)}":1,"${'\\u0061'.repeat(3)}":2}`));
    cursor.enterObject();
    cursor.nextKey();
    expect(cursor.keyIs(fieldName('aaa'))).toBe(false);
    cursor.skip();
    cursor.nextKey();
    expect(cursor.keyIs(fieldName('aaa'))).toBe(true);
    expect(cursor.keyIs(fieldName('aab'))).toBe(false);
    expect(cursor.keyIs(fieldName('aaaa'))).toBe(false);
  });
});
