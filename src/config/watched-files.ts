/**
 * Files the configuration names that may be replaced while the process runs (certificates and their keys):
 * read at boot, looked at again every 10 s, and handed on when they changed. What cannot be used changes
 * nothing and is told once.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

export type NamedFiles<Name extends string> = Readonly<Record<Name, Buffer>>;

export interface FileUser<Name extends string> {
  /** Takes what the files hold now; throws when that cannot be used. */
  use(files: NamedFiles<Name>): void;
  /** They cannot be read, or `use` threw. */
  refused(error: unknown): void;
}

/** Files are read again so often: what Kubernetes mounts changes behind links no watcher follows. */
const CHECK_MS = 10_000;

export class WatchedFiles<Name extends string> {
  private timer: NodeJS.Timeout | null = null;
  private refused: NamedFiles<Name> | null = null;
  /** Why they cannot be read; empty while they can. */
  private unreadable = '';

  private constructor(
    private readonly paths: Readonly<Record<Name, string>>,
    private current: NamedFiles<Name>,
  ) {}

  /** Throws what reading throws. */
  static read<Name extends string>(paths: Readonly<Record<Name, string>>): WatchedFiles<Name> {
    const read = namesOf(paths).map((name) => [name, readFileSync(paths[name])]);
    return new WatchedFiles(paths, Object.fromEntries(read) as NamedFiles<Name>);
  }

  /** What is in use. */
  get files(): NamedFiles<Name> {
    return this.current;
  }

  watch(user: FileUser<Name>, checkMs = CHECK_MS): void {
    this.timer = setInterval(() => void this.check(user), checkMs);
    this.timer.unref();
  }

  close(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  private async check(user: FileUser<Name>): Promise<void> {
    let read: NamedFiles<Name> | null = null;
    try {
      read = await this.readAgain();
      this.unreadable = '';
      if (this.timer === null || isSame(read, this.current) || isSame(read, this.refused)) return;
      user.use(read);
      this.current = read;
    } catch (error) {
      // Some of them may be there first: they are tried again until they fit, and told once.
      this.refused = read;
      if (read === null) {
        const reason = reasonOf(error);
        if (reason === this.unreadable) return;
        this.unreadable = reason;
      }
      user.refused(error);
    }
  }

  private async readAgain(): Promise<NamedFiles<Name>> {
    const read = await Promise.all(
      namesOf(this.paths).map(async (name) => [name, await readFile(this.paths[name])] as const),
    );
    return Object.fromEntries(read) as NamedFiles<Name>;
  }
}

function namesOf<Name extends string>(paths: Readonly<Record<Name, string>>): Name[] {
  return Object.keys(paths) as Name[];
}

function isSame<Name extends string>(
  read: NamedFiles<Name>,
  known: NamedFiles<Name> | null,
): boolean {
  return (
    known !== null && namesOf<Name>(read as never).every((name) => read[name].equals(known[name]))
  );
}

/** OpenSSL's words name no key bytes. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
