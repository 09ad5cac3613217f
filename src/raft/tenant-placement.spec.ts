/** Where tenants live: by pin, else by hash; the same on every node and in every build. */
import { parseUuid } from '../common/uuid-v7.js';
import { encodeUtf8 } from '../common/utf8.js';
import { xxh3 } from '../common/xxh3.js';
import { TenantPlacement } from './tenant-placement.js';

const DEFAULT = '00000000-0000-0000-0000-000000000001';

function uuid(text: string): Uint8Array {
  const bytes = parseUuid(text);
  if (bytes === undefined) throw new Error(`no uuid: ${text}`);
  return bytes;
}

it('is the hash of the text of the id, modulo the number of groups', () => {
  for (const groups of [2, 3, 64]) {
    const placement = new TenantPlacement(groups);
    for (let n = 0; n < 200; n += 1) {
      const text = `0199c0de-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
      const wanted = Number(xxh3(encodeUtf8(text)) % BigInt(groups));
      expect(placement.of(uuid(text))).toBe(wanted);
      expect(placement.of(uuid(text.toUpperCase()))).toBe(wanted);
    }
  }
});

it.each([
  // Its hash is 5297680538824561957; written down, for no build may ever place it elsewhere.
  [1, 0],
  [2, 1],
  [3, 1],
  [10, 7],
])('puts the default tenant of %d groups into group %d', (groups, group) => {
  expect(new TenantPlacement(groups).of(uuid(DEFAULT))).toBe(group);
});

it('goes by the pin first, however it is written', () => {
  const tenant = 'ABCDEF00-0000-4000-8000-000000000001';
  for (const group of [0, 1, 2]) {
    const placement = new TenantPlacement(3, [{ tenant, group }]);
    expect(placement.of(uuid(tenant.toLowerCase()))).toBe(group);
  }
});

it('remembers a bounded number of tenants', () => {
  const placement = new TenantPlacement(3);
  const tenant = new Uint8Array(16);
  const view = new DataView(tenant.buffer);
  const seen = new Set<number>();
  for (let n = 0; n < 25_000; n += 1) {
    view.setUint32(0, n);
    seen.add(placement.of(tenant));
  }
  expect([...seen].sort()).toEqual([0, 1, 2]);
});
