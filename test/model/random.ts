/** Seeded choices for generated sequences (mulberry32); the same seed gives the same sequence for ever. */
export class Choices {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  float(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  /** Integer in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.float() * bound);
  }

  chance(probability: number): boolean {
    return this.float() < probability;
  }

  one<T>(values: readonly T[]): T {
    if (values.length === 0) throw new Error('nothing to choose from');
    return values[this.below(values.length)] as T;
  }

  /** A key by its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let at = this.float() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      at -= weight;
      if (at < 0) return key;
    }
    return this.one(entries)[0];
  }

  list<T>(count: number, make: (index: number) => T): T[] {
    return Array.from({ length: count }, (_, i) => make(i));
  }
}
