/**
 * The members as of the applied index. Every membership entry passes here when it is applied: the core
 * takes the change, the row goes into the same checkpoint as the entry, the transport learns the
 * addresses. What was configured at the first start counts only until the log says otherwise.
 */
import type { LogIndex, NodeId } from '../../../common/ids.js';
import { decodeConfigChange, memberIds, type ConfigState, type Entry } from '../../core/index.js';
import type { RowsPort } from '../ports.js';
import type { PeerPort } from './peer-port.js';
import type { RaftLoop } from './raft-loop.js';
import { addressesOf, decodeMembers, encodeMembers } from './members.js';
import type { AddressBook, MemberAddress, Members } from './members.js';

export interface MemberBookPort {
  readonly self: NodeId;
  readonly rows: Pick<RowsPort, 'put'>;
  readonly rowKey: Uint8Array;
  readonly peers: Pick<PeerPort, 'setMembers'>;
  /** Own addresses as configured, for a member that started without any. */
  readonly own: MemberAddress;
  /** Recovery generation of this node's log. */
  generation(): number;
  startGeneration(generation: number): void;
  loop(): Pick<RaftLoop, 'adoptConfig' | 'applyConfigChange'>;
}

export class MemberBook {
  private current: Members;

  constructor(
    private readonly port: MemberBookPort,
    first: Members,
  ) {
    this.current = first;
  }

  get members(): Members {
    return this.current;
  }

  get config(): ConfigState {
    return this.current.config;
  }

  get index(): LogIndex {
    return this.current.index;
  }

  /** Ascending; those of both halves of a joint state. */
  get ids(): readonly NodeId[] {
    return memberIds(this.current.config);
  }

  has(id: NodeId): boolean {
    return this.current.addresses.has(id);
  }

  /** Addresses of all members; the own one as configured where the cluster knows none. */
  get addresses(): AddressBook {
    const { addresses } = this.current;
    const own = addresses.get(this.port.self);
    if (own === undefined || own.raft !== null) return addresses;
    return new Map([...addresses, [this.port.self, this.port.own]]);
  }

  /** The first membership of a fresh node that starts a cluster. */
  adopt(first: Members): void {
    this.port.loop().adoptConfig(first.config);
    this.replace(first);
    this.store();
  }

  /** Puts the row of a membership that no checkpoint holds yet. */
  store(): void {
    this.port.rows.put(this.port.rowKey, encodeMembers(this.current));
  }

  /** The context of an entry that changes this membership. */
  contextFor(added: AddressBook = new Map()): Uint8Array {
    const addresses = new Map([...this.addresses, ...added]);
    const generation = Math.max(this.current.generation, this.port.generation());
    return encodeMembers({ ...this.current, addresses, generation });
  }

  /** A membership entry is applied. */
  apply(entry: Entry): void {
    const change = decodeConfigChange(entry.data);
    if (change === 'malformed') throw new Error(`membership entry ${entry.index} is malformed`);
    const loop = this.port.loop();
    const { context } = change;
    const told = context === undefined || context.length === 0 ? null : decodeMembers(context);
    if (told !== null && this.ids.length === 0) loop.adoptConfig(told.config);
    const config = loop.applyConfigChange(change, entry.index);
    // A member keeps the address it came with: to move, it is removed and added again.
    const own = this.addresses;
    const theirs = told?.addresses ?? own;
    const [first, second] = told?.addressesWin === true ? [theirs, own] : [own, theirs];
    const addresses = addressesOf(config, first, second);
    const generation = Math.max(this.current.generation, told?.generation ?? 0);
    if (generation > this.port.generation()) this.port.startGeneration(generation);
    this.replace({ index: entry.index, config, addresses, generation });
    this.store();
  }

  private replace(members: Members): void {
    this.current = members;
    this.port.peers.setMembers(this.addresses);
  }
}
