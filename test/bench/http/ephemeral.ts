/**
 * Ephemeral queues next to the durable path in the same run: connections that push a batch and pop it
 * again, commit on delivery, each on a partition of its own. Durable messages bring no transactionId, which
 * is the cheaper way for them. Then many messages through few partitions: memory has to stay flat.
 */
import { atMost, type Budget } from './budgets.js';
import { Connection, requestBytes, type Answer } from './connection.js';
import { LatencyRecord, median } from './latency-record.js';
import type { LoadFigures, LoadWindow } from './load.js';
import { measure, type Measurement } from './measure.js';
import { payloadText } from './push-template.js';
import { rssMib } from './scene.js';
import type { ServerProcess } from './server-process.js';

const BATCH = 100;
const PAYLOAD_BYTES = 1024;
const CONNECTIONS = 20;
const FLAT_SECONDS = 30;
const MILLION = 1_000_000;
/** Longest run of `--messages`. */
const MESSAGES_LIMIT_MS = 3_600_000;
const MOST_GROWTH_MIB = 64;
const EPHEMERAL = 'ephemeral push+pop b100 1KB';
const DURABLE = 'durable push+pop b100 1KB';

interface Wire {
  readonly push: (connection: number) => Buffer;
  readonly pop: (connection: number) => Buffer;
}

const payload = payloadText(PAYLOAD_BYTES);

const ephemeral: Wire = {
  push: (n) => {
    const messages = new Array<string>(BATCH).fill(`{"payload":${payload}}`).join(',');
    const body = `{"queue":"bench","partition":"p${n}","messages":[${messages}]}`;
    return requestBytes('POST', '/api/v1/ephemeral/push', body);
  },
  pop: (n) => {
    const query = `queue=bench&partition=p${n}&batch=${BATCH}&commitOnDelivery=true`;
    return requestBytes('GET', `/api/v1/ephemeral/pop?${query}`);
  },
};

const durable: Wire = {
  push: (n) => {
    const item = `{"queue":"bench-durable","partition":"p${n}","payload":${payload}}`;
    const items = new Array<string>(BATCH).fill(item).join(',');
    return requestBytes('POST', '/api/v1/push', `{"items":[${items}]}`);
  },
  pop: (n) => {
    const query = `batch=${BATCH}&commitOnDelivery=true`;
    return requestBytes('GET', `/api/v1/pop/queue/bench-durable/partition/p${n}?${query}`);
  },
};

/** One connection after the other pushes a batch and pops until it has as many. */
class RoundTrips {
  private readonly latency = new LatencyRecord();
  private requests = 0;
  private messages = 0;
  private bytes = 0;
  private refused = 0;
  private firstRefusal = '';
  private isEnough = false;
  private readonly fromMs: number;
  private readonly toMs: number;

  private constructor(
    { warmupMs, measureMs }: LoadWindow,
    private readonly popped: (messages: number) => boolean,
  ) {
    this.fromMs = performance.now() + warmupMs;
    this.toMs = this.fromMs + measureMs;
  }

  /** `popped` hears how many messages came out so far, and says whether that is enough. */
  static async run(
    port: number,
    wire: Wire,
    window: LoadWindow,
    popped: (messages: number) => boolean = () => false,
  ): Promise<LoadFigures> {
    const trips = new RoundTrips(window, popped);
    const fromMs = performance.now() + window.warmupMs;
    const connections = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => Connection.open(port)),
    );
    try {
      await Promise.all(connections.map((connection, n) => trips.join(connection, wire, n)));
    } finally {
      for (const connection of connections) connection.close();
    }
    const seconds = Math.min(window.measureMs, performance.now() - fromMs) / 1000;
    return trips.figures(Math.max(0.001, seconds));
  }

  private join(connection: Connection, wire: Wire, n: number): Promise<void> {
    const push = wire.push(n);
    const pop = wire.pop(n);
    return new Promise((resolve, reject) => {
      let isPushing = true;
      let sentMs = 0;
      const send = (pushes: boolean): void => {
        const now = performance.now();
        if (pushes && (now >= this.toMs || this.isEnough)) return resolve();
        isPushing = pushes;
        sentMs = now;
        connection.send(pushes ? push : pop);
      };
      connection.onLost = reject;
      connection.onAnswer = (answer): void => {
        const isFine = answer.status === (isPushing ? 201 : 200);
        if (isFine) this.count(isPushing, answer, performance.now() - sentMs);
        else if (isPushing || answer.status !== 204) this.refuse(answer);
        // A pushed batch is popped next; a pop that found nothing yet asks again.
        const popsNext = isPushing || answer.status === 204;
        send(!popsNext);
      };
      send(true);
    });
  }

  private count(isPush: boolean, { start, end }: Answer, ms: number): void {
    const now = performance.now();
    if (now < this.fromMs || now >= this.toMs) return;
    this.requests += 1;
    this.latency.add(ms);
    if (isPush) return;
    this.messages += BATCH;
    this.bytes += end - start;
    if (this.popped(this.messages)) this.isEnough = true;
  }

  private refuse({ status, bytes, start, end }: Answer): void {
    this.refused += 1;
    if (this.firstRefusal !== '') return;
    this.firstRefusal = `${status} ${bytes.toString('utf8', start, Math.min(end, start + 200))}`;
  }

  private figures(seconds: number): LoadFigures {
    return {
      ...{ requests: this.requests, messages: this.messages, bytes: this.bytes, seconds },
      latency: this.latency.summary(),
      refused: this.refused,
      ...(this.refused === 0 ? {} : { firstRefusal: this.firstRefusal }),
    };
  }
}

