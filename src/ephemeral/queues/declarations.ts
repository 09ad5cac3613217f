/** The replicated declarations as the queues of this node see them. */
import type { Groups } from '../../raft/index.js';

export interface Declarations {
  /** Grows with every change. */
  readonly version: number;
  /** Options as sent, null when the queue is not declared. */
  find(tenant: Uint8Array, queue: string): string | null;
  list(tenant: Uint8Array): readonly string[];
}

/** Those of the group a tenant lives in; one group today, so one version. */
export function declarationsOf(groups: Groups): Declarations {
  return {
    get version() {
      return groups.all().reduce((sum, group) => sum + group.tables.ephemeral.version, 0);
    },
    find(tenant, queue) {
      const { names, ephemeral } = groups.ofTenant(tenant).tables;
      const id = names.tenant(tenant);
      return (id === undefined ? undefined : ephemeral.find(id, queue))?.optionsText ?? null;
    },
    list(tenant) {
      const { names, ephemeral } = groups.ofTenant(tenant).tables;
      const id = names.tenant(tenant);
      return id === undefined ? [] : ephemeral.list(id);
    },
  };
}
