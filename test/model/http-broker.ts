/** The real application on a loopback port, seen by the driver. */
import { Groups } from '../../src/raft/index.js';
import { TestBroker } from '../support/broker.js';
import type { Answer } from './answers.js';
import { BROKER_ENV, parkedAt, type BrokerPort, type Call, type Waiting } from './broker-port.js';

export class HttpBroker implements BrokerPort {
  private constructor(private readonly broker: TestBroker) {}

  static async start(): Promise<HttpBroker> {
    return new HttpBroker(await TestBroker.start(BROKER_ENV));
  }

  send(call: Call): Promise<Answer> {
    return this.ask(call, {});
  }

  wait(call: Call): Waiting {
    const { signal, abort } = abortable();
    const answer = this.ask(call, { signal });
    // Nobody waits for it once the client left.
    answer.catch(() => undefined);
    return { answer, leave: abort };
  }

  parked(): number {
    return parkedAt(this.broker.nest.get(Groups, { strict: false }));
  }

  private async ask(
    { method, path, tenant, body }: Call,
    options: { readonly signal?: AbortSignal },
  ): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = { 'x-queen-tenant': tenant };
    const { status, json } = await this.broker.send(method, path, text, { headers, ...options });
    return { status, body: json };
  }

  restart(): Promise<void> {
    return this.broker.restart(BROKER_ENV);
  }

  stop(): Promise<void> {
    return this.broker.stop();
  }
}

function abortable(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
