/** Serves positions of a consumer group: linearizable, from columns and, for metadata, rows (§10). */
import { Inject, Injectable } from '@nestjs/common';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { JsonObject } from '../http/json-body.js';
import { Groups } from '../raft/index.js';
import { jsonArray, Slices } from '../reads/slices.js';
import { parsePositions, readPositions } from './positions.js';

@Injectable()
export class PositionsService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  async read(tenant: Uint8Array, body: JsonObject): Promise<Buffer> {
    const query = parsePositions(body);
    const group = this.groups.ofTenant(tenant);
    await group.readBarrier({ deadlineMs: deadlineAfter(this.config.server.defaultTimeoutMs) });
    const view = await group.view();
    const source = { tables: group.tables, tenant, row: (key: Uint8Array) => view.get(key) };
    const positions = await readPositions(source, query).finally(() => view.close());
    const entries = await jsonArray(positions, (row) => JSON.stringify(row), new Slices());
    const head = `{"consumerGroup":${JSON.stringify(query.group)},"entries":`;
    return Buffer.concat([Buffer.from(head), entries, Buffer.from('}')]);
  }
}
