/** The deployment files parse and say what the broker reads. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/index.js';
import { STOP_BOUNDS } from '../../src/lifecycle/stop-serving.js';

const ROOT = join(__dirname, '..', '..');

interface Service {
  readonly environment: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly volumes: readonly string[];
  readonly restart: string;
  readonly stop_grace_period: string;
}

function compose(): Record<string, Service> {
  const text = readFileSync(join(ROOT, 'deploy/compose/three-node/compose.yaml'), 'utf8');
  const parsed = parse(text, { merge: true }) as { services: Record<string, Service> };
  return parsed.services;
}

describe('compose file of three nodes', () => {
  it('gives each node its id, port and volume, and the same peer list', () => {
    const services = Object.values(compose());
    expect(services).toHaveLength(3);
    expect(new Set(services.map((s) => s.environment['QUEEN_RAFT_PEERS'])).size).toBe(1);
    services.forEach((service, i) => {
      expect(service.environment['QUEEN_RAFT_NODE_ID']).toBe(String(i + 1));
      expect(service.ports).toEqual([`127.0.0.1:${i + 1}6632:6632`]);
      expect(service.volumes).toEqual([`queen-${i + 1}:/var/lib/queen/raft`]);
      expect(service.restart).toBe('unless-stopped');
      expect(service.stop_grace_period).toBe('60s');
    });
  });

  it('is an environment that the broker accepts', () => {
    for (const { environment } of Object.values(compose())) {
      const { config, warnings } = loadConfig({ ...environment, QUEEN_RAFT_TOKEN: 'x' });
      expect(config.raft.clustered).toBe(true);
      expect(config.raft.peers).toHaveLength(3);
      expect(warnings).toEqual([]);
    }
  });
});

describe('Dockerfile', () => {
  const text = readFileSync(join(ROOT, 'deploy/docker/Dockerfile'), 'utf8');

  it('runs the launcher without root and checks its health', () => {
    expect(text).toMatch(/^USER 65532:65532$/m);
    expect(text).toMatch(/^HEALTHCHECK /m);
    expect(text).toMatch(/^ENTRYPOINT \["node", "\/app\/bin\/queen.cjs"\]$/m);
  });

  it('copies files that exist', () => {
    for (const [, files = ''] of text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)) {
      for (const file of files.split(' ')) {
        expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
      }
    }
  });
});

describe('README of three nodes', () => {
  const page = readFileSync(join(ROOT, 'deploy/compose/three-node/README.md'), 'utf8');

  it('begins where the reader is, and its secret is not committed by accident', () => {
    expect(page).toContain('cd deploy/compose/three-node ');
    expect(readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n')).toContain('.env');
  });

  it('acknowledges what was popped, whatever the partition is called', () => {
    expect(page).not.toMatch(/"partitionId":"\d+"/);
  });

  it('starts one node again in a way that exists', () => {
    expect(page).toContain('npm run cluster -- --only N');
    const cluster = (
      ...args: string[]
    ): { status: number | null; stdout: string; stderr: string } =>
      spawnSync(process.execPath, [join(ROOT, 'bin', 'cluster.cjs'), ...args], {
        encoding: 'utf8',
      });
    expect(cluster('--help')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('--only N') as string,
    });
    for (const wrong of [['--only', '4'], ['--only'], ['2']]) {
      const { status, stderr } = cluster(...wrong);
      expect([status, stderr.includes('usage: npm run cluster')]).toEqual([2, true]);
    }
  });

  it('gives a node that stops the time it may take', () => {
    const text = readFileSync(join(ROOT, 'bin', 'cluster.cjs'), 'utf8');
    const [, given = ''] = /^const STOP_MS = ([\d_]+);$/m.exec(text) ?? [];
    expect(Number(given.replace(/_/g, ''))).toBeGreaterThan(STOP_BOUNDS.endMs);
  });
});
