/**
 * What ephemeral queues cost this node. Payload bytes are what clients see; structure is everything
 * around them (columns, rings, positions, unused ends of segments). The first mebibyte of structure is
 * free, so that few small queues cost exactly their payloads; beyond it every byte counts against the
 * node's ceiling, so that a million tiny queues cannot outgrow it.
 */

const FREE_STRUCTURE_BYTES = 1024 * 1024;

/** Estimated cost of the objects, bytes; generous, so that the ceiling holds for the process too. */
export const QUEUE_COST = 1024;
export const RING_COST = 512;
export const CURSOR_COST = 384;

export class MemoryAccount {
  private payload = 0;
  private structure = 0;

  constructor(readonly maxBytes: number) {}

  /** Held against the ceiling. */
  get bytes(): number {
    return this.payload + Math.max(0, this.structure - FREE_STRUCTURE_BYTES);
  }

  get payloadBytes(): number {
    return this.payload;
  }

  fits(payloadBytes: number): boolean {
    return this.bytes + payloadBytes <= this.maxBytes;
  }

  /** Whether so much more around the payloads stays below the ceiling. */
  fitsStructure(bytes: number): boolean {
    const structure = Math.max(0, this.structure + bytes - FREE_STRUCTURE_BYTES);
    return this.payload + structure <= this.maxBytes;
  }

  addPayload(bytes: number): void {
    this.payload += bytes;
  }

  addStructure(bytes: number): void {
    this.structure += bytes;
  }
}
