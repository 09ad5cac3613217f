/** Fixed answers that clients of this API call; nothing here looks at the broker. */
import { Module } from '@nestjs/common';
import { StatusController } from './status.controller.js';

@Module({ controllers: [StatusController] })
export class StatusModule {}
