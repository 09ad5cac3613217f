/**
 * Kills the broker with SIGKILL at random moments under load, again and again: in the middle of work,
 * right after a boot, and while it boots. After each kill the load holds still and the audits run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Prng } from '../../src/common/prng.js';
import { brokerCommand, freePort, ServerProcess, sleep } from '../bench/http/server-process.js';
import { Auditor } from './audit.js';
import { BriefTraffic, isBriefTime } from './brief-traffic.js';
import { collectedIn, type Collected } from './collected.js';
import { runConsumer } from './consumer.js';
import { Gate } from './gate.js';
import { Ledger } from './ledger.js';
import { runProducer } from './producer.js';
import { between, chance, GROUPS, type WorkerParts } from './scenario.js';

const PRODUCERS = 6;
const CONSUMERS_PER_GROUP = 3;
/** Every so many kills the whole log is read, else its growth. */
const WHOLE_EVERY = 5;
const BOOT_KILL_PERCENT = 20;
const MAX_BOOT_MS = 700;
const READY_LIMIT_MS = 60_000;
/** A run of so many kills is long enough for everything it is about to happen, with some more if need be. */
const FULL_KILLS = 50;
const MORE_KILLS = 10;
/** The traffic with retention has the log to itself meanwhile, for seconds at a time. */
const LONG_LOAD_MS = 8_000;

export interface CrashOptions {
  readonly kills: number;
  readonly seed: number;
  /** Longest load between two kills. */
  readonly maxLoadMs: number;
  readonly say?: (line: string) => void;
  /** Keeps the data directory when something was broken. */
  readonly keep?: boolean;
}

export interface CrashOutcome {
  readonly ledger: Ledger;
  readonly kills: number;
  readonly bootKills: number;
  readonly slowestBootMs: number;
  readonly directory: string;
  readonly brief: BriefTraffic;
  readonly collected: Collected;
}

export class CrashRun {
  private readonly ledger = new Ledger();
  private readonly gate = new Gate();
  private readonly random: Prng;
  private readonly directory = mkdtempSync(join(tmpdir(), 'queen-crash-'));
  private server: ServerProcess | null = null;
  private port = 0;
  private kills = 0;
  private bootKills = 0;
  private slowestBootMs = 0;
  private workerError: Error | null = null;

  constructor(private readonly options: CrashOptions) {
    this.random = new Prng(options.seed);
  }

  async run(): Promise<CrashOutcome> {
    this.port = await freePort();
    const brief = new BriefTraffic(
      this.port,
      this.gate,
      new Prng(this.options.seed + 1),
      this.ledger.violations,
    );
    let collected: Collected = { unlinked: 0, rewritten: 0 };
    let workers: Promise<unknown> = Promise.resolve();
    try {
      await this.boot();
      await brief.configure();
      workers = Promise.all([this.startWorkers(), this.watched(brief.workers())]);
      const auditor = new Auditor(this.port, this.ledger, this.random);
      while (this.mustGoOn(brief)) await this.killOnce(auditor, brief);
      this.gate.end();
      await workers;
      this.throwWorkerError();
      await auditor.readWhole();
      await auditor.drain(this.gate);
      await brief.audit();
    } finally {
      this.gate.end();
      await this.server?.kill();
      await workers;
      collected = collectedIn(this.logFile);
      const { violations } = this.ledger;
      const isKept = this.options.keep === true && violations.count > 0;
      if (!isKept) rmSync(this.directory, { recursive: true, force: true });
    }
    const { ledger, kills, bootKills, slowestBootMs, directory } = this;
    return { ledger, kills, bootKills, slowestBootMs, directory, brief, collected };
  }

  /** On a slow machine a full run may need more load, then in long pieces, to do all it is to do. */
  private mustGoOn(brief: BriefTraffic): boolean {
    const { kills, options } = this;
    if (kills < options.kills) return true;
    if (kills < FULL_KILLS || kills >= options.kills + MORE_KILLS) return false;
    return lacking({ brief, collected: collectedIn(this.logFile) }).length > 0;
  }

  private async killOnce(auditor: Auditor, brief: BriefTraffic): Promise<void> {
    const loadMs = this.drawLoadMs();
    await sleep(loadMs);
    await this.server?.kill();
    this.kills += 1;
    while (this.kills < this.options.kills && chance(this.random, BOOT_KILL_PERCENT)) {
      await this.killWhileBooting();
    }
    const bootMs = await this.boot();
    await this.gate.close();
    this.throwWorkerError();
    if (this.kills % WHOLE_EVERY === 0) await auditor.readWhole();
    else await auditor.readGrowth();
    await auditor.probeDedup();
    await auditor.probeAcks();
    await brief.audit();
    const { acknowledgedMessages, counts, violations } = this.ledger;
    this.options.say?.(
      `kill ${this.kills} after ${loadMs} ms: ready in ${bootMs.toFixed(0)} ms, ${acknowledgedMessages} ` +
        `messages and ${counts.acks} acks acknowledged, ${violations.count} violations`,
    );
    this.gate.open();
  }

  /** Often short: right after a boot is when most is unfinished. */
  private drawLoadMs(): number {
    const { random, options } = this;
    if (this.kills >= options.kills) return LONG_LOAD_MS;
    return chance(random, 40) ? between(random, 0, 250) : between(random, 0, options.maxLoadMs);
  }

  private async killWhileBooting(): Promise<void> {
    const server = ServerProcess.spawn(this.command());
    this.server = server;
    await sleep(this.random.nextBelow(MAX_BOOT_MS));
    if (server.hasEnded) throw new Error(`the broker ended by itself\n${server.logTail()}`);
    await server.kill();
    this.kills += 1;
    this.bootKills += 1;
  }

