/**
 * One simulated node: the production group over a real log on a disk that loses what was not synced, a
 * store in memory and the real machine and dispatcher. `crash` leaves what the disks kept; `start` is
 * the boot on it.
 */
import { groupId, nodeId } from '../../../src/common/ids.js';
import { UuidMint } from '../../../src/common/uuid-v7.js';
import { Dispatcher } from '../../../src/coordinators/dispatcher/dispatcher.js';
import { encodeClaim } from '../../../src/machine/commands/index.js';
import { MACHINE_VERSION, type Machine } from '../../../src/machine/machine.js';
import type { Tables } from '../../../src/machine/tables/tables.js';
import { ClusterGroup } from '../../../src/raft/group/cluster/cluster-group.js';
import type { ClusterTiming } from '../../../src/raft/group/cluster/cluster-parts.js';
import {
  firstMembers,
  readMembers,
  UNKNOWN_ADDRESS,
} from '../../../src/raft/group/cluster/members.js';
import type { PeerPort } from '../../../src/raft/group/cluster/peer-port.js';
import type { GroupLog } from '../../../src/raft/group/ports.js';
import { TailIndex } from '../../../src/raft/group/tail-index.js';
import { createMachineParts } from '../../../src/raft/machine-parts.js';
import { WalLog } from '../../../src/raft/wal-port.js';
import { markDirectoryReady, openIdentity, Wal } from '../../../src/raft/wal/index.js';
import type { FilePort } from '../../../src/raft/wal/index.js';
import { FaultyFilePort } from '../../support/faulty-file-port.js';
import type { Prng } from '../core/prng.js';
import { MemoryIds, MemoryStore, StoreDisk } from './memory-store.js';
import { installLog, installRows, SimSnapshots, SnapshotDisk } from './sim-snapshots.js';
import type { VirtualTime } from './virtual-time.js';

const EPOCH_MS = 1_750_000_000_000;
const DIRECTORY = '/data';

export interface SimNodeOptions {
  readonly id: number;
  readonly members: readonly number[];
  readonly time: VirtualTime;
  readonly prng: Prng;
  readonly timing: ClusterTiming;
  readonly segmentBytes: number;
  /** Slowest sync and checkpoint, µs. */
  readonly diskMicros: number;
  readonly connect: () => PeerPort;
  /** A node that is added later. */
  readonly joins?: boolean;
  /** A snapshot waits to be loaded. */
  readonly restart: (node: SimNode) => void;
  readonly log: GroupLog;
  /** Sees each entry this node applied, with the machine after it. */
  readonly applied: (
    node: number,
    entry: Parameters<Machine['execute']>[0],
    machine: Machine,
    tables: Tables,
  ) => void;
  /** Sees what a boot brought back, before it takes part. */
  readonly opened?: (node: number, tables: Tables) => void;
}

export class SimNode {
  files: FaultyFilePort;
  group: ClusterGroup | null = null;
  wal: Wal | null = null;
  /** Wall clock against the world's, µs; jumps move it. */
  skewMicros = 0;
  boots = 0;
  /** A boot that was refused; the node stays down. */
  refused: Error | null = null;
  private store = new StoreDisk();
  snapshots = new SnapshotDisk();
  isToBeEmptied = false;
  private life = 0;
  private joins: boolean;

  constructor(readonly options: SimNodeOptions) {
    this.files = new FaultyFilePort(() => options.prng.next());
    this.joins = options.joins === true;
  }

  /** The next start finds an empty disk and waits to be added. */
  wipe(): void {
    this.isToBeEmptied = true;
  }

  private emptyDisk(): void {
    if (!this.isToBeEmptied) return;
    this.isToBeEmptied = false;
    this.files = new FaultyFilePort(() => this.options.prng.next());
    this.store = new StoreDisk();
    this.snapshots = new SnapshotDisk();
    this.joins = true;
  }

  get id(): number {
    return this.options.id;
  }

  get isUp(): boolean {
    return this.group !== null;
  }

  /** Opens log and store and starts the group; resolves when it takes part (or refuses). */
  async start(): Promise<void> {
    const { time, prng, timing, members, id, log } = this.options;
    this.life += 1;
    this.boots += 1;
    this.emptyDisk();
    const life = this.life;
    const wal = await this.openLog();
    const tailIndex = new TailIndex();
    const ids = new MemoryIds();
    const store = new MemoryStore(this.store, tailIndex, {
      intervalMs: 200 + prng.below(800),
      sleep: () => time.sleep(this.diskDelay()),
      loading: () => (prng.chance(0.1) ? time.sleep(prng.below(3_000)) : undefined),
      isDead: () => this.life !== life,
    });
    const machine = createMachineParts({ rows: store, ids, windowMinSeconds: 900 });
    this.watchApply(machine.machine, machine.tables);
    const group = new ClusterGroup({
      ...{ store, ids, tailIndex, log, timing, wal, machine },
      rows: store,
      id: groupId(0),
      nodeId: nodeId(id),
      kinds: MACHINE_VERSION,
      tailCacheBytes: 64 * 1024,
      clock: {
        nowMs: () => EPOCH_MS + Math.floor((time.nowMicros + this.skewMicros) / 1000),
        monotonicMicros: () => time.nowMicros + 1_000_000,
      },
      walPort: new WalLog(wal),
      directoryId: Buffer.from(wal.directoryId, 'hex'),
      first: {
        stored: await readMembers(store, machine.membersRange),
        listed: firstMembers(members.map(nodeId), new Map()),
        join: this.joins,
        own: UNKNOWN_ADDRESS,
      },
      snapshots: new SimSnapshots({
        ...{ disk: this.snapshots, files: this.files, machine, store, wal },
        sleep: () => time.sleep(this.diskDelay()),
        isDead: () => this.life !== life,
      }),
      restart: () => this.options.restart(this),
      peers: this.options.connect(),
      random: (bound) => prng.below(bound),
    });
    this.group = group;
    this.wal = wal;
    this.attachDispatcher(group);
    await group.start();
    if (this.life === life) this.options.opened?.(this.id, machine.tables);
  }

