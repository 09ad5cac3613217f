/**
 * Which raft group a tenant lives in (cluster.md §5): where it is pinned, else by the hash of its id. A
 * pure function of the settings, the same on every node. There is no migration: a tenant with data
 * never moves, so a change of this function would lose data from sight.
 */
import { groupId, type GroupId } from '../common/ids.js';
import { encodeUtf8 } from '../common/utf8.js';
import { uuidText } from '../common/uuid-v7.js';
import { xxh3 } from '../common/xxh3.js';

/** Tenants whose group is remembered; beyond it the memory begins anew. */
const MAX_REMEMBERED = 10_000;

export interface Pin {
  /** Text of a UUID. */
  readonly tenant: string;
  readonly group: number;
}

export class TenantPlacement {
  private readonly pins: ReadonlyMap<string, number>;
  private readonly known = new Map<string, GroupId>();

  constructor(
    private readonly groups: number,
    pins: readonly Pin[] = [],
  ) {
    this.pins = new Map(pins.map(({ tenant, group }) => [tenant.toLowerCase(), group]));
  }

  /** `tenant`: 16-byte uuid. */
  of(tenant: Uint8Array): GroupId {
    if (this.groups === 1) return groupId(0);
    const key = keyOf(tenant);
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const group = this.placed(uuidText(tenant));
    if (this.known.size >= MAX_REMEMBERED) this.known.clear();
    this.known.set(key, group);
    return group;
  }

  private placed(tenant: string): GroupId {
    const pinned = this.pins.get(tenant);
    return groupId(pinned ?? Number(xxh3(encodeUtf8(tenant)) % BigInt(this.groups)));
  }
}

/** One character per byte: cheaper than the text of the uuid. */
function keyOf(tenant: Uint8Array): string {
  let key = '';
  for (const byte of tenant) key += String.fromCharCode(byte);
  return key;
}
