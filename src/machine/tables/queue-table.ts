/**
 * Queues by (tenant, name) and by id, live and deleted. Deleting one unlinks its name and marks it
 * garbage in O(1); the object stays until the purge has freed what hangs on it.
 */
import { invariant } from '../../common/invariant.js';
import type { Micros, QueueId, TenantId } from '../../common/ids.js';
import { micros, queueId, tenantId } from '../../common/ids.js';
import type { QueueOptions } from '../commands/catalogue.js';
import type { RowPort } from '../machine.js';
import type { TableCounters } from './header-row.js';
import { garbageQueueKey, keyNumber, queueKey } from './keyspaces.js';
import type { LiveTotals } from './queue-state.js';
import { QueueState } from './queue-state.js';
import { checkGarbageRow, decodeQueueRow, encodeGarbageRow, encodeQueueRow } from './small-rows.js';
import type { QueueRow, QueueTable } from './tables.js';

/** Options of a queue known only through its remains; never read. */
const NO_OPTIONS = Object.freeze({}) as QueueOptions;

export class QueueTableImpl implements QueueTable {
  private readonly states = new Map<number, QueueState>();
  private readonly byName = new Map<number, Map<string, QueueState>>();
  private readonly garbage = new Map<number, QueueState>();
  private readonly dirty = new Set<QueueState>();
  private readonly dirtyGarbage = new Set<QueueState>();
  private readonly deletedRows: Uint8Array[] = [];
  /** Garbage met through its remains at a load, not yet confirmed by its own row. */
  private readonly unconfirmed = new Set<number>();

  constructor(
    private readonly counters: TableCounters,
    private readonly totals: LiveTotals,
  ) {}

  find(tenant: TenantId, name: string): QueueState | undefined {
    return this.byName.get(tenant)?.get(name);
  }

  byId(id: QueueId): QueueState | undefined {
    const state = this.states.get(id);
    return state?.live === true ? state : undefined;
  }

  /** Creation order is id order, at run time as after a load. */
  list(tenant: TenantId): QueueRow[] {
    return [...(this.byName.get(tenant)?.values() ?? [])];
  }

  create(tenant: TenantId, name: string, createdAt: Micros, options: QueueOptions): QueueState {
    invariant(this.find(tenant, name) === undefined, 'queue exists', () => ({ tenant, name }));
    const id = queueId(this.counters.nextQueueId++);
    const state = new QueueState({ id, tenant, name, createdAt, options, live: true });
    this.link(state);
    this.dirty.add(state);
    return state;
  }

  touch(queue: QueueRow): void {
    this.dirty.add(this.state(queue.id));
  }

  remove(queue: QueueRow): void {
    const state = this.state(queue.id);
    invariant(state.live, 'queue is deleted already', () => ({ queue: queue.id }));
    state.live = false;
    this.byName.get(state.tenant)?.delete(state.name);
    this.totals.subtract(state);
    this.dirty.delete(state);
    this.deletedRows.push(queueKey(state.id));
    this.garbage.set(state.id, state);
    this.dirtyGarbage.add(state);
  }

  // Inside the tables -----------------------------------------------------------------------------

  get liveCount(): number {
    return this.states.size - this.garbage.size;
  }

  /** Live queues of all tenants in id order. */
  live(): QueueState[] {
    return [...this.states.values()].filter((state) => state.live).sort((a, b) => a.id - b.id);
  }

  isLive(id: number): boolean {
    return this.states.get(id)?.live === true;
  }

  /** Live or garbage; a queue without state is a broken invariant. */
  state(id: number): QueueState {
    const state = this.states.get(id);
    invariant(state !== undefined, 'unknown queue', () => ({ queue: id }));
    return state;
  }

  /** Deleted queues with rows left somewhere, in id order. */
  garbageStates(): QueueState[] {
    return [...this.garbage.values()].sort((a, b) => a.id - b.id);
  }

  /** Forgets a deleted queue; deletes its garbage row. */
  forget(state: QueueState): void {
    invariant(!state.live, 'queue is live', () => ({ queue: state.id }));
    this.states.delete(state.id);
    this.garbage.delete(state.id);
    this.dirtyGarbage.delete(state);
    this.deletedRows.push(garbageQueueKey(state.id));
  }

  flush(rows: RowPort): void {
    for (const key of this.deletedRows) rows.delete(key);
    this.deletedRows.length = 0;
    for (const state of this.dirty) rows.put(queueKey(state.id), encodeQueueRow(state));
    this.dirty.clear();
    for (const state of this.dirtyGarbage) rows.put(garbageQueueKey(state.id), encodeGarbageRow());
    this.dirtyGarbage.clear();
  }

  load(key: Uint8Array, value: Uint8Array): void {
    const id = queueId(keyNumber(key));
    const row = decodeQueueRow(value);
    const state = new QueueState({ id, ...row, live: true });
    state.optionsVersion = row.optionsVersion;
    state.configured = row.configured;
    state.recognisedSince = row.recognisedSince;
    invariant(this.find(row.tenant, row.name) === undefined, 'two queues of one name', { id });
    this.link(state);
  }

  /** State of a queue named by a partition or registration row; without a queue row it is garbage. */
  loadOwner(id: number): QueueState {
    const known = this.states.get(id);
    if (known !== undefined) return known;
    this.unconfirmed.add(id);
    return this.addGarbage(id);
  }

  loadGarbage(key: Uint8Array, value: Uint8Array): void {
    checkGarbageRow(value);
    const id = keyNumber(key);
    invariant(!this.isLive(id), 'queue is live and garbage', { id });
    this.unconfirmed.delete(id);
    if (!this.states.has(id)) this.addGarbage(id);
  }

  /** Rows of a queue that is neither live nor garbage mean a lost row: refuse to go on. */
  finishLoad(): void {
    const [orphan] = this.unconfirmed;
    invariant(orphan === undefined, 'rows of an unknown queue', { queue: orphan });
    for (const id of this.states.keys()) {
      invariant(id < this.counters.nextQueueId, 'queue id above the counter', { id });
    }
  }

  private addGarbage(id: number): QueueState {
    const state = new QueueState({
      id: queueId(id),
      tenant: tenantId(0),
      name: '',
      createdAt: micros(0),
      options: NO_OPTIONS,
      live: false,
    });
    this.states.set(id, state);
    this.garbage.set(id, state);
    return state;
  }

  private link(state: QueueState): void {
    this.states.set(state.id, state);
    let names = this.byName.get(state.tenant);
    if (names === undefined) {
      names = new Map();
      this.byName.set(state.tenant, names);
    }
    names.set(state.name, state);
  }
}
