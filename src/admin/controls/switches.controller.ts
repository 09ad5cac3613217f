/** Routes of the cluster's switches. Declarations only. */
import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../auth/access.js';
import { ApiAnswer, ApiRefusals, LOG_CODES } from '../../docs-api/index.js';
import { sendJson } from '../../http/answers.js';
import {
  ControlRefusalDto,
  EphemeralStateDto,
  EphemeralSwitchDto,
  SharedStateDto,
  SwitchesDto,
  SwitchesStateDto,
} from './controls.dto.js';
import { ControlsService } from './controls.service.js';
import * as examples from './examples.js';
import { ephemeralSwitch, keyValueSwitches } from './switch-body.js';

@ApiTags('operations')
@Controller('api/v1/system')
export class SwitchesController {
  constructor(private readonly controls: ControlsService) {}

  @Get('kv-timers')
  @Access('admin')
  @ApiOperation({ summary: 'Switches of keys and timers, and how full the quotas are' })
  @ApiAnswer({
    status: 200,
    description: 'As this node knows them.',
    type: SwitchesStateDto,
    examples: examples.SWITCH_ANSWERS,
  })
  @ApiRefusals({ codes: [] })
  keyValueAndTimers(@Res() reply: FastifyReply): void {
    sendJson(reply, 200, this.controls.keyValueAndTimers());
  }

  @Post('kv-timers')
  @HttpCode(200)
  @Access('admin')
  @ApiOperation({
    summary: 'Turn keys, new timers or firing off and on',
    description: 'For the whole cluster, over restarts. What is stored stays.',
  })
  @ApiBody({ type: SwitchesDto, examples: examples.SWITCH_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'The switches afterwards.',
    type: SwitchesStateDto,
    examples: examples.SWITCH_ANSWERS,
  })
  @ApiRefusals({
    codes: LOG_CODES,
    readsBody: true,
    shapes: [{ status: 400, type: ControlRefusalDto, examples: examples.SWITCH_400 }],
  })
  async turn(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { command, refusal } = keyValueSwitches(request);
    if (command === null) {
      sendJson(reply, 400, refusal);
      return;
    }
    await this.controls.turn(command);
    sendJson(reply, 200, this.controls.keyValueAndTimers());
  }

  @Get('ephemeral')
  @Access('admin')
  @ApiOperation({ summary: 'The switch of ephemeral queues' })
  @ApiAnswer({
    status: 200,
    description: 'As this node knows it.',
    type: EphemeralStateDto,
    examples: examples.EPHEMERAL_ANSWERS,
  })
  @ApiRefusals({ codes: [] })
  ephemeral(@Res() reply: FastifyReply): void {
    sendJson(reply, 200, { ephemeralEnabled: this.controls.isEphemeralOn() });
  }

  @Post('ephemeral')
  @HttpCode(200)
  @Access('admin')
  @ApiOperation({ summary: 'Turn ephemeral queues off and on' })
  @ApiBody({ type: EphemeralSwitchDto, examples: examples.EPHEMERAL_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'The switch afterwards.',
    type: EphemeralStateDto,
    examples: examples.EPHEMERAL_SET_ANSWERS,
  })
  @ApiRefusals({
    codes: LOG_CODES,
    readsBody: true,
    shapes: [{ status: 400, type: ControlRefusalDto, examples: examples.EPHEMERAL_400 }],
  })
  async turnEphemeral(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { command, refusal } = ephemeralSwitch(request);
    if (command === null) {
      sendJson(reply, 400, refusal);
      return;
    }
    await this.controls.turn(command);
    const ephemeralEnabled = this.controls.isEphemeralOn();
    sendJson(reply, 200, { ephemeralEnabled, mirrored: true });
  }

  @Get('shared-state')
  @Access('admin')
  @ApiOperation({ summary: 'How far the replicated state of this node is' })
  @ApiAnswer({
    status: 200,
    description: 'Of group 0; queues of all tenants.',
    type: SharedStateDto,
    examples: examples.SHARED_STATE_ANSWERS,
  })
  @ApiRefusals({ codes: [] })
  sharedState(@Res() reply: FastifyReply): void {
    sendJson(reply, 200, this.controls.sharedState());
  }
}
