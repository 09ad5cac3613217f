/** The catalogue of what is measured. A case is data; rounds.ts runs it. */

export const JSON_BASELINE = 'fastify json';

export interface Sizes {
  readonly batch: number;
  readonly payloadBytes: number;
  readonly partitions: number;
}

export interface BenchCase extends Sizes {
  readonly kind: 'push' | 'pop' | 'mixed' | 'half-load';
  readonly name: string;
  readonly spread: boolean;
  readonly commitOnDelivery: boolean;
}

const BATCHES = [1, 10, 100];
const PAYLOADS = [100, 1024];
const PARTITIONS = [1, 100, 10_000];

export const sizeName = (bytes: number): string =>
  bytes >= 1024 ? `${bytes / 1024}KB` : `${bytes}B`;

export const scanName = ({ batch, payloadBytes }: Pick<Sizes, 'batch' | 'payloadBytes'>): string =>
  `scan b${batch} ${sizeName(payloadBytes)}`;

function benchCase(
  kind: BenchCase['kind'],
  sizes: Sizes,
  variant: { readonly spread?: boolean; readonly commitOnDelivery?: boolean } = {},
): BenchCase {
  const { spread = false, commitOnDelivery = false } = variant;
  const word = kind === 'pop' ? (commitOnDelivery ? 'pop-commit' : 'pop+ack') : kind;
  const name = `${word} b${sizes.batch} ${sizeName(sizes.payloadBytes)} p${sizes.partitions}`;
  return { kind, ...sizes, name: spread ? `${name} spread` : name, spread, commitOnDelivery };
}

function allSizes(): Sizes[] {
  return BATCHES.flatMap((batch) =>
    PAYLOADS.flatMap((payloadBytes) =>
      PARTITIONS.map((partitions) => ({ batch, payloadBytes, partitions })),
    ),
  );
}

const SMALL: Sizes = { batch: 1, payloadBytes: 100, partitions: 100 };
const LARGE: Sizes = { batch: 100, payloadBytes: 1024, partitions: 100 };

/** The cases whose ratios §10 bounds. */
export const BUDGET_CASES = {
  pushOne: benchCase('push', SMALL),
  pushHundred: benchCase('push', LARGE),
  popHundred: benchCase('pop', LARGE),
  halfLoad: benchCase('half-load', SMALL),
} as const;

export function allCases(): readonly BenchCase[] {
  const wide: Sizes = { batch: 100, payloadBytes: 1024, partitions: 10_000 };
  return [
    ...allSizes().map((sizes) => benchCase('push', sizes)),
    benchCase('push', wide, { spread: true }),
    BUDGET_CASES.halfLoad,
    ...allSizes().map((sizes) => benchCase('pop', sizes)),
    ...BATCHES.map((batch) => benchCase('pop', { ...LARGE, batch }, { commitOnDelivery: true })),
    benchCase('mixed', { batch: 10, payloadBytes: 1024, partitions: 100 }),
  ];
}

export const quickCases = (): readonly BenchCase[] => Object.values(BUDGET_CASES);

export const connectionsOf = ({ batch }: Pick<Sizes, 'batch'>): number => (batch === 1 ? 50 : 20);
