/**
 * Cursors behind a log that retains nothing any more move to the tail on the next pop (spec §2.12, 7).
 * The dispatcher notes them as it judges partitions; they are proposed together, once per turn.
 */
import type { CursorSeal } from '../../machine/commands/index.js';
import { encodeSealCursors } from '../../machine/commands/index.js';
import type { DispatcherHost } from './dispatcher-host.js';

const MAX_SEALS = 1024;

export class CursorSeals {
  private readonly noted = new Set<number>();
  private scheduled = false;

  constructor(private readonly host: Pick<DispatcherHost, 'tables' | 'propose'>) {}

  note(cursorSlot: number): void {
    this.noted.add(cursorSlot);
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => this.flush());
  }

  private flush(): void {
    this.scheduled = false;
    const { cursors, partitions } = this.host.tables;
    const seals: CursorSeal[] = [];
    for (const slot of this.noted) {
      if (seals.length === MAX_SEALS) break;
      this.noted.delete(slot);
      const partition = cursors.partitionSlot(slot);
      seals.push({
        partitionId: partitions.id(partition),
        groupId: cursors.groupId(slot),
        cursorVersion: cursors.version(slot),
      });
    }
    if (this.noted.size > 0) {
      this.scheduled = true;
      setImmediate(() => this.flush());
    }
    // Refused when this node stopped leading: the next pop finds the cursor again.
    this.host.propose({ bytes: encodeSealCursors({ seals }) }).catch(() => undefined);
  }
}
