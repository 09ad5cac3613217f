/** What the key-value store, locks and timers share on this node: the gate ladder and the counters. */
import { Module } from '@nestjs/common';
import { monotonicMs, QUEEN_CONFIG, type QueenConfig } from '../config/index.js';
import { Groups, RaftModule } from '../raft/index.js';
import { StateGate } from './state-gate.js';
import { StateTraffic } from './state-traffic.js';

@Module({
  imports: [RaftModule],
  providers: [
    { provide: StateTraffic, useFactory: () => new StateTraffic(monotonicMs) },
    {
      provide: StateGate,
      inject: [Groups, QUEEN_CONFIG, StateTraffic],
      useFactory: (groups: Groups, config: QueenConfig, traffic: StateTraffic) =>
        new StateGate(groups, config.kv, traffic, monotonicMs),
    },
  ],
  exports: [StateGate, StateTraffic],
})
export class StatePlaneModule {}
