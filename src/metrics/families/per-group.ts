/**
 * Samples of several raft groups: each group's own, under the leading label `group` (cluster.md §5); with
 * one group there is no such label.
 */
import type { QuantileSummary } from '../../common/quantile-summary.js';
import type { Group, Groups } from '../../raft/index.js';
import type { LabelledSummary, Labels, Sample } from '../family.js';

export type Figures = ReturnType<Groups['figures']>[number];

/** Samples of every group; what no figures are known of has none. */
export function perGroup(
  groups: Groups,
  of: (group: Group, figures: Figures) => readonly Sample[],
): readonly Sample[] {
  const figures = groups.figures();
  const all = groups.all();
  return all.flatMap((group, id) => {
    const own = figures[id];
    if (own === undefined) return [];
    const named: Labels = all.length > 1 ? { group: String(id) } : {};
    return of(group, own).map(({ labels, value }) => ({ labels: { ...named, ...labels }, value }));
  });
}

/** One summary of every group. */
export function summaries(
  groups: Groups,
  of: (figures: Figures) => QuantileSummary,
): readonly LabelledSummary[] {
  const isOne = groups.all().length === 1;
  return groups.figures().map((figures, id) => ({
    labels: isOne ? {} : { group: String(id) },
    summary: of(figures),
  }));
}

export function samples(
  label: string,
  values: Readonly<Record<string, number>>,
): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

export function single(value: number): readonly Sample[] {
  return [{ labels: {}, value }];
}
