/**
 * The faults of a three-node cluster. Each case brings its fault and takes it back; the run checks the
 * ledger and the longest outage afterwards.
 */
import { sleep } from '../../bench/http/server-process.js';
import type { ClusterProcesses } from '../../support/cluster-processes.js';

export interface Scene {
  readonly cluster: ClusterProcesses;
  /** When the fault began. */
  readonly leader: number;
  readonly followers: readonly [number, number];
}

export interface FaultCase {
  readonly name: string;
  /** Longest outage allowed, ms. */
  readonly limitMs: number;
  run(scene: Scene): Promise<void>;
}

/** Long enough for a quorum loss to be noticed (3 s) and an election after it. */
const HOLD_MS = 6_000;
const READY_MS = 60_000;
/** One attempt of a client on a node that does not answer, then an election. */
const ELECTION_LIMIT_MS = 4_000;
/** A leader that sends but hears nothing hands over after 3 s at the latest (cluster.md §1.7). */
const DEAF_LIMIT_MS = 7_000;
/** A follower's clients move to the next URL: one attempt. */
const ATTEMPT_LIMIT_MS = 1_500;

async function kill(cluster: ClusterProcesses, id: number): Promise<void> {
  const ended = cluster.node(id).ended();
  cluster.node(id).signal('SIGKILL');
  await ended;
}

async function terminate(cluster: ClusterProcesses, id: number): Promise<void> {
  const ended = cluster.node(id).ended();
  cluster.node(id).signal('SIGTERM');
  const code = await ended;
  if (code !== 0) throw new Error(`node ${id} ended with ${code} after SIGTERM`);
}

async function restart(cluster: ClusterProcesses, id: number): Promise<void> {
  cluster.node(id).start();
  await cluster.leader(cluster.ids, READY_MS);
}

async function freeze(cluster: ClusterProcesses, id: number, ms: number): Promise<void> {
  cluster.node(id).signal('SIGSTOP');
  try {
    await sleep(ms);
  } finally {
    cluster.node(id).signal('SIGCONT');
  }
}

/** Bytes from each of `from` to each of `to` vanish for a while. */
async function cut(
  { mesh }: ClusterProcesses,
  pairs: readonly (readonly [number, number])[],
): Promise<void> {
  for (const [from, to] of pairs) mesh.set(from, to, { cut: 'blackhole' });
  await sleep(HOLD_MS);
  mesh.heal();
}

const STOPS: readonly FaultCase[] = [
  {
    name: 'kill -9 leader',
    limitMs: ELECTION_LIMIT_MS,
    async run({ cluster, leader, followers }) {
      await kill(cluster, leader);
      await cluster.leader(followers, READY_MS);
      await restart(cluster, leader);
    },
  },
  {
    name: 'kill -9 follower',
    limitMs: ATTEMPT_LIMIT_MS,
    async run({ cluster, followers }) {
      await kill(cluster, followers[0]);
      await sleep(1_000);
      await restart(cluster, followers[0]);
    },
  },
  {
    name: 'SIGTERM leader',
    limitMs: 500,
    async run({ cluster, leader }) {
      await terminate(cluster, leader);
      await restart(cluster, leader);
    },
  },
  {
    name: 'SIGSTOP leader 5 s',
    limitMs: ELECTION_LIMIT_MS,
    async run({ cluster, leader }) {
      await freeze(cluster, leader, 5_000);
    },
  },
  {
    name: 'SIGSTOP leader 0.7 s',
    limitMs: ELECTION_LIMIT_MS,
    async run({ cluster, leader }) {
      await freeze(cluster, leader, 700);
    },
  },
  {
    name: 'SIGSTOP follower',
    limitMs: ATTEMPT_LIMIT_MS,
    async run({ cluster, followers }) {
      await freeze(cluster, followers[1], 3_000);
    },
  },
  {
    name: 'rolling restart',
    limitMs: 1_000,
    async run({ cluster }) {
      for (const id of cluster.ids) {
        await terminate(cluster, id);
        await restart(cluster, id);
      }
    },
  },
  {
    name: 'both followers down and back',
    // 3 s without a majority, their boot and an election.
    limitMs: 20_000,
    async run({ cluster, followers }) {
      await Promise.all(followers.map((id) => kill(cluster, id)));
      await sleep(3_000);
      for (const id of followers) cluster.node(id).start();
      await cluster.leader(cluster.ids, READY_MS);
    },
  },
];

const CUTS: readonly FaultCase[] = [
  {
    name: 'leader deaf (one-way)',
    limitMs: DEAF_LIMIT_MS,
    run: ({ cluster, leader, followers: [a, b] }) =>
      cut(cluster, [
        [a, leader],
        [b, leader],
      ]),
  },
  {
    name: 'leader mute (one-way)',
    limitMs: ELECTION_LIMIT_MS,
    run: ({ cluster, leader, followers: [a, b] }) =>
      cut(cluster, [
        [leader, a],
        [leader, b],
      ]),
  },
  {
    name: 'bridge: leader and a follower apart',
    limitMs: ELECTION_LIMIT_MS,
    run: ({ cluster, leader, followers: [a] }) =>
      cut(cluster, [
        [leader, a],
        [a, leader],
      ]),
  },
  {
    name: 'follower deaf (one-way)',
    limitMs: ELECTION_LIMIT_MS,
    run: ({ cluster, leader, followers: [a, b] }) =>
      cut(cluster, [
        [leader, a],
        [b, a],
      ]),
  },
  {
    name: 'minority: leader alone',
    limitMs: ELECTION_LIMIT_MS,
    async run({ cluster, leader }) {
      cluster.mesh.isolate(leader);
      await sleep(HOLD_MS);
      cluster.mesh.heal();
    },
  },
  {
    name: 'minority: follower alone',
    limitMs: ATTEMPT_LIMIT_MS,
    async run({ cluster, followers }) {
      cluster.mesh.isolate(followers[0]);
      await sleep(HOLD_MS);
      cluster.mesh.heal();
    },
  },
  {
    name: 'slow links: 40 ms, 1 MB/s',
    limitMs: ATTEMPT_LIMIT_MS,
    async run({ cluster }) {
      for (const id of cluster.ids) {
        cluster.mesh.isolate(id, { delayMs: 40, bytesPerSecond: 1_000_000 });
      }
      await sleep(HOLD_MS);
      cluster.mesh.heal();
    },
  },
  {
    name: 'connections reset again and again',
    limitMs: ELECTION_LIMIT_MS,
    async run({ cluster, leader }) {
      for (let i = 0; i < 5; i += 1) {
        cluster.mesh.isolate(leader, { cut: 'reset' });
        await sleep(50);
        cluster.mesh.heal();
        await sleep(500);
      }
    },
  },
];

export const ALL_FAULTS: readonly FaultCase[] = [...STOPS, ...CUTS];

export function faultsNamed(names: readonly string[]): readonly FaultCase[] {
  return names.map((name) => {
    const found = ALL_FAULTS.find((fault) => fault.name.startsWith(name));
    if (found === undefined) throw new Error(`no fault "${name}"`);
    return found;
  });
}
