/**
 * Sequences a session was seen using: everything below the floor, and a ring of bits above it. Bits of
 * sequences below the floor are always clear, so the state is the same on every node.
 *
 *   … seen seen | floor                          floor + 65535 |  cannot be noted
 *               └── bit (sequence mod 65536) of the ring ───────┘
 */

import { invariant } from '../../common/invariant.js';

/** Sequences a session may have awaited at once; its node stops submitting there. */
export const SESSION_WINDOW = 65_536;

export class SeenWindow {
  private readonly ring = new Uint8Array(SESSION_WINDOW / 8);
  private lowest = 0;

  /** Lowest sequence not known to be settled. */
  get floor(): number {
    return this.lowest;
  }

  isSeen(sequence: number): boolean {
    if (sequence < this.lowest) return true;
    if (sequence >= this.lowest + SESSION_WINDOW) return false;
    const bit = sequence % SESSION_WINDOW;
    return (this.ring[bit >>> 3]! & (1 << (bit & 7))) !== 0;
  }

  /** The sequence must lie in the window. */
  note(sequence: number): void {
    const inside = sequence >= this.lowest && sequence < this.lowest + SESSION_WINDOW;
    invariant(inside, 'sequence outside the window', () => ({ sequence, floor: this.lowest }));
    const bit = sequence % SESSION_WINDOW;
    this.ring[bit >>> 3]! |= 1 << (bit & 7);
  }

  raiseFloor(floor: number): void {
    if (floor <= this.lowest) return;
    if (floor - this.lowest >= SESSION_WINDOW) {
      this.ring.fill(0);
      this.lowest = floor;
      return;
    }
    let sequence = this.lowest;
    while (sequence < floor) {
      const bit = sequence % SESSION_WINDOW;
      if ((bit & 7) === 0 && floor - sequence >= 8) {
        this.ring[bit >>> 3] = 0;
        sequence += 8;
      } else {
        this.ring[bit >>> 3]! &= ~(1 << (bit & 7));
        sequence += 1;
      }
    }
    this.lowest = floor;
  }

  /** Bits from the floor on, lowest first, without the zero bytes at the end. */
  toBits(): Uint8Array {
    const bits = new Uint8Array(SESSION_WINDOW / 8);
    const first = this.lowest % SESSION_WINDOW;
    const shift = first & 7;
    let used = 0;
    for (let i = 0; i < bits.length; i++) {
      const at = (first >>> 3) + i;
      const low = this.ring[at % bits.length]! >>> shift;
      const byte = (low | (this.ring[(at + 1) % bits.length]! << (8 - shift))) & 0xff;
      bits[i] = byte;
      if (byte !== 0) used = i + 1;
    }
    return bits.subarray(0, used);
  }

  /** The window that `toBits` described. */
  static fromBits(floor: number, bits: Uint8Array): SeenWindow {
    const window = new SeenWindow();
    window.lowest = floor;
    for (let i = 0; i < bits.length * 8; i++) {
      if ((bits[i >>> 3]! & (1 << (i & 7))) !== 0) window.note(floor + i);
    }
    return window;
  }
}
