/**
 * What tokens cost: pushes of one message with JWT off, with a token the broker has seen, and with a token
 * it never saw, one after the other in every round on brokers of their own. The same bytes but for the
 * Authorization header.
 */
import { tokenOf, secondsNow, SECRET } from '../../support/tokens.js';
import { atLeast, type Budget } from './budgets.js';
import { Connection, requestBytes, type Answer } from './connection.js';
import { LatencyRecord, median } from './latency-record.js';
import type { LoadFigures, LoadWindow } from './load.js';
import { Stopwatch } from './load.js';
import { measure, type Measurement } from './measure.js';
import { payloadText } from './push-template.js';
import type { Scene } from './scene.js';

const CONNECTIONS = 50;
const PAYLOAD_BYTES = 100;
const PATH = '/api/v1/push';
/** More than the broker remembers: every one is new to it, however often the list is gone through. */
const NEW_TOKENS = 60_000;
const MINT_AT_ONCE = 500;
/** Of the rate, and of what the JavaScript thread does, a remembered token may take so much. */
const LEAST_RATIO = 0.85;
const GUARDS = { JWT_ENABLED: 'true', JWT_ALGORITHM: 'HS256', JWT_SECRET: SECRET };

export interface GuardOptions extends LoadWindow {
  readonly rounds: number;
  readonly say: (text: string) => void;
}

export interface GuardOutcome {
  readonly measurements: readonly Measurement[];
  readonly budgets: readonly Budget[];
  readonly notes: readonly string[];
}

interface GuardCase {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly requests: readonly Buffer[];
}

function pushWith(token: string | null): Buffer {
  const item = `{"queue":"guards","partition":"p","payload":${payloadText(PAYLOAD_BYTES)}}`;
  const request = requestBytes('POST', PATH, `{"items":[${item}]}`).toString('latin1');
  if (token === null) return Buffer.from(request, 'latin1');
  const line = `host: localhost\r\nauthorization: Bearer ${token}\r\n`;
  return Buffer.from(request.replace('host: localhost\r\n', line), 'latin1');
}

async function newTokens(): Promise<Buffer[]> {
  const requests: Buffer[] = [];
  const exp = secondsNow() + 24 * 3600;
  while (requests.length < NEW_TOKENS) {
    const from = requests.length;
    const minted = Array.from({ length: MINT_AT_ONCE }, (_, i) =>
      tokenOf({ sub: `producer-${from + i}`, role: 'read-write', exp }),
    );
    requests.push(...(await Promise.all(minted)).map((token) => pushWith(token)));
  }
  return requests;
}

/** Requests of a list in turn, each connection with one in flight. */
function cycle(
  port: number,
  requests: readonly Buffer[],
  window: LoadWindow,
): Promise<LoadFigures> {
  const watch = new Stopwatch(window);
  const latency = new LatencyRecord();
  const sum = { requests: 0, bytes: 0, refused: 0, firstRefusal: '' };
  let next = 0;
  const join = (connection: Connection): Promise<void> =>
    new Promise((resolve, reject) => {
      let sentMs = 0;
      let sent: Buffer = Buffer.alloc(0);
      const send = (): void => {
        sentMs = performance.now();
        if (watch.isOver(sentMs)) return resolve();
        sent = requests[next % requests.length] ?? sent;
        next += 1;
        connection.send(sent);
      };
      connection.onLost = reject;
      connection.onAnswer = ({ status, bytes, start, end }: Answer): void => {
        const now = performance.now();
        if (status !== 201) {
          sum.refused += 1;
          sum.firstRefusal ||= `${status} ${bytes.toString('utf8', start, Math.min(end, start + 200))}`;
        } else if (watch.counts(now)) {
          sum.requests += 1;
          sum.bytes += sent.length;
          latency.add(now - sentMs);
        }
        send();
      };
      send();
    });
  return run(port, join).then(() => ({
    ...{ requests: sum.requests, messages: sum.requests, bytes: sum.bytes },
    ...{ seconds: window.measureMs / 1000, latency: latency.summary(), refused: sum.refused },
    ...(sum.refused === 0 ? {} : { firstRefusal: sum.firstRefusal }),
  }));
}

async function run(port: number, join: (connection: Connection) => Promise<void>): Promise<void> {
  const opening = Array.from({ length: CONNECTIONS }, () => Connection.open(port));
  const connections = await Promise.all(opening);
  try {
    await Promise.all(connections.map(join));
  } finally {
    for (const connection of connections) connection.close();
  }
}

const rate = ({ requestsPerSecond }: Measurement): number => requestsPerSecond;
const perCpu = ({ mainMicrosPerRequest }: Measurement): number => 1 / (mainMicrosPerRequest ?? NaN);

export async function measureGuards(scene: Scene, options: GuardOptions): Promise<GuardOutcome> {
  const known = await tokenOf({ sub: 'producer', role: 'read-write', exp: secondsNow() + 86_400 });
  const cases: readonly GuardCase[] = [
    { name: 'push b1 100B, JWT off', env: {}, requests: [pushWith(null)] },
    { name: 'push b1 100B, known token', env: GUARDS, requests: [pushWith(known)] },
    { name: 'push b1 100B, new token each', env: GUARDS, requests: await newTokens() },
  ];
  const measurements: Measurement[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const { name, env, requests } of cases) {
      const broker = await scene.broker(env);
      const label = { name, round, pid: broker.pid };
      const one = await measure(label, options, () => cycle(broker.port, requests, options));
      await broker.stop();
      measurements.push(one);
      options.say(`round ${round}  ${name}: ${one.requestsPerSecond.toFixed(0)} req/s`);
    }
  }
  const ratio = (index: number, figure: (one: Measurement) => number): number => {
    const of = (at: number): number[] =>
      measurements.filter(({ name }) => name === cases[at]?.name).map(figure);
    const off = of(0);
    return median(of(index).map((value, round) => value / (off[round] ?? NaN)));
  };
  return {
    measurements,
    budgets: [
      atLeast('known token / JWT off, req/s', ratio(1, rate), LEAST_RATIO),
      atLeast('known token / JWT off, by CPU of the JS thread', ratio(1, perCpu), LEAST_RATIO),
    ],
    notes: [
      `new token each / JWT off: ${ratio(2, rate).toFixed(2)} of the req/s, ${ratio(2, perCpu).toFixed(2)} by CPU of the JS thread`,
    ],
  };
}
