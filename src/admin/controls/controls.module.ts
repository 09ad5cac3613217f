/** Operators' controls: switches, quotas, the purge of a tenant. */
import { Module } from '@nestjs/common';
import { StatePlaneModule } from '../../preparation/state-plane.module.js';
import { RaftModule } from '../../raft/index.js';
import { TenancyModule } from '../../tenancy/tenancy.module.js';
import { ControlsService } from './controls.service.js';
import { SwitchesController } from './switches.controller.js';
import { TenantsController } from './tenants.controller.js';

@Module({
  imports: [RaftModule, StatePlaneModule, TenancyModule],
  controllers: [SwitchesController, TenantsController],
  providers: [ControlsService],
})
export class ControlsModule {}
