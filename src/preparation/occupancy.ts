/**
 * The enforcer of one limit of a tenant on this node (state.md §0.4): the last measurement plus what was
 * charged since. Once a call crosses the limit every adding call is refused until a measurement at or
 * below the release share; small deletes therefore do not open and close it in turn.
 */

export class OccupancyEnforcer {
  private measured = -1;
  private delta = 0;
  private blocked = false;
  /** Counts the measurements: what was charged under an older one is in the newer figure. */
  private measurement = 0;

  constructor(private readonly releasePercent: number) {}

  /** The measurement that charges are taken under now; a refund names that of its charge. */
  get epoch(): number {
    return this.measurement;
  }

  /** Takes the charge; false when the limit refuses it. A null limit never does. */
  take(measured: number, limit: number | null, charge: number): boolean {
    this.measure(measured);
    if (limit === null) {
      this.blocked = false;
      this.delta += charge;
      return true;
    }
    if (charge === 0) return true;
    if (this.blocked && this.measured <= (limit * this.releasePercent) / 100) this.blocked = false;
    if (this.blocked) return false;
    if (this.measured + this.delta + charge > limit) {
      this.blocked = true;
      return false;
    }
    this.delta += charge;
    return true;
  }

  /**
   * The call did not happen, or what it wrote is in the measurement from now on: a write over a row that
   * is there changes no measurement, so its charge would stay for ever. Nothing is given back twice: a
   * charge of an older measurement is gone already, and what is charged since is that of others.
   */
  refund(charge: number, epoch: number): void {
    if (epoch === this.measurement) this.delta -= charge;
  }

  /** A new figure holds everything charged before; the same figure says nothing new. */
  private measure(measured: number): void {
    if (measured === this.measured) return;
    this.measured = measured;
    this.measurement += 1;
    this.delta = 0;
  }
}
