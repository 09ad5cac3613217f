/** Findings of the ledger: broken promises of the broker, the first of them in full. */

const MAX_KEPT = 20;

export class ViolationLog {
  count = 0;
  readonly kept: string[] = [];

  add(text: string): void {
    this.count += 1;
    if (this.kept.length < MAX_KEPT) this.kept.push(text);
  }
}
