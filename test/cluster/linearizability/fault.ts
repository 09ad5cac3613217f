/** Faults a history can have: a node is killed and started again, stopped for a while, or cut off. */
import { pause, type ClusterProcesses } from '../../support/cluster-processes.js';

export const FAULTS = ['kill', 'pause', 'partition'] as const;
export type HistoryFault = (typeof FAULTS)[number];

/** Mostly the leader is hit. */
const LEADER_SHARE = 0.7;
const LEAST_MS = 700;
const MORE_MS = 1_300;
/** A fault goes on until the others have served without the victim, but no longer than this. */
const MOST_MS = 10_000;

export interface FaultTerms {
  readonly random: () => number;
  /** Enough calls were answered while the fault lasted. */
  readonly isMet: () => boolean;
}

/** Resolves when the fault is over; the node may still be coming back. */
export async function injectFault(
  cluster: ClusterProcesses,
  fault: HistoryFault,
  { random, isMet }: FaultTerms,
): Promise<void> {
  const id = await victim(cluster, random);
  const node = cluster.node(id);
  const leastMs = LEAST_MS + random() * MORE_MS;
  const last = async (): Promise<void> => {
    const from = performance.now();
    await pause(leastMs);
    while (!isMet() && performance.now() < from + MOST_MS) await pause(20);
  };
  switch (fault) {
    case 'kill': {
      const ended = node.ended();
      node.killNow();
      await ended;
      await last();
      node.start();
      return;
    }
    case 'pause':
      node.signal('SIGSTOP');
      try {
        await last();
      } finally {
        node.signal('SIGCONT');
      }
      return;
    case 'partition':
      cutOff(cluster, id, random());
      await last();
      cluster.mesh.heal();
      return;
  }
}

async function victim(cluster: ClusterProcesses, random: () => number): Promise<number> {
  const health = await Promise.all(cluster.ids.map((id) => cluster.health(id)));
  const leader = cluster.ids[health.findIndex((one) => one?.role === 'leader')];
  const any = cluster.ids[Math.floor(random() * cluster.ids.length)] ?? 1;
  return random() < LEADER_SHARE ? (leader ?? any) : any;
}

/** Whole, or one way only: it hears and is not heard, or is heard and does not hear. */
function cutOff(cluster: ClusterProcesses, id: number, dice: number): void {
  const cut = { cut: 'blackhole' } as const;
  if (dice < 0.6) {
    cluster.mesh.isolate(id, cut);
    return;
  }
  for (const other of cluster.ids) {
    if (other === id) continue;
    if (dice < 0.8) cluster.mesh.set(id, other, cut);
    else cluster.mesh.set(other, id, cut);
  }
}
