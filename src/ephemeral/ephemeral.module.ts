/** Ephemeral queues: contents in the memory of one node, declarations in the log. */
import {
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { hexText } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { monotonicMs, QUEEN_CONFIG, systemRandom } from '../config/index.js';
import { EphemeralFigures } from '../http/ephemeral-figures.js';
import { Groups, RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { ALONE } from './cluster/neighbours.js';
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

function createNode(groups: Groups, config: QueenConfig): EphemeralNode {
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
  return new EphemeralNode(engine, gate, ALONE);
}

@Module({
  imports: [RaftModule, TenancyModule],
  controllers: [EphemeralController, EphemeralInternalController],
  providers: [
    EphemeralPushService,
    EphemeralPopService,
    EphemeralAckService,
    EphemeralQueuesService,
    { provide: EphemeralNode, inject: [Groups, QUEEN_CONFIG], useFactory: createNode },
  ],
})
export class EphemeralModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    @Inject(EphemeralNode) private readonly node: EphemeralNode,
    @Inject(EphemeralFigures) private readonly figures: EphemeralFigures,
  ) {}

  onApplicationBootstrap(): void {
    this.node.engine.start();
    this.figures.source = () => this.node.numbers();
  }

  onApplicationShutdown(): Promise<void> {
    return this.node.engine.stop();
  }
}
