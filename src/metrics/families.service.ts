/** Registers every family of this broker once, and starts what has to listen to be read later. */
import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { monotonicMs, QUEEN_CONFIG, systemClock, type QueenConfig } from '../config/index.js';
import { SweepFigures } from '../coordinators/index.js';
import { Admission } from '../http/admission.js';
import { EphemeralFigures } from '../http/ephemeral-figures.js';
import { Traffic } from '../http/traffic.js';
import { StateGate } from '../preparation/state-gate.js';
import { StateTraffic } from '../preparation/state-traffic.js';
import { Groups, Readiness } from '../raft/index.js';
import { ConflationMinutes } from './conflation-minutes.js';
import { EventLoopLag } from './event-loop-lag.js';
import { admissionFamilies, forwardFamilies } from './families/admission.js';
import { consumptionFamilies } from './families/consumption.js';
import { ephemeralFamilies } from './families/ephemeral.js';
import { pipelineFamilies } from './families/pipeline.js';
import { processFamilies } from './families/process.js';
import { queueFamilies, trafficFamilies } from './families/queues.js';
import { raftFamilies, timingFamilies } from './families/raft.js';
import { stateFamilies } from './families/state.js';
import { sweeperFamilies } from './families/sweepers.js';
import { backlogFamilies } from './families/backlogs.js';
import type { Family } from './family.js';
import { registerFamily } from './family.js';
import { METRICS_REGISTRY } from './registry.module.js';
import { RequestTimes } from './request-times.js';

@Injectable()
export class FamiliesService {
  @Inject(Groups) private readonly groups!: Groups;
  @Inject(Readiness) private readonly readiness!: Readiness;
  @Inject(Traffic) private readonly traffic!: Traffic;
  @Inject(StateTraffic) private readonly state!: StateTraffic;
  @Inject(SweepFigures) private readonly sweeps!: SweepFigures;
  @Inject(StateGate) private readonly gate!: StateGate;
  @Inject(EphemeralFigures) private readonly ephemeral!: EphemeralFigures;
  @Inject(Admission) private readonly admission!: Admission;
  @Inject(EventLoopLag) private readonly lag!: EventLoopLag;
  @Inject(QUEEN_CONFIG) private readonly config!: QueenConfig;
  @Inject(METRICS_REGISTRY) private readonly registry!: Registry;
  @Inject(HttpAdapterHost) private readonly http!: HttpAdapterHost;

  /** Before the first route is registered. */
  start(): void {
    const conflated = new ConflationMinutes(this.config.server.metricsFlushMs, monotonicMs);
    for (const group of this.groups.all()) {
      group.listen({ granted: (grant) => conflated.granted(group.id, grant) });
    }
    const times = new RequestTimes();
    times.attach(this.http.httpAdapter.getInstance<FastifyInstance>());
    times.register(this.registry);
    for (const family of this.families(conflated)) registerFamily(this.registry, family);
  }

  private families(conflated: ConflationMinutes): readonly Family[] {
    const { groups } = this;
    const { traffic } = this;
    const timing = [
      ...timingFamilies(groups),
      ...pipelineFamilies(groups, traffic.stages),
      ...admissionFamilies(this.admission),
      ...forwardFamilies(groups),
    ];
    return [
      ...processFamilies(traffic, this.lag),
      ...raftFamilies(groups, this.readiness),
      ...consumptionFamilies(groups, traffic.stages),
      ...stateFamilies(this.state, this.gate),
      ...sweeperFamilies(this.sweeps),
      ...backlogFamilies(groups),
      ...queueFamilies(groups, conflated),
      ...trafficFamilies(traffic.queues, () => systemClock.nowMs()),
      ...ephemeralFamilies(this.ephemeral),
      ...(this.config.planner.metrics ? timing : []),
    ];
  }
}
