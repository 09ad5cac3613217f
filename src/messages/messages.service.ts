/** Serves the browsing of messages (messages.md §11.1, §11.2); each read waits for a barrier. */
import { Inject, Injectable } from '@nestjs/common';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { QueryValues } from '../http/query.js';
import type { Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { renderPage } from './message-answer.js';
import type { MessagePath } from './message-detail.js';
import { messageDetail } from './message-detail.js';
import { listMessages, parseMessageFilter } from './message-list.js';

@Injectable()
export class MessagesService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  async list(tenant: Uint8Array, query: QueryValues): Promise<Uint8Array> {
    const group = await this.settled(tenant);
    const filter = parseMessageFilter(query, group.nowMicros());
    return renderPage(group, await listMessages(group, tenant, filter), filter);
  }

  async detail(tenant: Uint8Array, path: MessagePath): Promise<Uint8Array | null> {
    return messageDetail(await this.settled(tenant), tenant, path);
  }

  private async settled(tenant: Uint8Array): Promise<Group> {
    const group = this.groups.ofTenant(tenant);
    await group.readBarrier({ deadlineMs: deadlineAfter(this.config.server.defaultTimeoutMs) });
    return group;
  }
}
