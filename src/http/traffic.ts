/** Requests and messages this process handled since its start; plain counters, read by the metrics. */
import { QueueTraffic } from './queue-traffic.js';
import { RequestStages } from './request-stages.js';

export class Traffic {
  pushRequests = 0;
  pushMessages = 0;
  popRequests = 0;
  popMessages = 0;
  ackRequests = 0;
  ackMessages = 0;
  ackFailed = 0;
  /** Acknowledged items that became dead letters. */
  deadLettered = 0;
  /** The same by queue, since the last minute row. */
  readonly queues = new QueueTraffic();
  readonly stages = new RequestStages();
}
