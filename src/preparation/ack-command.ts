/**
 * Planned targets → the ack command: completed offsets as ascending ranges, signals one by one with a
 * minted dead-letter id each. Targets without a resolved item are left out.
 */
import { offset, partitionId } from '../common/ids.js';
import type { AckCommand, AckSignal, AckTarget } from '../machine/commands/catalogue.js';
import { AckStatus } from '../machine/commands/catalogue.js';
import type { AckItems, PlannedTarget } from './ack-plan.js';
import { isResolved, isSignal } from './ack-plan.js';

export interface AckMinting {
  readonly group: string;
  readonly skewMicros: number;
  readonly mintId: () => Uint8Array;
}

export interface BuiltAck {
  readonly command: AckCommand;
  /** Planned target of each command target. */
  readonly planned: PlannedTarget[];
}

export function buildAck(
  items: AckItems,
  targets: readonly PlannedTarget[],
  minting: AckMinting,
): BuiltAck {
  const built: AckTarget[] = [];
  const planned: PlannedTarget[] = [];
  for (const target of targets) {
    const ready = buildTarget(items, target, minting);
    if (ready === null) continue;
    built.push(ready);
    planned.push(target);
  }
  return {
    command: { group: minting.group, skewMicros: minting.skewMicros, targets: built },
    planned,
  };
}

function buildTarget(
  items: AckItems,
  target: PlannedTarget,
  minting: AckMinting,
): AckTarget | null {
  const completed: number[] = [];
  const signals: AckSignal[] = [];
  let fallbackError: string | null = null;
  target.items.forEach((item, i) => {
    const status = items.statuses[item] ?? AckStatus.Completed;
    if (isSignal(status)) fallbackError ??= items.error(item);
    if (!isResolved(target, i)) return;
    const at = target.offsets[i] ?? 0;
    if (!isSignal(status)) completed.push(at);
    else {
      signals.push({
        offset: offset(at),
        baseOffset: offset(target.bases[i] ?? at),
        status: status,
        error: items.error(item),
        deadLetterId: minting.mintId(),
      });
    }
  });
  if (completed.length === 0 && signals.length === 0) return null;
  return {
    partitionId: partitionId(target.partitionId),
    leaseId: target.leaseId,
    completed: toRanges(completed),
    signals,
    fallbackError,
  };
}

/** Ascending, disjoint, inclusive [first, last, …] of offsets in any order, repeats allowed. */
export function toRanges(offsets: readonly number[]): number[] {
  const sorted = isAscending(offsets) ? offsets : [...offsets].sort((a, b) => a - b);
  const ranges: number[] = [];
  for (const at of sorted) {
    const last = ranges[ranges.length - 1];
    if (last !== undefined && at <= last + 1) ranges[ranges.length - 1] = Math.max(last, at);
    else ranges.push(at, at);
  }
  return ranges;
}

function isAscending(offsets: readonly number[]): boolean {
  for (let i = 1; i < offsets.length; i += 1) {
    if ((offsets[i] ?? 0) < (offsets[i - 1] ?? 0)) return false;
  }
  return true;
}
