/**
 * Before a member takes part (cluster.md §4.1): whose member is it? What the store tells counts; an
 * older directory without such a row has the configured members. A fresh node asks those it is told of
 * whether a cluster exists: then it joins it, else it starts one with the configured list.
 */
import type { NodeId } from '../../../common/ids.js';
import { memberIds } from '../../core/index.js';
import type { ClusterGroupParts, FirstMembers } from './cluster-parts.js';
import { checkIdentity, clusterExists } from './identity-check.js';
import type { MemberBook } from './member-book.js';
import { NO_MEMBERS, type Members } from './members.js';

type Parts = Pick<
  ClusterGroupParts,
  'nodeId' | 'directoryId' | 'first' | 'peers' | 'log' | 'wal' | 'store'
>;

function isFresh({ wal, store, first }: Parts): boolean {
  return first.stored === null && store.meta === undefined && wal.lastIndex === 0;
}

/** What the core is built with. */
export function membersAtStart(parts: Parts): Members {
  const { stored, listed, join } = parts.first;
  if (stored !== null) return stored;
  return join || isFresh(parts) ? NO_MEMBERS : listed;
}

/**
 * Resolves when the node may take part, true when it was told to join and is to be added; rejects with
 * IdentityRefusal. One that only finds its cluster founded already is a founder that comes late.
 */
export async function settleMembership(parts: Parts, book: MemberBook): Promise<boolean> {
  const { nodeId, directoryId, first, peers, log, wal } = parts;
  const others = othersOf(nodeId, first, book);
  const asked = { nodeId, directoryId, others, peers, lastIndex: wal.lastIndex };
  await checkIdentity({ ...asked, term: wal.hardState.term, log });
  // Started again before it was added: told to join as before.
  if (first.stored !== null) return first.join;
  if (book.ids.length > 0) {
    book.store();
    return first.join;
  }
  const isAlone = others.length === 0;
  if (!first.join && (isAlone || !(await clusterExists(asked)))) {
    book.adopt(first.listed);
    return false;
  }
  log.info('raft: this fresh node joins an existing cluster and serves 503 until it is added', {
    node: nodeId,
  });
  return first.join;
}

function othersOf(self: NodeId, first: FirstMembers, book: MemberBook): NodeId[] {
  const known = book.ids.length > 0 ? book.ids : memberIds(first.listed.config);
  return known.filter((id) => id !== self);
}
