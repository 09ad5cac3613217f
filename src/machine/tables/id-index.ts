/**
 * Partition id → slot. Ids are dense in creation order and never reused, so the index is a map of
 * pages of 8192 ids (32 KiB each); a page whose ids are all gone is dropped. Entry = slot + 1, 0 = none.
 */
const PAGE_IDS = 8192;

interface IdPage {
  readonly slots: Int32Array;
  used: number;
}

export class IdIndex {
  private readonly pages = new Map<number, IdPage>();

  get sizeBytes(): number {
    return this.pages.size * PAGE_IDS * 4;
  }

  /** Slot of the id, -1 when none. Any number may be asked. */
  find(id: number): number {
    const page = this.pages.get(Math.floor(id / PAGE_IDS));
    return page === undefined ? -1 : (page.slots[id % PAGE_IDS] ?? 0) - 1;
  }

  add(id: number, slot: number): void {
    const at = Math.floor(id / PAGE_IDS);
    let page = this.pages.get(at);
    if (page === undefined) {
      page = { slots: new Int32Array(PAGE_IDS), used: 0 };
      this.pages.set(at, page);
    }
    if (page.slots[id % PAGE_IDS] === 0) page.used++;
    page.slots[id % PAGE_IDS] = slot + 1;
  }

  remove(id: number): void {
    const at = Math.floor(id / PAGE_IDS);
    const page = this.pages.get(at);
    if (page === undefined || page.slots[id % PAGE_IDS] === 0) return;
    page.slots[id % PAGE_IDS] = 0;
    page.used--;
    if (page.used === 0) this.pages.delete(at);
  }
}
