/**
 * XXH3, 64 bits, seeded (Collet; specification at github.com/Cyan4973/xxHash, doc/xxhash_spec.md). In
 * BigInt, so for short keys and rare calls: a few microseconds for a hundred bytes. Checked against
 * vectors of the reference implementation in the spec beside this file.
 */

const M64 = (1n << 64n) - 1n;
const P32_1 = 0x9e3779b1n;
const P32_2 = 0x85ebca77n;
const P32_3 = 0xc2b2ae3dn;
const P64_1 = 0x9e3779b185ebca87n;
const P64_2 = 0xc2b2ae3d27d4eb4fn;
const P64_3 = 0x165667b19e3779f9n;
const P64_4 = 0x85ebca77c2b2ae63n;
const P64_5 = 0x27d4eb2f165667c5n;
const MX1 = 0x165667919e3779f9n;
const MX2 = 0x9fb21c651e98df25n;

const STRIPE_BYTES = 64;
const SECRET_STEP = 8;

/** The default secret of the algorithm, 192 bytes. */
const SECRET = Uint8Array.from(
  [
    'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f',
    'cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c',
    '3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8',
    'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364',
    'eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e',
    '2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e',
  ]
    .join('')
    .match(/../g) ?? [],
  (hex) => Number.parseInt(hex, 16),
);

function u32(bytes: Uint8Array, at: number): bigint {
  return BigInt(
    ((bytes[at] ?? 0) |
      ((bytes[at + 1] ?? 0) << 8) |
      ((bytes[at + 2] ?? 0) << 16) |
      ((bytes[at + 3] ?? 0) << 24)) >>>
      0,
  );
}

function u64(bytes: Uint8Array, at: number): bigint {
  return u32(bytes, at) | (u32(bytes, at + 4) << 32n);
}

function swap32(value: bigint): bigint {
  return (
    ((value & 0xffn) << 24n) |
    ((value & 0xff00n) << 8n) |
    ((value >> 8n) & 0xff00n) |
    ((value >> 24n) & 0xffn)
  );
}

function swap64(value: bigint): bigint {
  return (swap32(value & 0xffff_ffffn) << 32n) | swap32(value >> 32n);
}

function rotate(value: bigint, by: bigint): bigint {
  return ((value << by) | (value >> (64n - by))) & M64;
}

/** Both halves of the 128-bit product, folded together. */
function mulFold(a: bigint, b: bigint): bigint {
  const product = a * b;
  return (product & M64) ^ (product >> 64n);
}

function avalanche(hash: bigint): bigint {
  let h = hash ^ (hash >> 37n);
  h = (h * MX1) & M64;
  return h ^ (h >> 32n);
}

function avalanche64(hash: bigint): bigint {
  let h = hash ^ (hash >> 33n);
  h = (h * P64_2) & M64;
  h ^= h >> 29n;
  h = (h * P64_3) & M64;
  return h ^ (h >> 32n);
}

function upTo16(bytes: Uint8Array, seed: bigint): bigint {
  const { length } = bytes;
  const size = BigInt(length);
  if (length > 8) {
    const low = u64(bytes, 0) ^ (((u64(SECRET, 24) ^ u64(SECRET, 32)) + seed) & M64);
    const high = u64(bytes, length - 8) ^ (((u64(SECRET, 40) ^ u64(SECRET, 48)) - seed) & M64);
    return avalanche((size + swap64(low) + high + mulFold(low, high)) & M64);
  }
  if (length >= 4) {
    const seeded = seed ^ (swap32(seed & 0xffff_ffffn) << 32n);
    const joined = u32(bytes, length - 4) | (u32(bytes, 0) << 32n);
    let h = joined ^ (((u64(SECRET, 8) ^ u64(SECRET, 16)) - seeded) & M64);
    h ^= rotate(h, 49n) ^ rotate(h, 24n);
    h = (h * MX2) & M64;
    h ^= ((h >> 35n) + size) & M64;
    h = (h * MX2) & M64;
    return h ^ (h >> 28n);
  }
  if (length > 0) {
    const middle = bytes[length >> 1] ?? 0;
    const joined =
      (((bytes[0] ?? 0) << 16) | (middle << 24) | (bytes[length - 1] ?? 0) | (length << 8)) >>> 0;
    return avalanche64(BigInt(joined) ^ (((u32(SECRET, 0) ^ u32(SECRET, 4)) + seed) & M64));
  }
  return avalanche64(seed ^ u64(SECRET, 56) ^ u64(SECRET, 64));
}

