/**
 * The raft groups of this process and which tenant lives in which. Features ask here and never keep a
 * group. Stops in two steps: leadership of every group goes to other members and parked pops are
 * answered while the HTTP port still serves; the groups close after it is down.
 */
import type { BeforeApplicationShutdown, OnApplicationShutdown } from '@nestjs/common';
import type { GroupId } from '../common/ids.js';
import type { Group } from './group/group.js';
import type { DispatcherHost } from './group/local-group.js';
import type { CoordinatorPort, DispatcherFigures, DispatcherPort } from './group/ports.js';
import type { GroupFigures } from './group-figures.js';
import type { BackupStream } from './snapshot/backup.js';
import { TenantPlacement } from './tenant-placement.js';
import { NO_OTHERS, type MemberQuestions } from './member-questions.js';

/** What a leader-only coordinator may use of its group. */
export type CoordinatorHost = Group & Pick<DispatcherHost, 'term'>;

/** What the process does to a group besides using it; the same for both replicators. */
export interface ProcessGroup extends Group, DispatcherHost, CoordinatorHost {
  attachDispatcher(dispatcher: DispatcherPort): void;
  attachCoordinator(coordinator: CoordinatorPort): void;
  releasePops(): void;
  /** Before the port closes: a cluster member hands leadership over. */
  leave?(): Promise<void>;
}

/** A group with what its owner may do to it. */
export interface OwnedGroup {
  readonly group: ProcessGroup;
  figures(): GroupFigures;
  /** One at a time; the state of this moment. */
  backup(): Promise<BackupStream>;
  close(): Promise<void>;
}

export class Groups implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly groups: readonly ProcessGroup[];
  private readonly dispatchers: DispatcherPort[] = [];

  constructor(
    private readonly owned: readonly OwnedGroup[],
    /** What members ask each other outside the log. */
    readonly members: MemberQuestions = NO_OTHERS,
    private readonly placement: TenantPlacement = new TenantPlacement(owned.length),
  ) {
    if (owned.length === 0) throw new Error('a process has at least one raft group');
    this.groups = owned.map(({ group }) => group);
  }

  /** A backup of one group's state on this node, null when there is none; several may be read at once. */
  backup(id: number): Promise<BackupStream> | null {
    return this.owned[id]?.backup() ?? null;
  }

  /** The group a tenant (16-byte uuid) lives in. */
  ofTenant(tenant: Uint8Array): Group {
    if (this.groups.length === 1) return this.first;
    const group = this.groups[this.placement.of(tenant)];
    if (group === undefined) throw new Error('a tenant was placed into no group');
    return group;
  }

  /** The group of cluster-wide state: group 0. */
  get first(): Group {
    const [group] = this.groups;
    if (group === undefined) throw new Error('a process has at least one raft group');
    return group;
  }

  byId(id: GroupId): Group | undefined {
    return this.groups[id];
  }

  all(): readonly Group[] {
    return this.groups;
  }

  /** Plugs a dispatcher into every group; it runs while the group leads. */
  attachDispatcher(build: (host: DispatcherHost) => DispatcherPort): void {
    for (const group of this.groups) {
      const dispatcher = build(group);
      this.dispatchers.push(dispatcher);
      group.attachDispatcher(dispatcher);
    }
  }

  /** Plugs a leader-only coordinator into every group that wants one; it runs while the group leads. */
  attachCoordinator(build: (host: CoordinatorHost) => CoordinatorPort | null): void {
    for (const group of this.groups) {
      const coordinator = build(group);
      if (coordinator !== null) group.attachCoordinator(coordinator);
    }
  }

  /** Numbers of each group's log, store and disk, for the metrics. */
  figures(): readonly GroupFigures[] {
    return this.owned.map((owned) => owned.figures());
  }

  /** Numbers of each group's dispatcher, for the metrics. */
  dispatcherFigures(): readonly DispatcherFigures[] {
    return this.dispatchers.flatMap((dispatcher) => dispatcher.figures?.() ?? []);
  }

  /**
   * While the HTTP port still serves: leadership goes to another member, then parked pops are let go,
   * so that the port can close.
   */
  async beforeApplicationShutdown(): Promise<void> {
    await this.leave();
    for (const group of this.groups) group.releasePops();
  }

  /** Leadership of every group goes to another member; none is taken up again. */
  async leave(): Promise<void> {
    await Promise.all(this.groups.map((group) => group.leave?.() ?? Promise.resolve()));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  async close(): Promise<void> {
    await Promise.all(this.owned.map(({ close }) => close()));
  }
}
