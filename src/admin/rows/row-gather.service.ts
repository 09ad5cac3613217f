/**
 * Rows of every member for one question: the own ones, and those of the others asked at the same time
 * with a bound. A member that does not answer is left out and named.
 */
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { QUEEN_CONFIG, systemClock, type QueenConfig } from '../../config/index.js';
import { Groups } from '../../raft/index.js';
import { ownRows, readRows, rowsText, type NodeRows, type RowsQuery } from './node-rows.js';
import { RowCollector } from './row-collector.service.js';

const QUESTION = 'rows';
const PEER_TIMEOUT_MS = 1_500;

export interface GatheredRows {
  /** By node id. */
  readonly nodes: readonly NodeRows[];
  /** Members that did not answer. */
  readonly missing: readonly number[];
}

@Injectable()
export class RowGather implements OnModuleInit {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(RowCollector) private readonly collector: RowCollector,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  onModuleInit(): void {
    this.groups.members.answer(QUESTION, async (body) => {
      return rowsText(await this.own(readQuery(body)));
    });
  }

  async gather(query: RowsQuery): Promise<GatheredRows> {
    const { members } = this.groups;
    const others = members.others();
    const question = {
      ...{ name: QUESTION, timeoutMs: PEER_TIMEOUT_MS },
      body: JSON.stringify(query),
    };
    const [own, ...answers] = await Promise.all([
      this.own(query),
      ...others.map(async (id) => {
        const text = await members.ask(id, question);
        return text === null ? null : readRows(text);
      }),
    ]);
    const heard = answers.filter((rows) => rows !== null);
    return {
      nodes: [own, ...heard].sort((a, b) => a.nodeId - b.nodeId),
      missing: others.filter((_, i) => answers[i] === null).sort((a, b) => a - b),
    };
  }

  private own(query: RowsQuery): Promise<NodeRows> {
    const { server } = this.config;
    const self = {
      nodeId: this.groups.first.status().nodeId,
      ...{ hostname: server.serverId, port: server.port, pid: process.pid },
    };
    return ownRows(self, this.collector.frames, { ...query, nowMs: systemClock.nowMs() });
  }
}

function readQuery(body: string): RowsQuery {
  const query = JSON.parse(body) as RowsQuery;
  const { fromMs, toMs, widthMinutes, tenant } = query;
  const isQuery = [fromMs, toMs, widthMinutes].every((value) => Number.isFinite(value));
  if (!isQuery || (tenant !== null && typeof tenant !== 'string')) throw new Error('no query');
  return { fromMs, toMs, widthMinutes, tenant };
}
