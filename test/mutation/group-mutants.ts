/**
 * Planted bugs of the cluster driver (src/raft/group and what it stands on), each with the spec that
 * must fail when it is in. A surviving mutant is a missing test. Runner: run-specs.mjs.
 */
import type { Mutant } from './mutant.js';

const PARTS = 'src/raft/group/cluster/parts.spec';
const STABLE_LOG = 'src/raft/group/cluster/stable-log.spec';
const SHARED = 'src/raft/group/parts.spec';
const CLUSTER = 'src/raft/group/cluster/cluster-group.spec';
const LEASES = 'src/machine/apply/claim.spec';
const TRANSACTIONS = 'src/machine/apply/transaction.spec';

/** Files are below src/. */
export const GROUP_MUTANTS: readonly Mutant[] = [
  {
    name: 'acknowledging before fsync',
    file: 'raft/group/cluster/raft-loop.ts',
    find: 'if (!hold) for (const message of ready.messages) this.hooks.send(message);',
    replace:
      'if (!hold) for (const m of [...ready.messages, ...ready.messagesAfterPersist]) this.hooks.send(m);',
    killedBy: [PARTS],
  },
  {
    name: 'durable before the log says so',
    file: 'raft/group/cluster/durable-log.ts',
    find: '    await written;\n',
    replace: '    void written;\n',
    killedBy: [PARTS],
  },
  {
    name: 'vote requests before the own vote is durable (D1)',
    file: 'raft/group/cluster/raft-loop.ts',
    find: 'const hold = this.holding > 0;',
    replace: 'const hold = this.holding < 0;',
    killedBy: [PARTS],
  },
  {
    name: 'reading without a quorum round',
    file: 'raft/group/cluster/cluster-wiring.ts',
    find: 'preVote: true,',
    replace: "preVote: true, readMode: 'lease',",
    killedBy: [CLUSTER],
  },
  {
    name: 'a late answer of an older read round counts',
    file: 'raft/group/cluster/read-rounds.ts',
    find: 'if (!this.isRunning || state.context !== this.context) return;',
    replace: 'if (!this.isRunning) return;',
    killedBy: [PARTS],
  },
  {
    name: 'answering without the session',
    file: 'raft/group/intake.ts',
    find: 'else if (session === this.session) {',
    replace: 'else {',
    killedBy: [SHARED, PARTS],
  },
  {
    name: 'dropping the tail on restart',
    file: 'raft/group/cluster/stable-log.ts',
    find: '    return this.wal.lastIndex;\n',
    replace: '    return this.wal.hardState.commit;\n',
    killedBy: [STABLE_LOG],
  },
  {
    name: 'applying uncommitted entries',
    file: 'raft/group/cluster/raft-loop.ts',
    find: 'if (ready.committed.length > 0) this.hooks.committed(ready.committed);',
    replace: 'if (ready.entries.length > 0) this.hooks.committed(ready.entries);',
    killedBy: [PARTS],
  },
  {
    name: 'answering before the own apply',
    file: 'raft/group/cluster/read-rounds.ts',
    find: 'if (reader.index <= index) reader.succeed();',
    replace: 'if (reader.index <= index + 1_000) reader.succeed();',
    killedBy: [PARTS],
  },
  {
    name: 'lease judged without skew',
    file: 'machine/apply/lease-rules.ts',
    find: 'leases.term(lease) === at.term ? 0 : skewMicros;',
    replace: 'leases.term(lease) === at.term ? 0 : 0 * skewMicros;',
    killedBy: [LEASES],
  },
  {
    name: 'claims of a deposed leader enter the log of the next',
    file: 'raft/group/cluster/peer-desk.ts',
    find: 'if (refusal === null && !foreignClaim)',
    replace: 'if (refusal === null)',
    killedBy: [PARTS],
  },
  {
    name: 'forwarded commands unchecked',
    file: 'raft/group/cluster/peer-desk.ts',
    find: 'const refusal = parts.commands.check(bytes);',
    replace: 'const refusal = null as string | null;',
    killedBy: [PARTS],
  },
  {
    name: 'a replayed session taken for the own one',
    file: 'raft/group/cluster/session-opener.ts',
    find: 'if (sequence !== nonce) {',
    replace: 'if (sequence < 0) {',
    killedBy: [PARTS],
  },
  {
    name: 'numbers written over bytes that stand in a socket',
    file: 'raft/group/intake.ts',
    find: 'if (call.stampedFor !== 0) call.bytes = call.bytes.slice();',
    replace: '',
    killedBy: [PARTS],
  },
  {
    name: 'a commit ahead of the own disk told to the log',
    file: 'raft/group/cluster/durable-log.ts',
    find: 'logIndex(Math.min(this.commit, this.given))',
    replace: 'logIndex(this.commit)',
    killedBy: [PARTS],
  },
  {
    name: 'entries read back before a truncation served after it',
    file: 'raft/group/cluster/stable-log.ts',
    find: 'return entry?.term === this.wal.termAt(logIndex(index)) ? entry : undefined;',
    replace: 'return entry;',
    killedBy: [STABLE_LOG],
  },
  {
    name: 'empty answered without a quorum',
    file: 'raft/group/cluster/pop-server.ts',
    find: 'const trusted = answer.granted || this.port.isQuorumFresh();',
    replace: 'const trusted = true as boolean;',
    killedBy: [PARTS],
  },
  {
    name: 'a stall not counted',
    file: 'raft/group/cluster/quorum-watch.ts',
    find: 'return Math.max(known, late > DISTRUST_MS ? late : 0);',
    replace: 'return Math.min(0, known, late);',
    killedBy: [PARTS],
  },
  {
    name: 'a transaction keeps its first part when a later one objects',
    file: 'machine/apply/transaction.ts',
    find: 'if (rollback !== null) return {',
    replace:
      'if (rollback !== null) work[0]?.part?.execute(work[0].body, {});\n      if (rollback !== null) return {',
    killedBy: [TRANSACTIONS],
  },
];
