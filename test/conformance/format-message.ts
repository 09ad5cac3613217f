/** Text of entries, messages, storage jobs and Readys as the scripts print them. */
import { nodeId, type NodeId } from '../../src/common/ids.js';
import { decodeConfigChange } from '../../src/raft/core/membership-codec.js';
import type { Message } from '../../src/raft/core/messages.js';
import type {
  ConfigState,
  Entry,
  HardState,
  PersistAck,
  Ready,
  Role,
  SingleChange,
  SnapshotMeta,
} from '../../src/raft/core/types.js';
import { hex } from './format-progress.js';

/** Jobs and acknowledgements of asynchronous storage, which the scripts show as messages. */
export type StorageMail =
  | {
      readonly kind: 'storage-append';
      readonly node: NodeId;
      readonly ready: Ready;
      readonly responses: readonly Mail[];
    }
  | { readonly kind: 'storage-append-done'; readonly node: NodeId; readonly ack: PersistAck }
  | { readonly kind: 'storage-apply'; readonly node: NodeId; readonly entries: readonly Entry[] }
  | {
      readonly kind: 'storage-apply-done';
      readonly node: NodeId;
      readonly entries: readonly Entry[];
    };

export type Mail = Message | StorageMail;

export const ROLE_TEXT: Readonly<Record<Role, string>> = {
  follower: 'StateFollower',
  'pre-candidate': 'StatePreCandidate',
  candidate: 'StateCandidate',
  leader: 'StateLeader',
};

const CHANGE_LETTER: Readonly<Record<SingleChange['action'], string>> = {
  'add-voter': 'v',
  'add-learner': 'l',
  remove: 'r',
  update: 'u',
};

/** The old single-change entry type is only a label here: a one-byte context marks it. */
export const V1_CONTEXT = new Uint8Array([1]);

const APPEND_THREAD = nodeId(-1);
const APPLY_THREAD = nodeId(-2);

export function nodeText(id: NodeId): string {
  if (id === APPEND_THREAD) return 'AppendThread';
  return id === APPLY_THREAD ? 'ApplyThread' : hex(id);
}

export function messageName(kind: Message['kind'], preVote: boolean): string {
  switch (kind) {
    case 'vote-request':
      return preVote ? 'MsgPreVote' : 'MsgVote';
    case 'vote-response':
      return preVote ? 'MsgPreVoteResp' : 'MsgVoteResp';
    case 'append-request':
      return 'MsgApp';
    case 'append-response':
      return 'MsgAppResp';
    case 'heartbeat':
      return 'MsgHeartbeat';
    case 'heartbeat-response':
      return 'MsgHeartbeatResp';
    case 'snapshot':
      return 'MsgSnap';
    case 'timeout-now':
      return 'MsgTimeoutNow';
    case 'propose':
      return 'MsgProp';
    case 'read-request':
      return 'MsgReadIndex';
    case 'read-response':
      return 'MsgReadIndexResp';
    case 'transfer-request':
      return 'MsgTransferLeader';
  }
}

export function entryText(entry: Entry): string {
  const place = `${entry.term}/${entry.index}`;
  if (entry.kind === 'normal') {
    return `${place} EntryNormal ${JSON.stringify(Buffer.from(entry.data).toString('utf8'))}`;
  }
  const change = decodeConfigChange(entry.data);
  if (change === 'malformed') return `${place} malformed`;
  const isV1 = (change.context?.byteLength ?? 0) > 0;
  const words = change.changes.map(({ action, node }) => CHANGE_LETTER[action] + hex(node));
  return [place, isV1 ? 'EntryConfChange' : 'EntryConfChangeV2', ...words].join(' ');
}

/** The flat form every kind of mail is printed from. */
interface Printable {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly name: string;
  readonly term: number;
  readonly log?: { readonly term: number; readonly index: number };
  readonly rejectHint?: number;
  readonly commit?: number;
  readonly vote?: number;
  readonly entries?: readonly Entry[];
  readonly snapshot?: SnapshotMeta | undefined;
  readonly responses?: readonly Mail[];
}

export function recipient(mail: Mail): NodeId {
  return printable(mail).to;
}

/** Never dropped by a script: mail of a node to itself or between it and its storage. */
export function isLocalMail(mail: Mail): boolean {
  const { from, to } = printable(mail);
  return from === to || from < 0 || to < 0;
}

export function mailName(mail: Mail): string {
  return printable(mail).name;
}