function mix16(bytes: Uint8Array, at: number, secretAt: number, seed: bigint): bigint {
  return mulFold(
    u64(bytes, at) ^ ((u64(SECRET, secretAt) + seed) & M64),
    u64(bytes, at + 8) ^ ((u64(SECRET, secretAt + 8) - seed) & M64),
  );
}

function upTo128(bytes: Uint8Array, seed: bigint): bigint {
  const { length } = bytes;
  let hash = BigInt(length) * P64_1;
  for (let i = (length - 1) >> 5; i >= 0; i -= 1) {
    hash += mix16(bytes, i * 16, i * 32, seed);
    hash += mix16(bytes, length - 16 * (i + 1), i * 32 + 16, seed);
  }
  return avalanche(hash & M64);
}

function upTo240(bytes: Uint8Array, seed: bigint): bigint {
  const { length } = bytes;
  let hash = BigInt(length) * P64_1;
  for (let i = 0; i < 8; i += 1) hash += mix16(bytes, 16 * i, 16 * i, seed);
  hash = avalanche(hash & M64);
  for (let i = 8; i < length >> 4; i += 1) hash += mix16(bytes, 16 * i, 16 * (i - 8) + 3, seed);
  hash += mix16(bytes, length - 16, 136 - 17, seed);
  return avalanche(hash & M64);
}

function seededSecret(seed: bigint): Uint8Array {
  const secret = new Uint8Array(SECRET.length);
  const view = new DataView(secret.buffer);
  for (let at = 0; at < secret.length; at += 16) {
    view.setBigUint64(at, (u64(SECRET, at) + seed) & M64, true);
    view.setBigUint64(at + 8, (u64(SECRET, at + 8) - seed) & M64, true);
  }
  return secret;
}

function accumulate(lanes: bigint[], bytes: Uint8Array, at: number, secret: Uint8Array): void {
  for (let lane = 0; lane < 8; lane += 1) {
    const value = u64(bytes, at + 8 * lane);
    const keyed = value ^ u64(secret, 8 * lane);
    lanes[lane ^ 1] = ((lanes[lane ^ 1] ?? 0n) + value) & M64;
    lanes[lane] = ((lanes[lane] ?? 0n) + (keyed & 0xffff_ffffn) * (keyed >> 32n)) & M64;
  }
}

function scramble(lanes: bigint[], secret: Uint8Array): void {
  for (let lane = 0; lane < 8; lane += 1) {
    const value = lanes[lane] ?? 0n;
    lanes[lane] = ((value ^ (value >> 47n) ^ u64(secret, 8 * lane)) * P32_1) & M64;
  }
}

function long(bytes: Uint8Array, seed: bigint): bigint {
  const secret = seed === 0n ? SECRET : seededSecret(seed);
  const lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1];
  const { length } = bytes;
  const stripes = Math.floor((secret.length - STRIPE_BYTES) / SECRET_STEP);
  const block = STRIPE_BYTES * stripes;
  const blocks = Math.floor((length - 1) / block);
  for (let i = 0; i < blocks; i += 1) {
    for (let j = 0; j < stripes; j += 1) {
      const at = i * block + j * STRIPE_BYTES;
      accumulate(lanes, bytes, at, secret.subarray(j * SECRET_STEP));
    }
    scramble(lanes, secret.subarray(secret.length - STRIPE_BYTES));
  }
  const rest = Math.floor((length - 1 - block * blocks) / STRIPE_BYTES);
  for (let j = 0; j < rest; j += 1) {
    const at = blocks * block + j * STRIPE_BYTES;
    accumulate(lanes, bytes, at, secret.subarray(j * SECRET_STEP));
  }
  const last = secret.subarray(secret.length - STRIPE_BYTES - 7);
  accumulate(lanes, bytes, length - STRIPE_BYTES, last);
  let hash = BigInt(length) * P64_1;
  for (let i = 0; i < 4; i += 1) {
    const a = (lanes[2 * i] ?? 0n) ^ u64(secret, 11 + 16 * i);
    hash += mulFold(a, (lanes[2 * i + 1] ?? 0n) ^ u64(secret, 11 + 16 * i + 8));
  }
  return avalanche(hash & M64);
}

/** The hash of all of `bytes`. */
export function xxh3(bytes: Uint8Array, seed = 0n): bigint {
  if (bytes.length <= 16) return upTo16(bytes, seed);
  if (bytes.length <= 128) return upTo128(bytes, seed);
  return bytes.length <= 240 ? upTo240(bytes, seed) : long(bytes, seed);
}