  /** The process dies; with `power` the machine does, and un-synced pages are kept or lost. */
  crash(power: boolean): void {
    const { group } = this;
    this.life += 1;
    this.group = null;
    this.wal = null;
    if (power) this.files.powerLoss();
    else this.files.kill();
    if (group !== null) void group.abandon();
  }

  async stop(): Promise<void> {
    const { group } = this;
    this.group = null;
    this.wal = null;
    await group?.stop();
    this.life += 1;
    this.files.kill();
  }

  private async openLog(): Promise<Wal> {
    const { id, prng, segmentBytes } = this.options;
    const files = slowFiles(this.files, () => this.options.time.sleep(this.diskDelay()));
    await files.mkdir(DIRECTORY);
    await files.fsyncDir('/');
    const { identity, ready } = await openIdentity({
      ...{ files, directory: DIRECTORY },
      expected: { clusterId: 'sim', nodeId: nodeId(id) },
      mintDirectoryId: () => Uint8Array.from({ length: 16 }, () => prng.below(256)),
    });
    const { snapshots } = this;
    const open = (create: boolean): Promise<Wal> =>
      Wal.open({
        ...{ files, directory: `${DIRECTORY}/wal${snapshots.installs}`, identity, segmentBytes },
        ...(create ? { create: {} } : {}),
      });
    const { pending } = snapshots;
    if (pending === null) {
      const wal = await open(!ready);
      if (!ready) await markDirectoryReady(files, DIRECTORY, identity);
      return wal;
    }
    const old = ready ? await open(false) : null;
    const oldState = old?.hardState ?? null;
    await old?.close();
    const directory = `${DIRECTORY}/wal${snapshots.installs + 1}`;
    for (const name of await namesIn(files, directory)) {
      await files.unlink(`${directory}/${name}`);
    }
    await installLog({ files, identity, directory, old: oldState }, pending);
    await markDirectoryReady(files, DIRECTORY, identity);
    installRows(this.store, pending);
    snapshots.installs += 1;
    snapshots.pending = null;
    return open(false);
  }

  private diskDelay(): number {
    const { prng, diskMicros } = this.options;
    return prng.chance(0.02) ? prng.below(diskMicros * 20) : prng.below(diskMicros);
  }

  private watchApply(machine: Machine, tables: Tables): void {
    const execute = machine.execute.bind(machine);
    machine.execute = (entry, outcomes, events): void => {
      // Seen before the outcomes leave, so that a check comes before whoever is answered.
      execute(entry, outcomes, events);
      this.options.applied(this.id, entry, machine, tables);
    };
  }

  private attachDispatcher(group: ClusterGroup): void {
    const { time, prng } = this.options;
    const mint = new UuidMint(
      { nowMs: () => EPOCH_MS + Math.floor(time.nowMs) },
      { fill: (target) => target.forEach((_, i) => (target[i] = prng.below(256))) },
    );
    group.attachDispatcher(
      new Dispatcher(group, {
        skewMicros: 500_000,
        replyMarginMs: 50,
        maxPopBytes: 1024 * 1024,
        tickMs: 50,
        idleLaneMs: 5_000,
        monotonicMs: () => (time.nowMicros + 1_000_000) / 1000,
        mintLeaseId: () => mint.mint(),
        encodeClaim,
      }),
    );
  }
}

/** What an earlier attempt left. */
async function namesIn(files: FilePort, directory: string): Promise<string[]> {
  try {
    return await files.readdir(directory);
  } catch {
    return [];
  }
}

/** The same files, with syncs that take their time. */
function slowFiles(files: FaultyFilePort, sleep: () => Promise<void>): FilePort {
  return {
    open: async (path, mode) => {
      const file = await files.open(path, mode);
      return {
        pread: (target, position) => file.pread(target, position),
        writev: (parts, position) => file.writev(parts, position),
        writeSync: (bytes, position) => file.writeSync(bytes, position),
        truncate: (sizeBytes) => file.truncate(sizeBytes),
        sizeBytes: () => file.sizeBytes(),
        close: () => file.close(),
        fdatasync: async () => {
          await sleep();
          await file.fdatasync();
        },
      };
    },
    readdir: (directory) => files.readdir(directory),
    mkdir: (directory) => files.mkdir(directory),
    rename: (from, to) => files.rename(from, to),
    unlink: (path) => files.unlink(path),
    link: (existing, created) => files.link(existing, created),
    fsyncDir: (directory) => files.fsyncDir(directory),
  };
}
