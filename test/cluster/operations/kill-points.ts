/**
 * A build whose process kills itself at a named step of a snapshot: the node whose directory is D dies at
 * the step that the file D.kill names, once. The broker itself has no switch for this.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { patchedBuild, type PatchedBuild, type SourcePatch } from '../../support/patched-build.js';
import type { ClusterProcesses } from '../../support/cluster-processes.js';

/** Of the node that serves the snapshot. */
export const SEND_STEPS = [
  'export-rows',
  'export-linked',
  'export-done',
  'send-piece',
  'send-digest',
  'send-verdict',
] as const;

/** Of the node that takes it, until it ends with 75. */
export const RECEIVE_STEPS = [
  'receive-piece',
  'staged',
  'halted',
  'mark-written',
  'committed',
] as const;

const at = (step: string): string =>
  `((step) => { const fs = process.getBuiltinModule('node:fs'); ` +
  `const file = process.env.QUEEN_RAFT_DIR + '.kill'; ` +
  `if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== step) return; ` +
  `fs.rmSync(file); process.kill(process.pid, 'SIGKILL'); })(${step});`;

const before = (file: string, step: string, find: string): SourcePatch => ({
  ...{ file, find, replace: `${at(`'${step}'`)}\n${find}` },
});
const after = (file: string, step: string, find: string): SourcePatch => ({
  ...{ file, find, replace: `${find}\n${at(`'${step}'`)}` },
});

const EXPORT = 'raft/snapshot/export.ts';
const FRAMES = 'raft/transport/snapshot-framing.ts';
const DESK = 'raft/group/cluster/snapshot-desk.ts';
const FILES = 'raft/snapshot/snapshot-files.ts';
const INSTALL = '    ...{ directory, identity, ready: wasReady, log: log ?? silentLog },';

export const KILL_PATCHES: readonly SourcePatch[] = [
  before(EXPORT, 'export-rows', '  await source.wal.roll();'),
  before(
    EXPORT,
    'export-linked',
    '  const descriptor = { ...moment.descriptor, ...rows, segments };',
  ),
  before(EXPORT, 'export-done', '  return descriptor;\n}'),
  after(FRAMES, 'send-piece', '    digest.update(piece);\n    yield piece;'),
  before(FRAMES, 'send-digest', '  yield digest.digest();'),
  before(DESK, 'send-verdict', '    this.sending.delete(to);'),
  after(FILES, 'receive-piece', '        left -= bytesWritten;'),
  after(DESK, 'staged', '    const staged = await this.stage(offer, bytes);'),
  {
    file: DESK,
    find: '    await staged.commit();',
    replace: `${at("'halted'")}\n    await staged.commit();\n${at("'committed'")}`,
  },
  before(FILES, 'mark-written', '        await rename('),
  {
    file: 'raft/group-files.ts',
    find: INSTALL,
    replace:
      `${INSTALL}\n    step: () => { globalThis.installed = (globalThis.installed ?? 0) + 1; ` +
      `${at('`install-${globalThis.installed}`')} },`,
  },
];

export function killingBuild(): Promise<PatchedBuild> {
  return patchedBuild(KILL_PATCHES);
}

function fileOf(cluster: ClusterProcesses, id: number): string {
  return `${cluster.directoryOf(id)}.kill`;
}

export function arm(cluster: ClusterProcesses, id: number, step: string): void {
  writeFileSync(fileOf(cluster, id), step);
}

export function isArmed(cluster: ClusterProcesses, id: number): boolean {
  return existsSync(fileOf(cluster, id));
}

export function disarm(cluster: ClusterProcesses, id: number): void {
  rmSync(fileOf(cluster, id), { force: true });
}
