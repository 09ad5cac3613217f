/** What several features need to turn requests into commands; holds what this node handed out. */
import { Module } from '@nestjs/common';
import { DeliveredIds } from './delivered-ids.js';

const DELIVERED_IDS_BYTES = 64 * 1024 * 1024;

@Module({
  providers: [{ provide: DeliveredIds, useFactory: () => new DeliveredIds(DELIVERED_IDS_BYTES) }],
  exports: [DeliveredIds],
})
export class PreparationModule {}
