/** The real application on a loopback port, seen by the driver. */
import { Groups } from '../../src/raft/index.js';
import { TestBroker } from '../support/broker.js';
import type { Answer } from './answers.js';
import { BROKER_ENV, letDispatcherLook, type BrokerPort, type Call } from './broker-port.js';

export class HttpBroker implements BrokerPort {
  private constructor(private readonly broker: TestBroker) {}

  static async start(): Promise<HttpBroker> {
    return new HttpBroker(await TestBroker.start(BROKER_ENV));
  }

  async send({ method, path, tenant, body }: Call): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = { 'x-queen-tenant': tenant };
    const { status, json } = await this.broker.send(method, path, text, { headers });
    return { status, body: json };
  }

  passed(): Promise<void> {
    letDispatcherLook(this.broker.nest.get(Groups, { strict: false }));
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return this.broker.stop();
  }
}
