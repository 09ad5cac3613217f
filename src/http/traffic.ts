/** Requests and messages this process handled since its start; plain counters, read by the metrics. */
export class Traffic {
  pushRequests = 0;
  pushMessages = 0;
  popRequests = 0;
  popMessages = 0;
  ackRequests = 0;
  ackMessages = 0;
  ackFailed = 0;
}
