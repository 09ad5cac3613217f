/** Changes of queues: configure (merge, replace, null) and delete (messages.md §9.1, §9.2). */
import { Inject, Injectable } from '@nestjs/common';
import { QueenError } from '../common/errors.js';
import { nameRefusal } from '../common/name-budget.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { JsonObject } from '../http/json-body.js';
import type { Outcome } from '../machine/commands/catalogue.js';
import { CommandKind } from '../machine/commands/catalogue.js';
import { encodeConfigure, encodeDeleteQueue } from '../machine/commands/index.js';
import type { Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { shownOptions } from '../reads/queue-options.js';
import { CONFIGURE_DEFAULTS, parseOptions } from './option-values.js';
import { findQueue } from './queue-reads.service.js';
import { queueUuidText } from '../reads/partition-identity.js';

/** Refusal of an unknown mode: 400 without a code. */
export class ModeRefusal extends Error {}

interface ParsedConfigure {
  readonly queue: string;
  readonly replace: boolean;
  readonly options: ReturnType<typeof parseOptions>;
}

@Injectable()
export class QueuesService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  async configure(tenant: Uint8Array, body: JsonObject): Promise<unknown> {
    const parsed = parseConfigure(body);
    const group = this.groups.ofTenant(tenant);
    const bytes = encodeConfigure(tenant, { ...parsed, defaults: CONFIGURE_DEFAULTS });
    const outcome = await this.submit(group, bytes);
    if (outcome.kind !== CommandKind.Configure) throw new QueenError('retry');
    const queue = findQueue(group, tenant, parsed.queue);
    // Deleted again between apply and here: answer with what was just set.
    const options = queue?.options ?? { ...CONFIGURE_DEFAULTS, ...parsed.options };
    return {
      configured: true,
      queueId: queue === undefined ? null : queueUuidText(queue),
      partitionId: null,
      queue: parsed.queue,
      namespace: options.namespace,
      task: options.task,
      storage: 'segments',
      options: shownOptions(options),
    };
  }

  async remove(tenant: Uint8Array, queue: string): Promise<unknown> {
    checkName(queue);
    const group = this.groups.ofTenant(tenant);
    const outcome = await this.submit(group, encodeDeleteQueue(tenant, { queue }));
    if (outcome.kind !== CommandKind.DeleteQueue) throw new QueenError('retry');
    if (outcome.existed) return { deleted: true, existed: true, queue };
    const message = 'Queue not found, nothing was deleted';
    return { deleted: false, existed: false, queue, message };
  }

  private async submit(group: Group, bytes: Uint8Array): Promise<Outcome> {
    const deadlineMs = deadlineAfter(this.config.server.defaultTimeoutMs);
    const outcome = await group.submit({ bytes }, { deadlineMs });
    if (outcome.kind === 'refused') throw new QueenError('bad_request', outcome.text);
    return outcome;
  }
}

function parseConfigure(body: JsonObject): ParsedConfigure {
  const { queue, mode } = body;
  if (typeof queue !== 'string' || queue === '') {
    throw new QueenError('bad_request', 'queue is required');
  }
  checkName(queue);
  if (mode !== undefined && mode !== null && mode !== 'merge' && mode !== 'replace') {
    throw new ModeRefusal(`mode must be "merge" or "replace", got ${JSON.stringify(mode)}`);
  }
  return { queue, replace: mode === 'replace', options: parseOptions(optionSource(body)) };
}

/** Options stand in `options`, or at top level when that is no object; labels may stand at top level. */
function optionSource(body: JsonObject): Record<string, unknown> {
  const { options } = body;
  const nested = options !== null && typeof options === 'object' && !Array.isArray(options);
  if (!nested) return withoutControls(body);
  const source: Record<string, unknown> = { ...options };
  for (const label of ['namespace', 'task'] as const) {
    const value = body[label];
    if (Object.hasOwn(source, label)) continue;
    if (typeof value === 'string' && value !== '') source[label] = value;
  }
  return source;
}

function withoutControls(body: JsonObject): Record<string, unknown> {
  const source: Record<string, unknown> = { ...body };
  delete source['queue'];
  delete source['options'];
  delete source['mode'];
  for (const label of ['namespace', 'task'] as const) {
    if (source[label] === '') delete source[label];
  }
  return source;
}

function checkName(queue: string): void {
  const text = nameRefusal({ queue, partition: '', group: '' });
  if (text !== undefined) throw new QueenError('name_too_long', text);
}
