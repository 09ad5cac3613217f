/** The closed loop of the push load against a baseline route: same bodies, same connections. */
import { Connection } from './connection.js';
import { LatencyRecord } from './latency-record.js';
import { Stopwatch, type LoadFigures, type LoadTarget } from './load.js';
import { PushTemplate, type PushShape } from './push-template.js';

export interface BaselineTarget extends LoadTarget {
  readonly path: '/json' | '/scan';
  readonly shape: PushShape;
}

export async function runBaseline(target: BaselineTarget): Promise<LoadFigures> {
  const { path, shape } = target;
  const watch = new Stopwatch(target);
  const latency = new LatencyRecord();
  let request = 0;
  let requests = 0;
  let refused = 0;
  let bodyBytes = 0;
  await Promise.all(
    Array.from({ length: target.connections }, async () => {
      const connection = await Connection.open(target.port);
      const template = new PushTemplate(shape, path);
      bodyBytes = template.bodyBytes;
      await new Promise<void>((resolve, reject) => {
        let sentAt = performance.now();
        connection.onLost = reject;
        connection.onAnswer = ({ status }): void => {
          const now = performance.now();
          if (status !== 201) refused += 1;
          else if (watch.counts(now)) {
            requests += 1;
            latency.add(now - sentAt);
          }
          sentAt = now;
          if (watch.isOver(now)) resolve();
          else connection.send(template.fill(request++));
        };
        connection.send(template.fill(request++));
      });
      connection.close();
    }),
  );
  return {
    requests,
    messages: requests * shape.batch,
    bytes: requests * bodyBytes,
    seconds: target.measureMs / 1000,
    latency: latency.summary(),
    refused,
  };
}
