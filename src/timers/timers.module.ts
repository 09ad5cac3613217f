/** Timers: schedule, cancel, look. What fires them is coordinators/timers and the machine. */
import { Module } from '@nestjs/common';
import { StatePlaneModule } from '../preparation/state-plane.module.js';
import { RaftModule } from '../raft/index.js';
import { TenancyModule } from '../tenancy/tenancy.module.js';
import { TimerReadsService } from './timer-reads.service.js';
import { TimersController } from './timers.controller.js';
import { TimersPlug } from './timers-plug.js';
import { TimersService } from './timers.service.js';

@Module({
  imports: [RaftModule, TenancyModule, StatePlaneModule],
  controllers: [TimersController],
  providers: [TimersService, TimerReadsService, TimersPlug],
})
export class TimersModule {}