export interface EphemeralOutcome {
  readonly measurements: readonly Measurement[];
  readonly budgets: readonly Budget[];
}

export interface EphemeralOptions extends LoadWindow {
  readonly rounds: number;
  /** Messages of the last case; half a minute of them when absent. */
  readonly messages: number | undefined;
  readonly say: (text: string) => void;
}

interface OneRun {
  readonly name: string;
  readonly wire: Wire;
  readonly round: number;
  readonly window: LoadWindow;
  readonly popped?: (messages: number) => boolean;
}

type Run = (run: OneRun) => Promise<Measurement>;

interface Flat {
  readonly said: string;
  readonly budget: Budget;
}

async function overTime(broker: ServerProcess, one: Run): Promise<Flat> {
  const before = rssMib(broker) ?? 0;
  const name = `${EPHEMERAL}, ${FLAT_SECONDS} s`;
  const window = { warmupMs: 0, measureMs: FLAT_SECONDS * 1000 };
  const long = await one({ ...{ name, wire: ephemeral, round: 1 }, window });
  const grown = (rssMib(broker) ?? 0) - before;
  const messages = Math.round(long.messagesPerSecond * FLAT_SECONDS);
  return {
    said: `RSS ${before.toFixed(0)} MB, ${grown.toFixed(0)} more after ${messages} messages`,
    budget: atMost(
      `growth of RSS over ${messages} messages, MB`,
      Math.max(0, grown),
      MOST_GROWTH_MIB,
    ),
  };
}

/** RSS at each million; judged from the first million on, when buffers and code are warm. */
async function overMessages(
  broker: ServerProcess,
  one: Run,
  { messages, say }: EphemeralOptions & { readonly messages: number },
): Promise<Flat> {
  const each: number[] = [];
  const popped = (count: number): boolean => {
    if (count >= (each.length + 1) * MILLION) {
      each.push(rssMib(broker) ?? 0);
      say(`${each.length} million messages, RSS ${(each.at(-1) ?? 0).toFixed(0)} MB`);
    }
    return count >= messages;
  };
  const name = `${EPHEMERAL}, ${messages} messages`;
  const window = { warmupMs: 0, measureMs: MESSAGES_LIMIT_MS };
  await one({ ...{ name, wire: ephemeral, round: 1, window }, popped });
  const end = rssMib(broker) ?? 0;
  const first = each[0] ?? end;
  return {
    said: `RSS ${first.toFixed(0)} MB after the first million, ${end.toFixed(0)} MB after ${messages}`,
    budget: atMost(
      'growth of RSS after the first million messages, MB',
      Math.max(0, end - first),
      MOST_GROWTH_MIB,
    ),
  };
}

export async function measureEphemeral(
  broker: ServerProcess,
  options: EphemeralOptions,
): Promise<EphemeralOutcome> {
  const measurements: Measurement[] = [];
  const ratios: number[] = [];
  const one: Run = async ({ name, wire, round, window, popped }) => {
    const label = { name, round, pid: broker.pid };
    const measured = await measure(label, window, () =>
      RoundTrips.run(broker.port, wire, window, popped),
    );
    measurements.push(measured);
    return measured;
  };
  for (let round = 1; round <= options.rounds; round += 1) {
    const low = await one({ name: EPHEMERAL, wire: ephemeral, round, window: options });
    const high = await one({ name: DURABLE, wire: durable, round, window: options });
    const ratio =
      (low.cpuSecondsPerMillionMessages ?? 0) / (high.cpuSecondsPerMillionMessages ?? 1);
    options.say(`round ${round}  CPU per message, ephemeral / durable: ${ratio.toFixed(2)}`);
    ratios.push(ratio);
  }
  const { messages } = options;
  const flat =
    messages === undefined
      ? await overTime(broker, one)
      : await overMessages(broker, one, { ...options, messages });
  options.say(flat.said);
  return {
    measurements,
    budgets: [
      atMost('ephemeral / durable, broker CPU per message', median(ratios), 0.5),
      flat.budget,
    ],
  };
}
