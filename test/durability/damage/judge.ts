/**
 * Starts the whole group on a damaged directory and says what came of it. Allowed: a refusal that names
 * a file of the directory and a cure; everything served as if nothing had happened; or a node that
 * stopped by itself, naming file and cure, when a read or the scrub met the damage. Anything else throws.
 */
import type { Prng } from '../../../src/common/prng.js';
import { openLocalGroup, type OpenedLocalGroup } from '../../../src/raft/open-local-group.js';
import { BrokenPromise, checkGroup } from '../support/check.js';
import type { Ledger } from '../support/ledger.js';
import { groupOptions } from './sample.js';

export type Outcome = 'refused' | 'repaired' | 'found';

const SCRUB_BYTES_PER_SECOND = 1e9;
const SCRUB_WAIT_MS = 60_000;
const STOP_WAIT_MS = 60_000;
const CURE =
  /replace this node|restore a backup|rebuilt|Put back the files|move this file away|Start the/;

export class Unacceptable extends Error {
  override readonly name = 'Unacceptable';
}

export interface HowToJudge {
  /** The damaged file is one the scrub reads, so nothing in it goes unnoticed. */
  readonly isSegment: boolean;
  /** Chooses the ids that are sent again; absent: all. */
  readonly prng?: Prng;
}

export async function judge(directory: string, ledger: Ledger, how: HowToJudge): Promise<Outcome> {
  const first = await served(directory, ledger, how.prng);
  if (first !== 'repaired' || !how.isSegment) return first;
  if ((await scrubbed(directory)) === 'repaired') throw new Unacceptable('the scrub misses it');
  return 'found';
}

/** Nothing is damaged: all is served and the scrub finds nothing. */
export async function judgeWhole(directory: string, ledger: Ledger): Promise<void> {
  const outcomes = [await served(directory, ledger), await scrubbed(directory)];
  if (outcomes.some((outcome) => outcome !== 'repaired')) {
    throw new Error(`a directory without damage is ${outcomes.join(', then ')}`);
  }
}

async function served(directory: string, ledger: Ledger, prng?: Prng): Promise<Outcome> {
  let opened: OpenedLocalGroup;
  try {
    opened = await openLocalGroup(groupOptions(directory));
  } catch (error) {
    mustExplain(error instanceof Error ? error.message : String(error), directory);
    return 'refused';
  }
  try {
    await checkGroup(opened.group, ledger, prng);
    if (opened.group.status().role === 'stopped') return await foundBy(opened, directory);
    return 'repaired';
  } catch (error) {
    if (error instanceof BrokenPromise) throw new Unacceptable(`serves less: ${error.message}`);
    return await foundBy(opened, directory, error);
  } finally {
    await opened.close();
  }
}

/** It stops once the pops that met the damage are handed back. */
async function foundBy(
  opened: OpenedLocalGroup,
  directory: string,
  error?: unknown,
): Promise<Outcome> {
  const end = performance.now() + STOP_WAIT_MS;
  while (opened.group.status().role !== 'stopped' && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { role, failure } = opened.group.status();
  if (role !== 'stopped' || failure === null) {
    throw new Unacceptable(`serves on after ${error instanceof Error ? error.stack : error}`);
  }
  mustExplain(failure.error, directory);
  return 'found';
}

/** What no client can read (entries of claims, say) only the scrub meets. */
async function scrubbed(directory: string): Promise<Outcome> {
  let passed: (isWhole: boolean) => void = () => undefined;
  const pass = new Promise<boolean>((resolve) => {
    passed = resolve;
  });
  let isFound = false;
  const note = (event: string): void => {
    if (event === 'damaged segment found by the scrub') isFound = true;
    if (event === 'segments scrubbed') passed(true);
  };
  const opened = await openLocalGroup({
    ...groupOptions(directory),
    scrub: {
      ...{ bytesPerSecond: SCRUB_BYTES_PER_SECOND, pauseMs: SCRUB_WAIT_MS },
      ...{ rowsPerSecond: 1, storeEveryMs: 0 },
    },
    log: { info: note, warn: note, error: note },
  });
  const timer = setTimeout(() => passed(false), SCRUB_WAIT_MS);
  try {
    const isWhole = await pass;
    // It stops a little later: when its last pops are answered.
    if (isFound || opened.group.status().role === 'stopped')
      return await foundBy(opened, directory);
    if (!isWhole) throw new Unacceptable('the scrub did not come to its end');
    return 'repaired';
  } finally {
    clearTimeout(timer);
    await opened.close();
  }
}

function mustExplain(message: string, directory: string): void {
  if (!message.includes(`${directory}/`)) throw new Unacceptable(`names no file: ${message}`);
  if (!CURE.test(message)) throw new Unacceptable(`names no cure: ${message}`);
}