export function mailText(mail: Mail, indent = ''): string {
  const m = printable(mail);
  const log = m.log ?? { term: 0, index: 0 };
  let text = `${indent}${nodeText(m.from)}->${nodeText(m.to)} ${m.name}`;
  text += ` Term:${m.term} Log:${log.term}/${log.index}`;
  if (m.rejectHint !== undefined) text += ` Rejected (Hint: ${m.rejectHint})`;
  if (m.commit !== undefined && m.commit !== 0) text += ` Commit:${m.commit}`;
  if (m.vote !== undefined && m.vote !== 0) text += ` Vote:${m.vote}`;
  const entries = m.entries ?? [];
  if (entries.length === 1) {
    text += ` Entries:[${entries.map(entryText).join('')}]`;
  } else if (entries.length > 1) {
    const lines = entries.map((entry) => `\n${indent}  ${entryText(entry)}`);
    text += ` Entries:[${lines.join('')}\n${indent}]`;
  }
  if (m.snapshot !== undefined) text += `\n${indent}  Snapshot: ${snapshotText(m.snapshot)}`;
  const responses = m.responses ?? [];
  if (responses.length > 0) {
    const lines = responses.map((response) => `\n${mailText(response, `${indent}  `)}`);
    text += ` Responses:[${lines.join('')}\n${indent}]`;
  }
  return text;
}

function printable(mail: Mail): Printable {
  switch (mail.kind) {
    case 'storage-append': {
      const { hardState, entries, snapshot } = mail.ready;
      return {
        from: mail.node,
        to: APPEND_THREAD,
        name: 'MsgStorageAppend',
        term: hardState?.term ?? 0,
        vote: hardState?.vote ?? 0,
        commit: hardState?.commit ?? 0,
        entries,
        snapshot,
        responses: mail.responses,
      };
    }
    case 'storage-append-done':
      return {
        from: APPEND_THREAD,
        to: mail.node,
        name: 'MsgStorageAppendResp',
        term: mail.ack.term,
        log: { term: mail.ack.indexTerm, index: mail.ack.index },
      };
    case 'storage-apply':
      return {
        from: mail.node,
        to: APPLY_THREAD,
        name: 'MsgStorageApply',
        term: 0,
        entries: mail.entries,
        responses: [{ kind: 'storage-apply-done', node: mail.node, entries: mail.entries }],
      };
    case 'storage-apply-done':
      return {
        from: APPLY_THREAD,
        to: mail.node,
        name: 'MsgStorageApplyResp',
        term: 0,
        entries: mail.entries,
      };
    default:
      return printableMessage(mail);
  }
}

function printableMessage(message: Message): Printable {
  const { from, to, term } = message;
  const preVote = 'preVote' in message && message.preVote;
  const base = { from, to, term, name: messageName(message.kind, preVote) };
  switch (message.kind) {
    case 'vote-request':
      return { ...base, log: { term: message.lastTerm, index: message.lastIndex } };
    case 'vote-response':
      return message.granted ? base : { ...base, rejectHint: 0 };
    case 'append-request':
      return {
        ...base,
        log: { term: message.prevTerm, index: message.prevIndex },
        commit: message.commit,
        entries: message.entries,
      };
    case 'append-response': {
      const log = { term: message.hintTerm, index: message.index };
      return message.rejected ? { ...base, log, rejectHint: message.hintIndex } : { ...base, log };
    }
    case 'heartbeat':
      return { ...base, commit: message.commit };
    case 'snapshot':
      return { ...base, snapshot: message.snapshot };
    case 'propose':
      return { ...base, entries: message.entries };
    default:
      return base;
  }
}

function snapshotText(snapshot: SnapshotMeta): string {
  const { index, term, config } = snapshot;
  return `Index:${index} Term:${term} ConfState:${configStateText(config)}`;
}

function configStateText(config: ConfigState): string {
  const list = (ids: readonly NodeId[]): string => `[${ids.join(' ')}]`;
  return [
    `Voters:${list(config.voters)}`,
    `VotersOutgoing:${list(config.outgoing)}`,
    `Learners:${list(config.learners)}`,
    `LearnersNext:${list(config.learnersNext)}`,
    `AutoLeave:${String(config.autoLeave)}`,
  ].join(' ');
}

function hardStateText(hardState: HardState): string {
  const vote = hardState.vote === 0 ? '' : ` Vote:${hardState.vote}`;
  return `Term:${hardState.term}${vote} Commit:${hardState.commit}`;
}

export function readyText(ready: Ready, messages: readonly Mail[]): string {
  const lines: string[] = [];
  const { softState, hardState, entries, snapshot, committed } = ready;
  if (softState !== undefined) {
    lines.push(`Lead:${softState.leader} State:${ROLE_TEXT[softState.role]}`);
  }
  if (hardState !== undefined) lines.push(`HardState ${hardStateText(hardState)}`);
  for (const { index, context } of ready.readStates) {
    lines.push(`ReadState context=${context} index=${index}`);
  }
  if (entries.length > 0) lines.push('Entries:', ...entries.map(entryText));
  if (snapshot !== undefined) lines.push(`Snapshot ${snapshotText(snapshot)}`);
  if (committed.length > 0) lines.push('CommittedEntries:', ...committed.map(entryText));
  if (messages.length > 0) lines.push('Messages:', ...messages.map((mail) => mailText(mail)));
  if (lines.length === 0) return '<empty Ready>';
  return [`Ready MustSync=${String(ready.mustSync)}:`, ...lines].join('\n');
}
