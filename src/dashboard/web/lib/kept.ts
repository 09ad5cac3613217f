/**
 * Filters of a page, kept while this tab lives. What the address says wins: a link shows what it was
 * made for, and nothing of an earlier visit.
 */
import { reactive, watch } from 'vue';
import { useRoute, type LocationQuery } from 'vue-router';

type Value = string | number | boolean;

/** Starts the filters as they were left; every change is kept. */
export function useKept<T extends Record<string, Value>>(page: string, fallback: T): T {
  const route = useRoute();
  const linked = linkedTo(route.query, fallback);
  const start = Object.keys(linked).length > 0 ? linked : read(page);
  const known = Object.entries(fallback).map(([name, value]) => {
    const kept = start[name];
    return [name, typeof kept === typeof value ? kept : value] as const;
  });
  const filters = reactive(Object.fromEntries(known)) as T;
  watch(filters, () => sessionStorage.setItem(keyOf(page), JSON.stringify(filters)));
  // A link to the page that is shown already.
  watch(
    () => route.query,
    (query) => Object.assign(filters, linkedTo(query, fallback)),
  );
  return filters;
}

/** Filters of the page that the address names; texts only. */
function linkedTo(query: LocationQuery, fallback: Record<string, Value>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).filter(
      ([name, value]) => typeof fallback[name] === 'string' && typeof value === 'string',
    ),
  );
}

const keyOf = (page: string): string => `queen.filters.${page}`;

function read(page: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(keyOf(page)) ?? '{}');
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    // Not what was written here: the page starts without filters.
    return {};
  }
}
