/**
 * What a verification tells: damage, in the words a start refuses with (file, byte, cure), and notes,
 * which are things to know that no start is refused for. Paths of the scratch are told as those of the
 * directory that is verified.
 */
import { CURE_REPLACE } from '../../storage/index.js';

export interface Finding {
  readonly severity: 'damage' | 'note';
  readonly group: number;
  /** Null where no single file is to blame. */
  readonly file: string | null;
  readonly byteOffset: number | null;
  readonly cure: string | null;
  /** All of it in one line. */
  readonly text: string;
}

/** Errors of the room that read the file: WalDamageError, StoreDamageError, IdRunDamage. */
interface Located {
  readonly message?: unknown;
  readonly file?: unknown;
  /** Of a system error. */
  readonly path?: unknown;
  readonly byteOffset?: unknown;
  readonly cure?: unknown;
}

/** Findings told one by one; beyond it they are only counted. */
const MAX_FINDINGS = 1_000;
/** What is told of a file without the cure in its text. */
const CURELESS: ReadonlySet<string> = new Set(['DecodeError', 'RowsDamage']);

export class Findings {
  private readonly found: Finding[] = [];
  private uncounted = 0;
  private readonly told = new Set<string>();
  /** Paths that stand for others: scratch → verified. */
  private readonly aliases: [from: string, to: string][] = [];

  /** `cure` stands for those of the errors: what helps a data directory does not help a backup. */
  constructor(
    private readonly group: number,
    private readonly cure: string | null = null,
  ) {}

  get list(): readonly Finding[] {
    if (this.uncounted === 0) return this.found;
    const text = `${this.uncounted} more findings`;
    const place = { file: null, byteOffset: null, cure: null };
    return [...this.found, { severity: 'damage', group: this.group, ...place, text }];
  }

  get damages(): number {
    return this.list.filter(({ severity }) => severity === 'damage').length;
  }

  alias(from: string, to: string): void {
    this.aliases.push([from, to]);
    // A place inside another comes first.
    this.aliases.sort(([a], [b]) => b.length - a.length);
  }

  damaged(error: unknown): void {
    const { message, path, file = path, byteOffset, cure: own } = error as Located;
    const text = typeof message === 'string' ? message : String(error);
    const needed = isCureless(error) ? CURE_REPLACE : null;
    const cure = this.cure ?? (typeof own === 'string' ? own : needed);
    this.add({
      severity: 'damage',
      group: this.group,
      file: typeof file === 'string' ? this.named(file) : null,
      byteOffset: typeof byteOffset === 'number' ? byteOffset : null,
      cure,
      text: this.named(cure === null || cure === own ? text : cured(text, own, cure)),
    });
  }

  noted(text: string): void {
    const place = { file: null, byteOffset: null, cure: null };
    this.add({ severity: 'note', group: this.group, ...place, text: this.named(text) });
  }

  /** Runs the work; what it meets of damage is told. Anything else is thrown: nothing was verified. */
  async during<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.damaged(error);
      return null;
    }
  }

  private add(finding: Finding): void {
    const line = finding.text.replace(/\s+/g, ' ');
    if (this.told.has(line)) return;
    if (this.found.length >= MAX_FINDINGS) {
      this.uncounted += 1;
      return;
    }
    this.told.add(line);
    this.found.push({ ...finding, text: line });
  }

  private named(text: string): string {
    return this.aliases.reduce((named, [from, to]) => named.replaceAll(from, to), text);
  }
}

/** A refusal, and faults of this program. */
const NOT_OF_FILES: ReadonlySet<string> = new Set(['VerifyRefusal', 'TypeError', 'ReferenceError']);

function isCureless(error: unknown): boolean {
  const { name, code } = (error ?? {}) as NodeJS.ErrnoException;
  return CURELESS.has(name) || code?.startsWith('LEVEL_') === true;
}

function cured(text: string, own: unknown, cure: string): string {
  const plain = typeof own === 'string' ? text.replace(own, '').trimEnd() : text;
  return `${plain}${plain.endsWith('.') ? '' : '.'} ${cure}`;
}

/**
 * A file that is missing is damage; any other failure of a system call (no permission, no space for the
 * scratch) means that this could not be verified.
 */
export function isDamage(error: unknown): boolean {
  // Not instanceof: a system error may come from another realm (test runners have one).
  const { syscall, code, name } = (error ?? {}) as NodeJS.ErrnoException;
  if (NOT_OF_FILES.has(name)) return false;
  return syscall === undefined || code === 'ENOENT';
}

/** Nothing was verified, and why. */
export class VerifyRefusal extends Error {
  override readonly name = 'VerifyRefusal';
}
