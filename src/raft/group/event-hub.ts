/**
 * Hands machine events to listeners after each applied entry. A listener that throws is a bug of that
 * listener: it is logged and the others still hear the event, for apply must never fail on it.
 */
import type { GrantOutcome } from '../../machine/commands/catalogue.js';
import type { Cut, MachineEvents } from '../../machine/machine.js';
import type { QuotaKind, SwitchName } from '../../machine/commands/controls.js';
import type { GroupLog } from './ports.js';

export class EventHub implements MachineEvents {
  private listeners: readonly Partial<MachineEvents>[] = [];

  constructor(private readonly log: GroupLog) {}

  /** Returns the unsubscriber. */
  listen(events: Partial<MachineEvents>): () => void {
    this.listeners = [...this.listeners, events];
    return () => {
      this.listeners = this.listeners.filter((listener) => listener !== events);
    };
  }

  queueCreated(queueId: number): void {
    this.each((listener) => listener.queueCreated?.(queueId));
  }

  queueConfigured(queueId: number): void {
    this.each((listener) => listener.queueConfigured?.(queueId));
  }

  queueDeleted(queueId: number): void {
    this.each((listener) => listener.queueDeleted?.(queueId));
  }

  registered(queueId: number, groupId: number): void {
    this.each((listener) => listener.registered?.(queueId, groupId));
  }

  appended(partitionSlot: number): void {
    this.each((listener) => listener.appended?.(partitionSlot));
  }

  cursorChanged(cursorSlot: number): void {
    this.each((listener) => listener.cursorChanged?.(cursorSlot));
  }

  granted(grant: GrantOutcome): void {
    this.each((listener) => listener.granted?.(grant));
  }

  timerDue(due: number): void {
    this.each((listener) => listener.timerDue?.(due));
  }

  trimmed(partitionSlot: number, cut: Cut): void {
    this.each((listener) => listener.trimmed?.(partitionSlot, cut));
  }

  partitionDropped(queueId: number, partitionSlot: number): void {
    this.each((listener) => listener.partitionDropped?.(queueId, partitionSlot));
  }

  switched(name: SwitchName, on: boolean): void {
    this.each((listener) => listener.switched?.(name, on));
  }

  quotaSet(kind: QuotaKind): void {
    this.each((listener) => listener.quotaSet?.(kind));
  }

  tenantPurged(tenantId: number): void {
    this.each((listener) => listener.tenantPurged?.(tenantId));
  }

  private each(call: (listener: Partial<MachineEvents>) => void): void {
    for (const listener of this.listeners) {
      try {
        call(listener);
      } catch (error) {
        this.log.error('event listener failed', { error: String(error) });
      }
    }
  }
}
