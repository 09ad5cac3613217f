/**
 * Forced recovery (cluster.md §7.4): the majority is lost for good, this one survivor becomes the only
 * member. Everything its log holds is kept and counts as committed; after it, in a new term and a new
 * recovery generation, entries drop the other members one by one. UNSAFE: what only the lost members
 * held is gone, and they must never come back with their data; nodes of other generations are refused.
 */
import { logIndex, term, type LogIndex, type NodeId } from '../common/ids.js';
import { changeConfig, decodeConfigChange, encodeConfigChange, isJoint } from './core/index.js';
import { memberIds, type ConfigState, type SingleChange } from './core/index.js';
import type { GroupLog } from './group/ports.js';
import { addressesOf, encodeMembers } from './group/cluster/members.js';
import type { MemberAddress, Members } from './group/cluster/members.js';
import { encodeDocument, NodeFilePort, readWholeFile, replaceFile } from './wal/index.js';
import type { DocumentKind, Wal, WalEntry } from './wal/index.js';

export const RECOVERED_FILE = 'force_recovered.json';
const KIND: DocumentKind = { name: 'queen-force-recovered', version: 1 };
const READ_BYTES = 8 * 1024 * 1024;

export interface ForceRecoverOptions {
  readonly directory: string;
  readonly self: NodeId;
  readonly wal: Wal;
  /** As of the last checkpoint. */
  readonly members: Members;
  /** Own addresses as configured; the old ones count where nothing is configured. */
  readonly own: MemberAddress;
  readonly log: GroupLog;
}

/** Durable when it resolves; the group then starts as on any log. Already alone: nothing is done. */
export async function forceRecover(options: ForceRecoverOptions): Promise<void> {
  const { self, wal, log } = options;
  if (wal.lastIndex === 0) {
    throw new Error('QUEEN_RAFT_FORCE_RECOVER: the log of this node is empty, nothing to recover');
  }
  const config = await configAtEnd(wal, options.members);
  const others = memberIds(config).filter((id) => id !== self);
  const isMarked = await hasMarker(options);
  if (others.length === 0 && config.voters.includes(self)) {
    // A crash came before the marker: a later start with members again must not drop them.
    if (wal.generation > 0 && !isMarked)
      await mark(options, { keptTo: wal.lastIndex, dropped: [] });
    return;
  }
  if (isMarked) {
    throw new Error(
      'QUEEN_RAFT_FORCE_RECOVER is still set, but this node already recovered once and has members ' +
        `${others.join(', ')} again. Unset it; for another recovery move ${RECOVERED_FILE} aside.`,
    );
  }
  const generation = wal.generation + 1;
  const newTerm = term(Math.max(wal.hardState.term, wal.lastTerm) + 1);
  const kept = wal.lastIndex;
  // The vote first: in this term nobody else may ever be elected with this node's help.
  await wal.append({ entries: [], hardState: { term: newTerm, vote: self, commit: kept } });
  await wal.startGeneration(generation);
  const changes = changesToAlone(config, self);
  const entries = changes.map((change, i) =>
    entryOf(options, { change, at: i, config, generation }),
  );
  const stamped = entries.map((entry) => ({ ...entry, term: newTerm }));
  const last = logIndex(kept + stamped.length);
  await wal.append({
    entries: stamped,
    hardState: { term: newTerm, vote: self, commit: last },
  });
  await mark(options, { keptTo: kept, dropped: others });
  log.error('QUEEN_RAFT_FORCE_RECOVER: UNSAFE RECOVERY: this node is the only member now', {
    ...{ node: self, kept_to: kept, term: newTerm, dropped: others, generation },
  });
}

async function hasMarker({ directory }: ForceRecoverOptions): Promise<boolean> {
  const found = await readWholeFile(new NodeFilePort(), `${directory}/${RECOVERED_FILE}`);
  return found !== undefined;
}

/** Remembers that this node recovered: the flag, still set, does so only once. */
async function mark(
  { directory, self, wal }: ForceRecoverOptions,
  what: { readonly keptTo: LogIndex; readonly dropped: readonly NodeId[] },
): Promise<void> {
  const marker = encodeDocument(KIND, { node: self, generation: wal.generation, ...what });
  await replaceFile(new NodeFilePort(), directory, RECOVERED_FILE, marker);
}

/** The membership once every entry of the log is applied. */
async function configAtEnd(wal: Wal, { config, index }: Members): Promise<ConfigState> {
  let current = config;
  let next = Math.max(index + 1, wal.firstIndex);
  while (next <= wal.lastIndex) {
    const entries = await wal.readEntries(logIndex(next), READ_BYTES);
    for (const entry of entries) {
      if (entry.kind !== 'membership') continue;
      const change = decodeConfigChange(entry.payload);
      if (change === 'malformed') throw new Error(`membership entry ${entry.index} is malformed`);
      const outcome = changeConfig(current, change);
      if (outcome.ok) current = outcome.config;
    }
    next += entries.length;
  }
  return current;
}

/** One node at a time: none of these entries needs a joint state. Null leaves a standing one. */
function changesToAlone(config: ConfigState, self: NodeId): (SingleChange | null)[] {
  const changes: (SingleChange | null)[] = isJoint(config) ? [null] : [];
  if (!config.voters.includes(self)) changes.push({ action: 'add-voter', node: self });
  for (const node of memberIds(config)) {
    if (node !== self) changes.push({ action: 'remove', node });
  }
  return changes;
}

function entryOf(
  { wal, members, own, self }: ForceRecoverOptions,
  made: {
    readonly change: SingleChange | null;
    readonly at: number;
    readonly config: ConfigState;
    readonly generation: number;
  },
): Omit<WalEntry, 'term'> {
  const { change, at, config, generation } = made;
  const index: LogIndex = logIndex(wal.lastIndex + 1 + at);
  if (change === null) return { index, kind: 'membership', parts: [] };
  const known = members.addresses.get(self);
  const address = own.raft === null && known !== undefined ? known : own;
  const addresses = addressesOf(config, new Map([[self, address]]), members.addresses);
  const context = encodeMembers({
    ...{ index: members.index, config, addresses, generation, addressesWin: true },
  });
  const data = encodeConfigChange({ transition: 'auto', changes: [change], context });
  return { index, kind: 'membership', parts: [data] };
}
