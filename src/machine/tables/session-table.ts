/**
 * Sessions: one per node, the newest boot's. Admits a command once: a repeat under the same (session,
 * sequence), one below the floor and one of an ended session have no effect. Row (keyspace 09, node id
 * in the key):
 *
 *   u8 version=1 | u64 session | 16B directoryId | u64 bootCount | u48 floor | varint n | n bytes seen
 */
import { DecodeError } from '../../common/binary-reader.js';
import { invariant } from '../../common/invariant.js';
import type { RowPort } from '../machine.js';
import { keyNumber, sessionKey } from './keyspaces.js';
import { beginRow, openRow } from './row-codec.js';
import { SeenWindow, SESSION_WINDOW } from './seen-window.js';
import type { SessionTable } from './tables.js';

const VERSION = 1;

interface Session {
  readonly id: number;
  readonly nodeId: number;
  readonly directoryId: Uint8Array;
  readonly bootCount: number;
  readonly seen: SeenWindow;
}

export class SessionTableImpl implements SessionTable {
  private readonly byNode = new Map<number, Session>();
  private readonly byId = new Map<number, Session>();
  private readonly dirty = new Set<number>();

  /**
   * Ends the node's older session. A repeat of this boot's entry, a late one of an older boot (or an older
   * log position) changes nothing: the newer session stays.
   */
  open(session: number, nodeId: number, directoryId: Uint8Array, bootCount: number): void {
    invariant(directoryId.length === 16, 'directory id is not 16 bytes');
    const current = this.byNode.get(nodeId);
    if (current !== undefined) {
      const sameDirectory = current.directoryId.every((byte, i) => byte === directoryId[i]);
      if (session <= current.id || (sameDirectory && bootCount <= current.bootCount)) return;
      this.byId.delete(current.id);
    }
    const seen = new SeenWindow();
    this.add({ id: session, nodeId, directoryId: directoryId.slice(), bootCount, seen });
    this.dirty.add(nodeId);
  }

  /**
   * Session 0 (the leader itself) is always fresh. A sequence beyond the window cannot be noted; it is
   * answered as of an ended session, which tells its node that it had no effect.
   */
  admit(session: number, sequence: number, floor: number): 'fresh' | 'seen' | 'ended' {
    if (session === 0) return 'fresh';
    const open = this.byId.get(session);
    if (open === undefined) return 'ended';
    const { seen } = open;
    if (sequence < floor || seen.isSeen(sequence)) return 'seen';
    if (sequence >= Math.max(floor, seen.floor) + SESSION_WINDOW) return 'ended';
    seen.raiseFloor(floor);
    seen.note(sequence);
    this.dirty.add(open.nodeId);
    return 'fresh';
  }

  forget(nodeId: number, session: number): boolean {
    const current = this.byNode.get(nodeId);
    if (current === undefined || current.id !== session) return false;
    this.byNode.delete(nodeId);
    this.byId.delete(session);
    this.dirty.add(nodeId);
    return true;
  }

  nodes(): number[] {
    return [...this.byNode.keys()].sort((a, b) => a - b);
  }

  ofNode(nodeId: number): number {
    return this.byNode.get(nodeId)?.id ?? 0;
  }

  directoryOf(nodeId: number): Uint8Array | undefined {
    return this.byNode.get(nodeId)?.directoryId.slice();
  }

  bootCountOf(nodeId: number): number {
    return this.byNode.get(nodeId)?.bootCount ?? 0;
  }

  // Inside the tables -----------------------------------------------------------------------------

  flush(rows: RowPort): void {
    for (const nodeId of [...this.dirty].sort((a, b) => a - b)) {
      const session = this.byNode.get(nodeId);
      if (session === undefined) rows.delete(sessionKey(nodeId));
      else rows.put(sessionKey(nodeId), encodeSession(session));
    }
    this.dirty.clear();
  }

  load(key: Uint8Array, value: Uint8Array): void {
    this.add(decodeSession(keyNumber(key), value));
  }

  private add(session: Session): void {
    this.byNode.set(session.nodeId, session);
    this.byId.set(session.id, session);
  }
}

function encodeSession(session: Session): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u64(session.id);
  writer.raw(session.directoryId);
  writer.u64(session.bootCount);
  writer.u48(session.seen.floor);
  writer.lengthPrefixed(session.seen.toBits());
  return writer.toBytes();
}

function decodeSession(nodeId: number, value: Uint8Array): Session {
  const reader = openRow(value, VERSION, 'session row');
  const id = reader.u64();
  const directoryId = reader.raw(16).slice();
  const bootCount = reader.u64();
  const floor = reader.u48();
  const at = reader.position;
  const bits = reader.lengthPrefixed();
  reader.expectEnd();
  if (bits.length > SESSION_WINDOW / 8) throw new DecodeError('session window too long', at);
  return { id, nodeId, directoryId, bootCount, seen: SeenWindow.fromBits(floor, bits) };
}
