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
    for (const patch of patches) await apply(patch, { from, root, options });
  } catch (error) {
    await remove();
    throw error;
  }
  return { root, remove };
}

async function apply(
  { file, find, replace }: SourcePatch,
  place: { readonly from: string; readonly root: string; readonly options: Options },
): Promise<void> {
  const source = await readFile(join(place.from, 'src', file), 'utf8');
  if (source.split(find).length !== 2) throw new Error(`the patch of ${file} does not fit`);
  const { exclude: _exclude, ...options } = place.options;
  const { code } = await transform(
    source.replace(find, () => replace),
    {
      ...options,
      swcrc: false,
      sourceMaps: false,
      filename: file,
    },
  );
  await writeFile(join(place.root, 'dist', file.replace(/\.ts$/, '.js')), code);
}
