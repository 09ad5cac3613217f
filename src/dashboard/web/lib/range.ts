/** The time range of a page. It lives in the URL, so that links and the way back keep it. */
import { computed, type ComputedRef } from 'vue';
import { useRoute, useRouter } from 'vue-router';

export const RANGES = ['1h', '6h', '24h', '7d'] as const;
export type RangeName = (typeof RANGES)[number];

const HOUR_MS = 3_600_000;
const SPANS: Readonly<Record<RangeName, number>> = {
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 168 * HOUR_MS,
};

export interface RangeState {
  readonly name: ComputedRef<RangeName | 'custom'>;
  /** Changes whenever another range is chosen, also from one custom range to the next. */
  readonly key: ComputedRef<string>;
  /** The interval now; asked for at every load, because it moves. */
  interval(): { from: string; to: string };
  choose(name: RangeName): void;
  custom(from: string, to: string): void;
}

export function useRange(fallback: RangeName = '1h'): RangeState {
  const route = useRoute();
  const router = useRouter();
  const text = (name: string): string | undefined => {
    const value = route.query[name];
    return typeof value === 'string' ? value : undefined;
  };
  const name = computed(() => {
    if (text('from') !== undefined && text('to') !== undefined) return 'custom' as const;
    return RANGES.find((one) => one === text('range')) ?? fallback;
  });
  const write = (query: Record<string, string | undefined>): void => {
    void router.replace({
      query: { ...route.query, range: undefined, from: undefined, to: undefined, ...query },
    });
  };
  return {
    name,
    key: computed(() => `${name.value} ${text('from') ?? ''} ${text('to') ?? ''}`),
    interval: () => {
      if (name.value === 'custom') return { from: text('from') ?? '', to: text('to') ?? '' };
      const now = Date.now();
      return {
        from: new Date(now - SPANS[name.value]).toISOString(),
        to: new Date(now).toISOString(),
      };
    },
    choose: (range) => write({ range }),
    custom: (from, to) => write({ from, to }),
  };
}
