/**
 * One damage at a time: a flipped bit, a cut, a deleted file, two files of one kind exchanged, or (where
 * a kind has one file only) an older content of it.
 */
import * as fs from 'node:fs';
import { join } from 'node:path';
import type { Prng } from '../../../src/common/prng.js';
import { filesOf } from './sample.js';

export type Damage = 'flip' | 'truncate' | 'delete' | 'swap' | 'old';

export interface Fault {
  readonly file: string;
  /** The file, and one it was exchanged with. */
  readonly damaged: readonly string[];
  readonly kind: string;
  readonly damage: Damage;
  readonly what: string;
  apply(directory: string): void;
}

export interface FaultPlan {
  readonly directory: string;
  /** The same directory at an earlier time. */
  readonly old: string;
  readonly places: number;
  /** At most so many files of one kind, chosen at random. */
  readonly filesPerKind: number;
  readonly prng: Prng;
}

/** A log segment that was rewritten. */
const REVISION = /-r\d+\.seg$/;
const SLOT_BYTES = 4096;
const HEAD_BYTES = 100;
const TAIL_BYTES = 80;

export function kindOf(file: string): string {
  const [room = '', name = ''] = file.split('/');
  if (name === '') return room;
  if (REVISION.test(name)) return `${room}/*-r.seg`;
  const extension = /\.(seg|ldb|log|run|tmp)$/.exec(name)?.[1];
  if (extension !== undefined) return `${room}/*.${extension}`;
  if (name.startsWith('MANIFEST')) return `${room}/MANIFEST`;
  return name.startsWith('LOG') ? `${room}/LOG` : file;
}

export function* faultsOf(plan: FaultPlan): Generator<Fault> {
  const byKind = new Map<string, string[]>();
  for (const file of filesOf(plan.directory)) {
    const kind = kindOf(file);
    byKind.set(kind, [...(byKind.get(kind) ?? []), file]);
  }
  for (const [kind, files] of byKind) {
    for (const file of chosen(files, plan)) yield* faultsOfFile(plan, { file, kind, files });
  }
}

/** The newest file of a kind is always among the chosen ones. */
function chosen(files: readonly string[], { prng, filesPerKind }: FaultPlan): string[] {
  const rest = [...files];
  const picked = rest.splice(-1);
  while (rest.length > 0 && picked.length < filesPerKind) {
    picked.push(...rest.splice(prng.nextBelow(rest.length), 1));
  }
  return picked;
}

function* faultsOfFile(
  plan: FaultPlan,
  place: { readonly file: string; readonly kind: string; readonly files: readonly string[] },
): Generator<Fault> {
  const { prng, places, directory } = plan;
  const { file, kind, files } = place;
  const content = fs.readFileSync(join(directory, file));
  const fault = (damage: Damage, what: string, apply: (path: string) => void): Fault => ({
    ...{ file, damaged: [file], kind, damage, what },
    apply: (target) => apply(join(target, file)),
  });
  for (let i = 0; i < places && content.length > 0; i += 1) {
    const at = randomPlace(content.length, prng);
    const flipped = Buffer.from(content);
    flipped[at] = (flipped[at] as number) ^ (1 << prng.nextBelow(8));
    yield fault('flip', `byte ${at}`, (path) => fs.writeFileSync(path, flipped));
    const length = randomPlace(content.length, prng);
    yield fault('truncate', `to ${length} of ${content.length}`, (path) =>
      fs.truncateSync(path, length),
    );
  }
  yield fault('delete', '', (path) => fs.rmSync(path));
  const siblings = files.filter((other) => other !== file);
  for (let i = 0; i < Math.min(places, siblings.length); i += 1) {
    const other = siblings.splice(prng.nextBelow(siblings.length), 1)[0] as string;
    const swapped = fs.readFileSync(join(directory, other));
    yield {
      ...fault('swap', `with ${other}`, () => undefined),
      damaged: [file, other],
      apply: (target) => {
        fs.writeFileSync(join(target, file), swapped);
        fs.writeFileSync(join(target, other), content);
      },
    };
  }
  // Of a rewritten segment also as it was before.
  const before = [file, file.replace(REVISION, '.seg')].map((name) => join(plan.old, name));
  const earlier = before.find((path) => fs.existsSync(path));
  if (earlier === undefined || fs.readFileSync(earlier).equals(content)) return;
  yield fault('old', '', (path) => fs.copyFileSync(earlier, path));
}

/** Anywhere, but often where headers, slots and footers are. */
function randomPlace(length: number, prng: Prng): number {
  const dice = prng.nextBelow(4);
  if (dice === 0) return length - 1 - prng.nextBelow(Math.min(length, TAIL_BYTES));
  if (dice === 1) {
    const slot = prng.nextBelow(Math.ceil(length / SLOT_BYTES)) * SLOT_BYTES;
    return Math.min(length - 1, slot + prng.nextBelow(HEAD_BYTES));
  }
  return prng.nextBelow(length);
}
