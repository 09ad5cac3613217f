/**
 * Adapter between the quorum scripts and src/raft/core/quorum.ts. Besides the expected text it checks
 * on every directive the symmetries named in the README; a violation adds a line, so the file fails.
 */
import { nodeId, type NodeId } from '../../src/common/ids.js';
import { jointIndex, jointVote, majorityIndex, sortedIds } from '../../src/raft/core/quorum.js';
import { findArg, type Directive } from './datadriven.js';

const VOTE_TEXT = { won: 'VoteWon', lost: 'VoteLost', pending: 'VotePending' } as const;

export function handleQuorum(directive: Directive): string {
  const voters = idList(directive, 'cfg');
  const second = findArg(directive, 'cfgj');
  const outgoing = second?.values[0] === 'zero' ? [] : idList(directive, 'cfgj');
  const order = [...new Set([...voters, ...outgoing])];
  const halves = { voters: sortedIds(new Set(voters)), outgoing: sortedIds(new Set(outgoing)) };
  const items = findArg(directive, directive.command === 'vote' ? 'votes' : 'idx')?.values ?? [];
  if (items.length !== order.length) {
    return `error: mismatched input (_) for voters ${JSON.stringify(order)}: ${items.join(' ')}`;
  }
  return directive.command === 'vote'
    ? voteText(halves, new Map(order.map((id, i) => [id, items[i] ?? '_'])))
    : committedText(halves, new Map(order.map((id, i) => [id, items[i] ?? '_'])));
}

interface Halves {
  readonly voters: NodeId[];
  readonly outgoing: NodeId[];
}

function voteText(halves: Halves, items: Map<NodeId, string>): string {
  const votes = (id: NodeId): boolean | undefined => {
    const item = items.get(id);
    return item === '_' || item === undefined ? undefined : item === 'y';
  };
  const result = jointVote(halves, votes);
  const swapped = jointVote({ voters: halves.outgoing, outgoing: halves.voters }, votes);
  const note = swapped === result ? '' : `\n${VOTE_TEXT[swapped]} <-- via swapping halves`;
  return VOTE_TEXT[result] + note;
}

function committedText(halves: Halves, items: Map<NodeId, string>): string {
  const reached = (id: NodeId): number | undefined => {
    const item = items.get(id);
    return item === '_' || item === undefined ? undefined : Number(item);
  };
  const result = jointIndex(halves, reached);
  const notes: string[] = [];
  const check = (value: number, how: string): void => {
    if (value !== result) notes.push(`${value} <-- ${how}`);
  };
  check(jointIndex({ voters: halves.outgoing, outgoing: halves.voters }, reached), 'swapped');
  if (halves.outgoing.length === 0) {
    check(majorityIndex(halves.voters, reached), 'single majority');
    check(jointIndex({ voters: halves.voters, outgoing: halves.voters }, reached), 'self-joint');
  }
  for (const id of [...halves.voters, ...halves.outgoing]) {
    const own = reached(id);
    if (own === undefined || own >= result) continue;
    for (const lower of [own - 1, 0]) {
      check(
        jointIndex(halves, (other) => (other === id ? lower : reached(other))),
        `overlaying ${id}->${lower}`,
      );
    }
  }
  const all = sortedIds(new Set([...halves.voters, ...halves.outgoing]));
  const text = Number.isFinite(result) ? String(result) : '∞';
  return table(all, reached) + [text, ...notes].join('\n');
}

function table(ids: readonly NodeId[], reached: (id: NodeId) => number | undefined): string {
  if (ids.length === 0) return '<empty majority quorum>';
  const lines = [`${' '.repeat(ids.length)}    idx`];
  for (const id of ids) {
    const own = reached(id);
    const below = ids.filter((other) => (reached(other) ?? -1) < (own ?? -1)).length;
    const bar = own === undefined ? '?' : `${'x'.repeat(below)}>`;
    const index = String(own ?? 0).padStart(5);
    lines.push(`${bar.padEnd(ids.length + 1)} ${index}    (id=${id.toString(16)})`);
  }
  return `${lines.join('\n')}\n`;
}

function idList(directive: Directive, key: string): NodeId[] {
  return (findArg(directive, key)?.values ?? []).map((text) => nodeId(Number(text)));
}
