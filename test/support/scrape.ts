/** One scrape of a broker's Prometheus page, read strictly. */
import type { TestBroker } from './broker.js';
import { readExposition, type ReadFamily } from './exposition.js';

/** A busy machine may take long until a figure moves. */
const WITHIN_MS = 30_000;

export class Scrape {
  constructor(readonly families: Map<string, ReadFamily>) {}

  static async of(broker: TestBroker): Promise<Scrape> {
    const { status, headers, text } = await broker.get('/metrics/prometheus');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    return new Scrape(readExposition(text));
  }

  /** All samples of a family as one text, to tell whether anything moved. */
  shown(family: string): string {
    return JSON.stringify([...(this.families.get(family)?.samples ?? [])]);
  }

  /** Value of a sample by its full name; 0 when it is not there. */
  value(sample: string): number {
    for (const { samples } of this.families.values()) {
      const value = samples.get(sample);
      if (value !== undefined) return value;
    }
    return 0;
  }
}

export async function untilScrape(
  broker: TestBroker,
  holds: (scrape: Scrape) => boolean,
): Promise<void> {
  const deadline = Date.now() + WITHIN_MS;
  while (!holds(await Scrape.of(broker))) {
    if (Date.now() > deadline) throw new Error('the metric did not move in time');
  }
}
