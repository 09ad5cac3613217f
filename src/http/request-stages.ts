/** Times of the legs of pushes and pops on this node, and how pops wait; the metrics read them. */
import { QuantileSummary } from '../common/quantile-summary.js';

/** All in µs. */
export class RequestStages {
  readonly pushTotal = new QuantileSummary();
  /** Scan, checks and preparation, up to the first command. */
  readonly pushPrep = new QuantileSummary();
  /** Encoding a command and handing it in. */
  readonly pushSubmit = new QuantileSummary();
  /** From there to its outcome. */
  readonly pushAwait = new QuantileSummary();
  readonly popTotal = new QuantileSummary();
  /** Reading the granted messages. */
  readonly popRead = new QuantileSummary();
  /** Pops of one queue or partition, and pops by namespace or task. */
  popTargeted = 0;
  popWildcard = 0;
  /** Long polls that ended, and the time they waited. */
  popWaits = 0;
  popWaitMicros = 0;
}
