/**
 * The Helm chart: committed renderings of every profile say what the broker reads; with the helm binary
 * at hand they are compared to what the chart renders now (HELM=path, or helm on the PATH).
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../src/config/index.js';
import { ENV_TABLE } from '../../src/config/table.js';
import { readObjects, type KubeObject } from './kube-objects.js';
import { problemsOf } from './kube-schemas.js';

const ROOT = join(__dirname, '..', '..');
const CHART = join(ROOT, 'helm/queen');
const GOLDEN = join(__dirname, 'golden');
const PROFILES = ['single', 'three', 'three-groups', 'five-secure'] as const;
const HELM = process.env['HELM'] ?? 'helm';

interface ServicePort {
  readonly name: string;
  readonly port: number;
  readonly targetPort: string;
}

/** Every variable the broker reads. */
const VARIABLES = Object.values(ENV_TABLE).flatMap((group) => Object.values(group));

const read = (path: string): string => readFileSync(path, 'utf8');
const golden = (profile: string): string => read(join(GOLDEN, `${profile}.yaml`));

function render(profile: string): string | null {
  const values = join(CHART, 'profiles', `${profile}.yaml`);
  const set = profile === 'five-secure' ? [] : ['--set', 'secrets.raftToken=golden'];
  const args = [
    'template',
    'queen',
    CHART,
    '--namespace',
    'mq',
    '--kube-version',
    '1.30.0',
    '--values',
    values,
    ...set,
  ];
  const run = spawnSync(HELM, args, { encoding: 'utf8' });
  if (run.error !== undefined) return null;
  if (run.status !== 0) throw new Error(run.stderr);
  return run.stdout;
}

function leaves(value: unknown, path: string): string[] {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isMap || Object.keys(value).length === 0 || path === 'resources') return [path];
  return Object.entries(value).flatMap(([key, inner]) =>
    leaves(inner, path === '' ? key : `${path}.${key}`),
  );
}

describe.each(PROFILES)('profile %s', (profile) => {
  const objects = readObjects(golden(profile));
  const one = (kind: string): KubeObject => {
    const found = objects.filter((object) => object.kind === kind);
    expect([kind, found.length]).toEqual([kind, 1]);
    return found[0]!;
  };
  const clustered = profile !== 'single';
  const groups = profile === 'three-groups' ? 3 : 1;
  const raftPorts = Array.from({ length: groups }, (_, i) => (i === 0 ? 'raft' : `raft-${i}`));

  it('is strict YAML without a key twice', () => {
    for (const document of parseAllDocuments(golden(profile), { strict: true, uniqueKeys: true })) {
      expect(document.errors).toEqual([]);
    }
  });

  it('is what the chart renders, where helm is installed', () => {
    const now = render(profile);
    if (now === null) return;
    expect(now).toBe(golden(profile));
  });

  it('gives the broker an environment it accepts without a warning', () => {
    const container = one('StatefulSet').container();
    const data = one('ConfigMap').raw['data'] as Record<string, string>;
    const named = Object.fromEntries(container.env.map(({ name }) => [name, undefined]));
    const env = {
      ...data,
      ...named,
      HOSTNAME: 'queen-1',
      ...(clustered ? { QUEEN_RAFT_TOKEN: 'x' } : {}),
    };
    const { config, warnings } = loadConfig(env);
    expect(warnings).toEqual([]);
    expect(config.raft.clustered).toBe(clustered);
    expect(config.raft.peers.length).toBe(clustered ? one('StatefulSet').replicas() : 0);
    expect(config.server.port).toBe(container.port('http'));
    expect(config.raft.groups).toBe(groups);
  });

  it('addresses every pod through the headless service, before it is ready', () => {
    const headless = objects.find((object) => object.name() === 'queen-headless')!;
    const spec = headless.raw['spec'] as Record<string, unknown>;
    expect(spec['clusterIP']).toBe('None');
    expect(spec['publishNotReadyAddresses']).toBe(true);
    const set = one('StatefulSet').raw['spec'] as Record<string, unknown>;
    expect(set['serviceName']).toBe('queen-headless');
    expect(set['podManagementPolicy']).toBe('Parallel');
    const data = one('ConfigMap').raw['data'] as Record<string, string>;
    if (!clustered) return;
    const peers = (data['QUEEN_RAFT_PEERS'] ?? '').split(',');
    const expected = Array.from({ length: one('StatefulSet').replicas() }, (_, i) => {
      const host = `queen-${i}.queen-headless.mq.svc.cluster.local`;
      return `${i + 1}=${host}:7400/${host}:6632`;
    });
    expect(peers).toEqual(expected);
  });

  it('probes what tells the truth: readiness by health, liveness by a connection', () => {
    const container = one('StatefulSet').container();
    const scheme = profile === 'five-secure' ? 'HTTPS' : 'HTTP';
    expect(container.raw['readinessProbe']).toMatchObject({
      httpGet: { path: '/health', port: 'http', scheme },
    });
    expect(container.raw['livenessProbe']).toMatchObject({ tcpSocket: { port: 'http' } });
    expect(container.raw['startupProbe']).toMatchObject({
      tcpSocket: { port: 'http' },
      ...{ periodSeconds: 5, failureThreshold: 360 },
    });
  });

  it('runs without privileges on a read-only root, with its data on the volume', () => {
    const set = one('StatefulSet');
    const container = set.container();
    expect(set.pod()).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532 },
    });
    expect(container.raw['securityContext']).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const data = one('ConfigMap').raw['data'] as Record<string, string>;
    expect(container.raw['volumeMounts']).toContainEqual({
      ...{ name: 'data', mountPath: data['QUEEN_RAFT_DIR'] },
    });
    const resources = container.raw['resources'] as { limits: Record<string, string> };
    expect(Object.keys(resources.limits)).toEqual(['memory']);
  });

  it('keeps the raft port for the nodes', () => {
    const rules = (one('NetworkPolicy').raw['spec'] as { ingress: { ports: { port: string }[] }[] })
      .ingress;
    const open = rules.filter((rule) => rule.ports.some(({ port }) => port.startsWith('raft')));
    expect(open).toHaveLength(1);
    expect(open[0]).toMatchObject({ from: [{ podSelector: {} }] });
    expect(open[0]?.ports.map(({ port }) => port)).toEqual([...raftPorts, 'http']);
  });

  it('has a port for every raft group, in the pod and in the headless service', () => {
    const ports = one('StatefulSet').container().raw['ports'] as { name: string }[];
    const headless = objects.find((object) => object.name() === 'queen-headless')!;
    const served = (headless.raw['spec'] as { ports: ServicePort[] }).ports;
    for (const [i, name] of raftPorts.entries()) {
      const containerPort = 7400 + i;
      expect(ports).toContainEqual({ name, containerPort, protocol: 'TCP' });
      expect(served).toContainEqual({
        ...{ name, port: containerPort, targetPort: name, protocol: 'TCP' },
      });
    }
    expect(ports.filter(({ name }) => name.startsWith('raft'))).toHaveLength(groups);
  });

  it('is what the Kubernetes API takes, field by field', () => {
    expect(objects.flatMap(problemsOf)).toEqual([]);
  });

  it('refers only to settings the broker knows', () => {
    const known = VARIABLES.map(({ name }) => name);
    const data = one('ConfigMap').raw['data'] as Record<string, string>;
    const container = one('StatefulSet').container();
    for (const name of [...Object.keys(data), ...container.env.map((entry) => entry.name)]) {
      expect([name, known.includes(name)]).toEqual([name, true]);
    }
  });
});

