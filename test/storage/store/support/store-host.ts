/**
 * Drives a child process that runs one build of the store: checks directories, or lets it write and
 * kills it. A child that dies by itself is reported as such, never mistaken for a refusal.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { changesOf } from './workload.js';

export interface Opened {
  checkpoint: number;
  appliedIndex: number;
  rowCount: number;
  digest: number;
  cutBytes: number;
}

export interface Refused {
  code?: string;
  file?: string;
  cure?: string;
  message: string;
  byteOffset?: number;
}

export interface Verdict {
  opened?: Opened;
  refused?: Refused;
  /** It opened, and then a row did not check or LevelDB failed. */
  openedDamaged?: { code?: string; message: string };
  crashed?: string;
}

/** What the child noted in the file `seen`, next to the directory. */
export interface Seen {
  confirmed: number;
  /** Length of each LevelDB log that was synced, by file name. */
  synced: Record<string, number>;
}

export interface Progress extends Verdict {
  ready?: boolean;
  done?: boolean;
  id?: number;
  confirmed?: number;
}

const CHILD = join(__dirname, 'store-child.mjs');

export class StoreHost {
  private child: ChildProcess | undefined;
  private nextId = 1;

  constructor(private readonly build: string) {}

  start(onMessage: (message: Progress) => void, onExit: (why: string) => void): ChildProcess {
    const child = fork(CHILD, [this.build, changesOf.toString()], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('message', (message) => onMessage(message as Progress));
    child.on('exit', (code, signal) => onExit(`exit code ${code} signal ${signal}`));
    return child;
  }

  /** Opens the directory in the child, reads all, closes. */
  check(directory: string): Promise<Verdict> {
    return new Promise((resolve) => {
      const id = this.nextId++;
      this.child ??= this.start(
        () => undefined,
        () => (this.child = undefined),
      );
      const child = this.child;
      const crashed = (code: number | null, signal: string | null): void => {
        this.child = undefined;
        resolve({ crashed: `exit code ${code} signal ${signal}` });
      };
      const answered = (message: unknown): void => {
        if ((message as Progress).id !== id) return;
        child.off('message', answered);
        child.off('exit', crashed);
        resolve(message as Verdict);
      };
      child.on('message', answered);
      child.once('exit', crashed);
      child.send({ do: 'check', id, directory });
    });
  }

  /** Writes checkpoints until `upTo` and kills the process after the last is confirmed. */
  writeUpTo(directory: string, seed: number, upTo: number): Promise<Progress> {
    return new Promise((resolve, reject) => {
      let last: Progress = {};
      const child = this.start(
        (message) => {
          if (message.ready === true) child.send({ do: 'run', directory, seed, upTo });
          if (message.confirmed !== undefined) last = message;
          if (message.refused !== undefined) reject(new Error(message.refused.message));
          // A moment for LevelDB's compaction, so that tables lie on several levels.
          if (message.done === true) setTimeout(() => child.kill('SIGKILL'), 500);
        },
        () => resolve(last),
      );
    });
  }

  stop(): void {
    this.child?.kill('SIGKILL');
  }
}
