/**
 * Times of HTTP requests by route, method and status class, from the first header to the last byte of
 * the answer. Counted in fixed buckets without touching the metrics library, because this runs on every
 * request. Routes are those of the router; what it does not know is one label, `unmatched`.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Histogram, type Registry } from 'prom-client';

const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const NAME = 'queen_http_request_duration_seconds';
const HELP = 'HTTP requests by route, from the first header to the last byte; long polls included.';
const STATUS_CLASSES = 6;

interface Counts {
  /** Not cumulative; one more than the bounds for what is above all of them. */
  readonly buckets: Float64Array;
  sum: number;
}

type Classes = (Counts | undefined)[];

export class RequestTimes {
  /** By `METHOD route`, then by the first digit of the status. */
  private readonly byRoute = new Map<string, Classes>();
  /** The same by the router's own object of the route, so that no text is made per request. */
  private readonly byConfig = new WeakMap<object, Classes>();

  /** Before the first route is registered. */
  attach(fastify: FastifyInstance): void {
    fastify.addHook('onResponse', (request, reply, done) => {
      this.observe(request, reply);
      done();
    });
  }

  register(registry: Registry): void {
    new ReadHistogram(registry, this.byRoute);
  }

  private observe(request: FastifyRequest, reply: FastifyReply): void {
    const { config } = request.routeOptions;
    const classes = this.byConfig.get(config) ?? this.classesOf(request);
    const statusClass = Math.min(Math.floor(reply.statusCode / 100), STATUS_CLASSES - 1);
    const counts = (classes[statusClass] ??= {
      buckets: new Float64Array(BUCKETS_S.length + 1),
      sum: 0,
    });
    const seconds = reply.elapsedTime / 1000;
    let bucket = 0;
    while (bucket < BUCKETS_S.length && seconds > (BUCKETS_S[bucket] ?? 0)) bucket += 1;
    counts.buckets[bucket] = (counts.buckets[bucket] ?? 0) + 1;
    counts.sum += seconds;
  }

  private classesOf(request: FastifyRequest): Classes {
    const { config, url } = request.routeOptions;
    const key = request.is404 ? ' unmatched' : `${request.method} ${url ?? 'unmatched'}`;
    const classes = this.byRoute.get(key) ?? new Array<Counts | undefined>(STATUS_CLASSES);
    this.byRoute.set(key, classes);
    this.byConfig.set(config, classes);
    return classes;
  }
}

/** Renders what was counted; the library's own counting is not used. */
class ReadHistogram extends Histogram {
  constructor(
    registry: Registry,
    private readonly byRoute: ReadonlyMap<string, Readonly<Classes>>,
  ) {
    super({ name: NAME, help: HELP, buckets: BUCKETS_S, registers: [registry] });
  }

  /** What the registry asks a histogram for; the library has no type for it. */
  getForPromString(): ReturnType<Histogram['get']> {
    return this.get();
  }

  override get(): ReturnType<Histogram['get']> {
    const values = [...this.byRoute].flatMap(([key, classes]) => {
      const [method = '', route = ''] = key.split(' ');
      return classes.flatMap((counts, statusClass) => {
        if (counts === undefined) return [];
        return rowsOf(counts, { method, route, status: `${statusClass}xx` });
      });
    });
    return Promise.resolve({
      ...{ name: NAME, help: HELP, values },
      ...{ type: 'histogram', aggregator: 'sum' },
    }) as unknown as ReturnType<Histogram['get']>;
  }
}

function rowsOf(counts: Counts, labels: Readonly<Record<string, string>>): object[] {
  let total = 0;
  const rows: object[] = [];
  counts.buckets.forEach((count, i) => {
    total += count;
    const le = BUCKETS_S[i] ?? '+Inf';
    rows.push({ metricName: `${NAME}_bucket`, labels: { ...labels, le }, value: total });
  });
  rows.push({ metricName: `${NAME}_sum`, labels, value: counts.sum });
  rows.push({ metricName: `${NAME}_count`, labels, value: total });
  return rows;
}
