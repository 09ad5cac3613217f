/**
 * A build of the broker with source patches, beside the built one: dist/ and bin/ are copied, patched
 * files are compiled from src/ as `npm run build` does. For tests that need another release, or a
 * planted bug, in some of the processes of a cluster; the broker itself has no switch for either.
 */
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { transform, type Options } from '@swc/core';

export interface SourcePatch {
  /** Below src/. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export interface PatchedBuild {
  readonly root: string;
  remove(): Promise<void>;
}

export async function patchedBuild(patches: readonly SourcePatch[]): Promise<PatchedBuild> {
  const from = resolve('.');
  const root = await mkdtemp(join(tmpdir(), 'queen-build-'));
  const remove = (): Promise<void> => rm(root, { recursive: true, force: true });
  try {
    for (const name of ['bin', 'dist', 'package.json']) {
      await cp(join(from, name), join(root, name), { recursive: true });
    }
    await symlink(join(from, 'node_modules'), join(root, 'node_modules'));
    const options = JSON.parse(await readFile(join(from, '.swcrc'), 'utf8')) as Options;
    const sources = new Map<string, string>();
    for (const patch of patches) sources.set(patch.file, await patched(patch, from, sources));
    for (const [file, source] of sources) await compile(file, source, { root, options });
  } catch (error) {
    await remove();
    throw error;
  }
  return { root, remove };
}

async function patched(
  { file, find, replace }: SourcePatch,
  from: string,
  sources: ReadonlyMap<string, string>,
): Promise<string> {
  const source = sources.get(file) ?? (await readFile(join(from, 'src', file), 'utf8'));
  if (source.split(find).length !== 2)
    throw new Error(`the patch of ${file} does not fit: ${find}`);
  return source.replace(find, () => replace);
}

async function compile(
  file: string,
  source: string,
  place: { readonly root: string; readonly options: Options },
): Promise<void> {
  const { exclude: _exclude, ...options } = place.options;
  const { code } = await transform(source, {
    ...options,
    swcrc: false,
    sourceMaps: false,
    filename: file,
  });
  await writeFile(join(place.root, 'dist', file.replace(/\.ts$/, '.js')), code);
}
