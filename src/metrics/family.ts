/**
 * A metric family as a row of a table: what it is called and how its value is read when somebody
 * scrapes. Nothing is counted here; components count, and expose plain numbers.
 */
import { Counter, Gauge, Summary, type Registry } from 'prom-client';
import { QuantileSummary } from '../common/quantile-summary.js';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface NumberFamily {
  readonly kind: 'gauge' | 'counter';
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** One number, or samples when the family has labels. Counters never go back. */
  read(): Read | Promise<Read>;
}

type Read = number | readonly Sample[];

export interface SummaryFamily {
  readonly kind: 'summary';
  readonly name: string;
  readonly help: string;
  /** What one unit of the summary's samples is in the unit of the family. */
  readonly unit: number;
  /** One summary, or several when the family has labels. */
  read(): QuantileSummary | readonly LabelledSummary[];
}

export interface LabelledSummary {
  readonly labels: Labels;
  readonly summary: QuantileSummary;
}

export type Family = NumberFamily | SummaryFamily;

export function registerFamily(registry: Registry, family: Family): void {
  if (family.kind === 'summary') new ReadSummary(registry, family);
  else registerNumber(registry, family);
}

function registerNumber(
  registry: Registry,
  { kind, name, help, labels, read }: NumberFamily,
): void {
  const options = { name, help, labelNames: [...(labels ?? [])], registers: [registry] };
  if (kind === 'gauge') {
    new Gauge({
      ...options,
      async collect() {
        const samples = samplesOf(await read());
        this.reset();
        // A gauge without labels would show 0 for a number nobody has.
        if (samples.length === 0 && labels === undefined) this.remove();
        for (const sample of samples) this.set({ ...sample.labels }, sample.value);
      },
    });
    return;
  }
  new Counter({
    ...options,
    async collect() {
      const samples = samplesOf(await read());
      this.reset();
      for (const sample of samples) this.inc({ ...sample.labels }, sample.value);
    },
  });
}

function samplesOf(read: Read): readonly Sample[] {
  return typeof read === 'number' ? [{ labels: {}, value: read }] : read;
}

const QUANTILES = [0.5, 0.9, 0.99, 0.999];

/** A summary whose samples were observed by a component. */
class ReadSummary extends Summary {
  constructor(
    registry: Registry,
    private readonly family: SummaryFamily,
  ) {
    super({ name: family.name, help: family.help, registers: [registry] });
  }

  override get(): ReturnType<Summary['get']> {
    const { name, help, unit, read } = this.family;
    const nowMs = performance.now();
    const found = read();
    const all = found instanceof QuantileSummary ? [{ labels: {}, summary: found }] : found;
    const values = all.flatMap(({ labels, summary }) => [
      ...QUANTILES.map((quantile) => ({
        labels: { ...labels, quantile },
        value: summary.quantile(quantile, nowMs) * unit,
      })),
      { metricName: `${name}_sum`, labels: { ...labels }, value: summary.sum * unit },
      { metricName: `${name}_count`, labels: { ...labels }, value: summary.count },
    ]);
    return Promise.resolve({
      ...{ name, help, values },
      ...{ type: 'summary', aggregator: 'sum' },
    }) as unknown as ReturnType<Summary['get']>;
  }
}
