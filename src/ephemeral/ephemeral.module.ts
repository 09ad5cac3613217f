/** Ephemeral queues: contents in the memory of one node, declarations in the log. */
import {
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Server } from 'node:http';
import { hexText } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { monotonicMs, QUEEN_CONFIG, systemRandom } from '../config/index.js';
import { EphemeralFigures } from '../http/ephemeral-figures.js';
import { LOGGER, type Logger } from '../logging/index.js';
import { Groups, RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { ClusterNeighbours } from './cluster/cluster-neighbours.js';
import { EphemeralEngine } from './engine/ephemeral-engine.js';
import { EphemeralAckService } from './ephemeral-ack.service.js';
import { EphemeralController } from './ephemeral.controller.js';
import { EphemeralInternalController } from './ephemeral-internal.controller.js';
import { EphemeralNode } from './ephemeral-node.js';
import { EphemeralPopService } from './ephemeral-pop.service.js';
import { EphemeralPushService } from './ephemeral-push.service.js';
import { EphemeralQueuesService } from './ephemeral-queues.service.js';
import { controlsOf, EphemeralGate } from './gate.js';
import { declarationsOf } from './queues/declarations.js';

const INCARNATION_BYTES = 8;

function createNode(
  groups: Groups,
  config: QueenConfig,
  logger: Logger,
  http: HttpAdapterHost,
): EphemeralNode {
  const { ephemeral } = config;
  const random = new Uint8Array(INCARNATION_BYTES);
  systemRandom.fill(random);
  const engine = new EphemeralEngine({
    declarations: declarationsOf(groups),
    limits: {
      maxBytes: ephemeral.maxBytes,
      queueMaxBytes: ephemeral.queueMaxBytes,
      queueMaxLength: ephemeral.queueMaxLength,
      leaseSeconds: ephemeral.leaseSeconds,
      retryLimit: ephemeral.retryLimit,
    },
    idleMs: ephemeral.implicitIdleMs,
    incarnation: hexText(random),
    nowMs: monotonicMs,
  });
  const gate = new EphemeralGate(controlsOf(groups), ephemeral, monotonicMs);
  const group = groups.first;
  if (group.channel === undefined) return new EphemeralNode(engine, gate, null);
  const server = (): Server => http.httpAdapter.getHttpServer() as Server;
  const cluster = new ClusterNeighbours({
    ...{ engine, gate, group, logger, nowMs: monotonicMs },
    channel: group.channel,
    memberTtlMs: ephemeral.memberTtlMs,
    isListening: () => server().listening,
  });
  return new EphemeralNode(engine, gate, cluster);
}

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [EphemeralController, EphemeralInternalController],
  providers: [
    EphemeralPushService,
    EphemeralPopService,
    EphemeralAckService,
    EphemeralQueuesService,
    {
      provide: EphemeralNode,
      inject: [Groups, QUEEN_CONFIG, LOGGER, HttpAdapterHost],
      useFactory: createNode,
    },
  ],
})
export class EphemeralModule
  implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  constructor(
    @Inject(EphemeralNode) private readonly node: EphemeralNode,
    @Inject(EphemeralFigures) private readonly figures: EphemeralFigures,
  ) {}

  onApplicationBootstrap(): void {
    this.node.start();
    this.figures.source = () => this.node.numbers();
  }

  /** While the port still serves: what is here goes to the other nodes. */
  onModuleDestroy(): Promise<void> {
    return this.node.drain();
  }

  onApplicationShutdown(): Promise<void> {
    return this.node.stop();
  }
}
