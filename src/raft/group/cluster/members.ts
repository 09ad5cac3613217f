/**
 * Who belongs to the group and under which addresses, as bytes: the row that is stored with the state
 * it is part of, and the context of a membership entry. The context tells the members before the
 * change too, so a log says by itself who its members are, whoever reads it first.
 *
 *   u8 version = 1 | u64 index | u64 generation | u8 flags (1 addresses win)
 *   | voters | outgoing | learners | learnersNext | u8 autoLeave | u16 count, count x (u32 node | str raft | str http)       lists: u16 count, count x u32 node
 *
 * An empty address is one that is not known (a cluster of one without a peer list).
 */
import { BinaryReader } from '../../../common/binary-reader.js';
import { BinaryWriter } from '../../../common/binary-writer.js';
import { logIndex, nodeId, type LogIndex, type NodeId } from '../../../common/ids.js';
import { canonicalConfig, EMPTY_CONFIG, memberIds, type ConfigState } from '../../core/index.js';
import type { RowRange, StorePort } from '../ports.js';

const VERSION = 1;
const ADDRESSES_WIN = 1;

/** `host:port`, null when not known. */
export interface MemberAddress {
  readonly raft: string | null;
  readonly http: string | null;
}

export type AddressBook = ReadonlyMap<NodeId, MemberAddress>;

export interface Members {
  /** Entry that made it so; 0 = as the first start of the cluster was told. */
  readonly index: LogIndex;
  readonly config: ConfigState;
  /** Of every member of `config`, as far as known. */
  readonly addresses: AddressBook;
  /** Recovery generation of the cluster: raised by a forced recovery or a restore. */
  readonly generation: number;
  /** Of an entry's context: its addresses replace those known (forced recovery). */
  readonly addressesWin?: boolean;
}

/** What a node knows that has yet to be told who its members are. */
export const NO_MEMBERS: Members = {
  index: logIndex(0),
  config: EMPTY_CONFIG,
  addresses: new Map(),
  generation: 0,
};

export const UNKNOWN_ADDRESS: MemberAddress = { raft: null, http: null };

/** The membership a cluster starts with. */
export function firstMembers(voters: readonly NodeId[], addresses: AddressBook): Members {
  const config = canonicalConfig({ ...EMPTY_CONFIG, voters: [...voters].sort((a, b) => a - b) });
  const known = addressesOf(config, addresses);
  return { index: logIndex(0), config, addresses: known, generation: 0 };
}

/** The addresses of exactly the members of `config`. */
export function addressesOf(config: ConfigState, ...books: readonly AddressBook[]): AddressBook {
  const found = new Map<NodeId, MemberAddress>();
  for (const id of memberIds(config)) {
    const known = books.map((book) => book.get(id)).filter((address) => address !== undefined);
    found.set(id, known.find((address) => address.raft !== null) ?? known[0] ?? UNKNOWN_ADDRESS);
  }
  return found;
}

export function encodeMembers(members: Members): Uint8Array {
  const { index, config, addresses, generation, addressesWin } = members;
  const out = new BinaryWriter();
  out.u8(VERSION);
  out.u64(index);
  out.u64(generation);
  out.u8(addressesWin === true ? ADDRESSES_WIN : 0);
  for (const list of listsOf(config)) {
    out.u16(list.length);
    for (const id of list) out.u32(id);
  }
  out.boolean(config.autoLeave);
  out.u16(addresses.size);
  for (const [id, { raft, http }] of [...addresses].sort(([a], [b]) => a - b)) {
    out.u32(id);
    out.string(raft ?? '');
    out.string(http ?? '');
  }
  return out.toBytes();
}

/** Throws DecodeError. */
export function decodeMembers(bytes: Uint8Array): Members {
  const reader = new BinaryReader(bytes);
  reader.version(VERSION, 'a membership');
  const index = logIndex(reader.u64());
  const generation = reader.u64();
  const addressesWin = (reader.u8() & ADDRESSES_WIN) !== 0;
  const list = (): NodeId[] => Array.from({ length: reader.u16() }, () => nodeId(reader.u32()));
  const [voters, outgoing, learners, learnersNext] = [list(), list(), list(), list()];
  const autoLeave = reader.boolean();
  const addresses = new Map<NodeId, MemberAddress>();
  for (let left = reader.u16(); left > 0; left -= 1) {
    const id = nodeId(reader.u32());
    const [raft, http] = [reader.string(), reader.string()];
    addresses.set(id, { raft: raft === '' ? null : raft, http: http === '' ? null : http });
  }
  reader.expectEnd();
  const config = canonicalConfig({ voters, outgoing, learners, learnersNext, autoLeave });
  const members = { index, config, addresses, generation };
  return addressesWin ? { ...members, addressesWin } : members;
}

/** The membership as of the last checkpoint; null when the store holds none. */
export async function readMembers(
  store: Pick<StorePort, 'pages'>,
  range: RowRange,
): Promise<Members | null> {
  for await (const page of store.pages(range)) {
    for (const [, value] of page) return decodeMembers(value);
  }
  return null;
}

function listsOf(config: ConfigState): readonly (readonly NodeId[])[] {
  return [config.voters, config.outgoing, config.learners, config.learnersNext];
}