describe('the clustered profiles', () => {
  it.each(['three', 'three-groups', 'five-secure'])(
    '%s spreads nodes and allows one disruption',
    (profile) => {
      const objects = readObjects(golden(profile));
      const set = objects.find(({ kind }) => kind === 'StatefulSet')!;
      const affinity = set.pod()['affinity'] as Record<string, Record<string, unknown[]>>;
      expect(
        affinity['podAntiAffinity']?.['requiredDuringSchedulingIgnoredDuringExecution'],
      ).toHaveLength(1);
      const budget = objects.find(({ kind }) => kind === 'PodDisruptionBudget')!;
      expect(budget.raw['spec']).toMatchObject({ maxUnavailable: 1 });
    },
  );

  it('the secure one keeps no secret in its manifests', () => {
    const kinds = readObjects(golden('five-secure')).map(({ kind }) => kind);
    expect(kinds).not.toContain('Secret');
    expect(kinds).toContain('HTTPRoute');
  });
});

describe('the values', () => {
  const values = parse(read(join(CHART, 'values.yaml'))) as unknown;

  it('stand in the README of the chart, every one', () => {
    const text = read(join(CHART, 'README.md'));
    const missing = leaves(values, '').filter((path) => !text.includes(`| \`${path}\` |`));
    expect(missing).toEqual([]);
  });

  it('have a schema that knows every one', () => {
    const schema = JSON.parse(read(join(CHART, 'values.schema.json'))) as unknown;
    for (const path of leaves(values, '')) {
      let node: unknown = schema;
      for (const key of path.split('.')) {
        node = (node as { properties?: Record<string, unknown> }).properties?.[key];
      }
      expect([path, node !== undefined]).toEqual([path, true]);
    }
  });
});

it('a field that the Kubernetes API does not know is found', () => {
  const objects = readObjects(
    golden('single').replace('containerPort: 6632', 'containerport: 6632'),
  );
  const problems = objects.flatMap(problemsOf).join();
  expect(problems).toContain('containerport');
  expect(problems).toContain("must have required property 'containerPort'");
});

it('every committed rendering belongs to a profile', () => {
  expect(readdirSync(GOLDEN).sort()).toEqual(PROFILES.map((name) => `${name}.yaml`).sort());
  expect(existsSync(join(CHART, 'profiles', 'three.yaml'))).toBe(true);
});
