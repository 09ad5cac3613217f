/**
 * Planted bugs of retention and of the collector of log segments, each with the spec that must fail
 * when it is in. Runner: run-specs.mjs. A rewrite that is not synced before the old file goes is among
 * the mutants of the durability suites, which find every sync by themselves.
 */
import type { Mutant } from './mutant.js';

const COLLECTOR = 'src/raft/group/collector/collector.spec';
const EXPORT = 'src/raft/snapshot/export.spec';
const RETENTION = 'src/machine/apply/retention.spec';
const SWEEPER = 'src/coordinators/retention/retention-sweeper.spec';
const RETIRED = 'src/raft/wal/retired.spec';

/** Files are below src/. */
export const COLLECTOR_MUTANTS: readonly Mutant[] = [
  {
    name: 'a segment that a dead letter pins is freed',
    file: 'raft/group/collector/collector.ts',
    find: 'liveBytes + (pinned.get(segment.sequence) ?? 0);',
    replace: 'liveBytes + 0 * (pinned.get(segment.sequence) ?? 0);',
    killedBy: [COLLECTOR],
  },
  {
    name: 'a rewrite drops what dead letters pin',
    file: 'raft/group/collector/entry-judge.ts',
    find: 'if (ranges === undefined) return false;',
    replace: 'if (ranges === undefined || ranges.length > 0) return false;',
    killedBy: [COLLECTOR],
  },
  {
    name: 'freed before the judged state is durable',
    file: 'raft/group/collector/collector.ts',
    find: 'while (store.durableIndex < judgedAt) {',
    replace: 'while (store.durableIndex < 0 * judgedAt) {',
    killedBy: [COLLECTOR],
  },
  {
    name: 'the hold of reads and snapshots under way is ignored',
    file: 'raft/group/collector/collector.ts',
    find: '    await pins.settled();\n',
    replace: '    void pins.settled();\n',
    killedBy: [COLLECTOR],
  },
  {
    name: 'a snapshot does not hold the collector',
    file: 'raft/snapshot/export.ts',
    find: '  const pin = source.pins.enter();\n',
    replace: '  const pin = source.pins.enter();\n  source.pins.leave(pin);\n',
    killedBy: [EXPORT],
  },
  {
    name: 'the oldest entry of a partition decides about its segment',
    file: 'raft/group/collector/segment-summary.ts',
    find: '      this.newest[slot] = this.index;\n',
    replace: '',
    killedBy: [COLLECTOR],
  },
  {
    name: 'a rewrite drops the first live entry of a log',
    file: 'raft/group/collector/entry-judge.ts',
    find: 'from <= this.index',
    replace: 'from < this.index',
    killedBy: [COLLECTOR],
  },
  {
    name: 'damage met by the collector is passed over',
    file: 'raft/group/collector/collector.ts',
    find: 'if (isDamage(error)) return this.parts.damaged(error);',
    replace: '',
    killedBy: [COLLECTOR],
  },
  {
    name: 'the node serves on after damage met by the collector',
    file: 'raft/group/state-side.ts',
    find: '              damaged: (error) => this.logDamaged(error),\n',
    replace: '              damaged: () => undefined,\n',
    killedBy: [COLLECTOR],
  },
  {
    name: 'what dead letters pinned stays when they are gone',
    file: 'raft/group/collector/collector.ts',
    find: 'this.options.lookAgainMs ?? LOOK_AGAIN_MS',
    replace: 'this.options.lookAgainMs ?? LOOK_AGAIN_MS * Infinity',
    killedBy: [COLLECTOR],
  },
  {
    name: 'what a rewrite keeps moves inside its entry',
    file: 'common/blank-bytes.ts',
    find: 'blanked.set(bytes.subarray(start, start + length), start);',
    replace: 'blanked.set(bytes.subarray(start, start + length), 0);',
    killedBy: [RETIRED, COLLECTOR],
  },
  {
    name: 'the old revision of a rewritten segment counts',
    file: 'raft/wal/wal.ts',
    find: 'const revised = { ...segment, row };',
    replace: 'const revised = { ...segment, row: { ...row, revision: segment.row.revision } };',
    killedBy: [RETIRED],
  },
  {
    name: 'the hold of a sink is ignored by the machine',
    file: 'machine/apply/retention.ts',
    find: 'return trim.next <= trim.unheldBelow || sinkSettled(context, partition) >= trim.next - 1;',
    replace: 'return trim.next >= 0 || sinkSettled(context, partition) >= trim.next - 1;',
    killedBy: [RETENTION],
  },
  {
    name: 'the hold of a sink is ignored by the sweeper',
    file: 'coordinators/retention/trim-plan.ts',
    find: 'if (sink === null || createdAt < sink.unheldBelow) return true;',
    replace: 'if (sink === null || createdAt < Infinity) return true;',
    killedBy: [SWEEPER],
  },
];
