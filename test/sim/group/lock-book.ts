/**
 * Locks as work for the simulated cluster: owners take a lock for a lifetime on the log's clock, renew it,
 * and write under its guard, through nodes that are paused, cut off and whose clocks jump. An owner may
 * believe in its lock until its lifetime after it asked, less the skew that clocks may have. Then no two
 * owners hold at once, and nothing is written under a token after a newer one was handed out.
 */
import { CommandKind } from '../../../src/machine/commands/catalogue.js';
import type { Outcome } from '../../../src/machine/commands/catalogue.js';
import { encodeKvCall, KvOpKind, NO_EXPECT } from '../../../src/machine/commands/index.js';
import type { KvPlannedOp } from '../../../src/machine/commands/index.js';
import type { PreparedCommand } from '../../../src/raft/group/group.js';
import { OTHER_TENANT } from '../../support/machine-harness.js';
import type { Oracle } from './oracle.js';

export const LOCK_TTL_MS = 1_500;
/** As the broker is configured by default; the simulation's clocks stay inside. */
const SKEW_MS = 500;
const LOCK = 'job#0';

const text = new TextEncoder();

function operation(kind: KvOpKind, key: string, terms: Partial<KvPlannedOp>): KvPlannedOp {
  return {
    ...{ kind, key, namespace: 'queen-locks', required: false, expect: NO_EXPECT },
    ...{ ttlMicros: 0, value: text.encode('1'), min: null, max: null },
    ...terms,
  };
}

function call(...operations: readonly KvPlannedOp[]): PreparedCommand {
  return { bytes: encodeKvCall(OTHER_TENANT, { reads: false, operations }) };
}

const lifetime = (owner: number): Partial<KvPlannedOp> => ({
  ttlMicros: LOCK_TTL_MS * 1000,
  value: text.encode(`{"owner":"o${owner}"}`),
});

export const acquireCommand = (owner: number): PreparedCommand =>
  call(operation(KvOpKind.Put, LOCK, { ...lifetime(owner), expect: 0 }));

export const renewCommand = (owner: number, token: number): PreparedCommand =>
  call(operation(KvOpKind.Put, LOCK, { ...lifetime(owner), expect: token }));

export const releaseCommand = (token: number): PreparedCommand =>
  call(operation(KvOpKind.Delete, LOCK, { expect: token }));

/** The guard stands first in byte order, as it does beside other namespaces. */
export const guardedCommand = (token: number): PreparedCommand =>
  call(
    operation(KvOpKind.Check, LOCK, { expect: token, required: true }),
    operation(KvOpKind.Put, 'written', { value: text.encode(String(token)) }),
  );

/** Version of the last write of the call; 0 when it did nothing. */
export function versionOf(outcome: Outcome): number {
  if (outcome.kind !== CommandKind.KvCall) throw new Error('not a key-value call');
  const last = outcome.results.at(-1);
  return outcome.failed >= 0 || last?.applied !== true ? 0 : last.version;
}

interface Holder {
  readonly owner: number;
  readonly untilMs: number;
}

/** What owners were told; versions are in the order of the log. */
export class LockBook {
  private holder: Holder | null = null;
  private readonly tokens: number[] = [];
  private readonly written: { readonly token: number; readonly version: number }[] = [];

  constructor(
    private readonly oracle: Oracle,
    private readonly nowMs: () => number,
  ) {}

  /** `askedMs`: when the call was sent. False: the answer came too late to be worth anything. */
  granted(owner: number, token: number, askedMs: number): boolean {
    const now = this.nowMs();
    const { holder, tokens } = this;
    const isHeld = holder !== null && holder.owner !== owner && holder.untilMs > now;
    if (isHeld) this.oracle.fail(`${owner} and ${holder.owner} hold the lock at ${now} ms`);
    tokens.push(token);
    for (const one of this.written) this.checkFence(one);
    const untilMs = askedMs + LOCK_TTL_MS - SKEW_MS;
    if (untilMs <= now) return false;
    this.holder = { owner, untilMs };
    return true;
  }

  /** From here on it may be anybody's. */
  released(owner: number): void {
    if (this.holder?.owner === owner) this.holder = null;
  }

  wrote(token: number, version: number): void {
    const one = { token, version };
    this.written.push(one);
    this.checkFence(one);
  }

  private checkFence({ token, version }: { token: number; version: number }): void {
    const newer = this.tokens.find((other) => other > token && other < version);
    if (newer === undefined) return;
    this.oracle.fail(`written under token ${token} at ${version}, after ${newer} was handed out`);
  }
}
