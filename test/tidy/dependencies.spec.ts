/** What the broker installs: pinned, whole, from the registry, and without running anything at installation. */
import { readFileSync } from 'node:fs';

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly link?: boolean;
  readonly deprecated?: string;
  readonly hasInstallScript?: boolean;
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(path, 'utf8');
const manifest = JSON.parse(read('package.json')) as Manifest;
const { packages } = JSON.parse(read('package-lock.json')) as {
  packages: Record<string, LockedPackage>;
};
const production = Object.entries(packages).filter(
  ([path, one]) => path !== '' && one.dev !== true && one.devOptional !== true,
);
const namesOf = (those: typeof production): string[] =>
  those.map(([path]) => path.replace(/^.*node_modules\//, '')).sort();

it('names exact versions, of what the broker runs on and of what builds it', () => {
  const all = { ...manifest.dependencies, ...manifest.devDependencies };
  const loose = Object.entries(all).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version));
  expect(loose).toEqual([]);
});

it('locks every package the broker runs on by its SHA-512', () => {
  expect(production.length).toBeGreaterThan(100);
  const open = production.filter(([, one]) => one.integrity?.startsWith('sha512-') !== true);
  expect(namesOf(open)).toEqual([]);
});

it('takes nothing from a repository, an address or a folder', () => {
  const elsewhere = production.filter(
    ([, { resolved, link, version }]) =>
      link === true || resolved !== undefined || !/^\d/.test(version ?? ''),
  );
  expect(namesOf(elsewhere)).toEqual([]);
});

it('runs on nothing that was given up by its authors', () => {
  const given = production.filter(([, { deprecated }]) => deprecated !== undefined);
  expect(namesOf(given)).toEqual([]);
});

it('needs no install script, and runs none', () => {
  const scripted = production.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  // One reports installations to its authors, the other builds what its package holds ready-made.
  expect(namesOf(scripted)).toEqual(['@scarf/scarf', 'classic-level']);
  expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m);
  expect(read('deploy/docker/Dockerfile')).toMatch(/^RUN npm ci --ignore-scripts$/m);
});