  private async boot(): Promise<number> {
    this.server = ServerProcess.spawn(this.command());
    const ms = await this.server.ready(READY_LIMIT_MS);
    this.slowestBootMs = Math.max(this.slowestBootMs, ms);
    return ms;
  }

  /** Small segments that are soon purged, and checkpoints now rarely, now all the time. */
  private command(): ReturnType<typeof brokerCommand> {
    const checkpointMs = ['20', '100', '250'][this.random.nextBelow(3)] ?? '250';
    return brokerCommand({
      directory: join(this.directory, 'data'),
      port: this.port,
      logFile: this.logFile,
      env: {
        // Its lines tell what the collector of log segments did.
        LOG_LEVEL: 'info',
        QUEEN_LOG_JSON: 'true',
        RETENTION_INTERVAL: '50',
        QUEEN_RAFT_DURABLE_EVERY_MS: checkpointMs,
        QUEEN_RAFT_SEGMENT_BYTES: String(1024 * 1024),
        QUEEN_RAFT_LOG_KEEP: '200',
      },
    });
  }

  private get logFile(): string {
    return join(this.directory, 'broker.log');
  }

  private startWorkers(): Promise<unknown> {
    const { port, ledger, gate, random } = this;
    const parts = (): WorkerParts => ({
      port,
      ledger,
      gate,
      random: new Prng(random.nextUint32()),
      isResting: isBriefTime,
    });
    const workers = [
      ...Array.from({ length: PRODUCERS }, (_, i) => runProducer(i, parts())),
      ...GROUPS.flatMap((group) =>
        Array.from({ length: CONSUMERS_PER_GROUP }, () => runConsumer(group, parts())),
      ),
    ];
    return this.watched(workers);
  }

  private watched(workers: readonly Promise<void>[]): Promise<unknown> {
    return Promise.all(
      workers.map((worker) =>
        worker.catch((error: unknown) => {
          this.workerError ??= error instanceof Error ? error : new Error(String(error));
        }),
      ),
    );
  }

  private throwWorkerError(): void {
    if (this.workerError !== null) throw this.workerError;
  }
}

/** Why the run proves nothing, or the contrary; empty when all is well. */
export function problemsOf(
  outcome: Pick<CrashOutcome, 'ledger' | 'kills' | 'brief' | 'collected'>,
) {
  const { ledger, kills } = outcome;
  const problems: string[] = [];
  if (ledger.violations.count > 0) problems.push(`${ledger.violations.count} violations`);
  if (kills === 0) problems.push('no kill at all');
  if (kills < FULL_KILLS) return problems;
  return [...problems, ...lacking(outcome).map((what) => `no ${what} in ${kills} kills`)];
}

/** What did not happen at all. */
function lacking({ brief, collected }: Pick<CrashOutcome, 'brief' | 'collected'>): string[] {
  const counts: readonly (readonly [string, number])[] = [
    ['message was found cut off by retention', brief.cutOff],
    ['dead letter was read', brief.lettersSeen],
    // What is never consumed keeps most segments: they are rewritten, and the old files unlinked.
    ['log segment was unlinked or rewritten', collected.unlinked + collected.rewritten],
  ];
  return counts.filter(([, count]) => count === 0).map(([what]) => what);
}

export function outcomeText(outcome: CrashOutcome): string {
  const { ledger, kills, bootKills, slowestBootMs, brief, collected } = outcome;
  const { counts, violations } = ledger;
  return [
    `${kills} kills (${bootKills} while booting), slowest boot ${slowestBootMs.toFixed(0)} ms`,
    `${ledger.acknowledgedMessages} messages acknowledged in ${ledger.allLogs().length} partitions, ` +
      `${ledger.redelivered} deliveries of one seen before`,
    JSON.stringify(counts),
    `with retention: ${brief.ledger.acknowledgedMessages} messages acknowledged, ${brief.cutOff} found cut ` +
      `off, ${brief.lettersSeen} dead letters; ${collected.unlinked} log segments unlinked, ` +
      `${collected.rewritten} rewritten`,
    JSON.stringify(brief.ledger.counts),
    `${violations.count} violations`,
    ...violations.kept,
  ].join('\n');
}

export function outcomeTable(outcome: CrashOutcome): string {
  const { ledger, kills, bootKills, slowestBootMs, brief, collected } = outcome;
  const rows: readonly (readonly [string, number])[] = [
    ['kills', kills],
    ['… while booting', bootKills],
    ['slowest boot, ms', Math.round(slowestBootMs)],
    ['messages acknowledged', ledger.acknowledgedMessages],
    ['acks', ledger.counts.acks],
    ['pushes answered as duplicates', ledger.counts.duplicates],
    ['dedup probes', ledger.counts.dedupProbes],
    ['ack probes', ledger.counts.ackProbes],
    ['messages read by audits', ledger.counts.auditedMessages],
    ['with retention: messages acknowledged', brief.ledger.acknowledgedMessages],
    ['… cut off, as audits found', brief.cutOff],
    ['… dead letters, all with their messages', brief.lettersSeen],
    ['… dedup probes', brief.ledger.counts.dedupProbes],
    ['log segments unlinked', collected.unlinked],
    ['log segments rewritten', collected.rewritten],
    ['violations', ledger.violations.count],
  ];
  const lines = rows.map(([what, number]) => `| ${what} | ${number} |`);
  return ['| what | number |', '| --- | --- |', ...lines].join('\n');
}
