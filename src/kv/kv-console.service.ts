/**
 * What a browser of keys looks at (state.md §1.11): namespaces with their counts, and pages of a
 * namespace, expired rows too when asked. Reads only, behind the read ladder and a read barrier.
 */
import { Inject, Injectable } from '@nestjs/common';
import { isKvText, MAX_KV_KEY_BYTES } from '../common/kv-names.js';
import { JsonWriter } from '../common/json/json-writer.js';
import { StateRefusal } from '../common/state-refusal.js';
import { utf8Length } from '../common/utf8.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { JsonObject } from '../http/json-body.js';
import { isKvLive } from '../machine/tables/kv-rows.js';
import { asKvRefusal } from '../preparation/kv/kv-call.js';
import { badKv, checkKvNamespace } from '../preparation/kv/kv-validate.js';
import { StateGate } from '../preparation/state-gate.js';
import { Groups } from '../raft/index.js';
import { KvReadBudget, KvReader } from '../reads/kv-rows.js';
import type { KvEntry } from '../reads/kv-rows.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
const MAX_NAMESPACES_BYTES = 16 * 1024 * 1024;

/** One page of a namespace. */
export interface KvListRequest {
  readonly namespace: string;
  readonly prefix: string;
  readonly after: string;
  readonly limit: number;
  readonly keysOnly: boolean;
  readonly includeExpired: boolean;
}

@Injectable()
export class KvConsoleService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(StateGate) private readonly gate: StateGate,
  ) {}

  async namespaces(tenant: Uint8Array): Promise<Uint8Array> {
    this.gate.enterRead(tenant);
    return this.reading(tenant, (reader) => namespacesList(reader));
  }

  async list(tenant: Uint8Array, body: JsonObject): Promise<Uint8Array> {
    this.gate.enterRead(tenant);
    const request = parseListRequest(body);
    return this.reading(tenant, (reader) => listPage(reader, request));
  }

  private async reading<T>(tenant: Uint8Array, read: (reader: KvReader) => Promise<T>): Promise<T> {
    const group = this.groups.ofTenant(tenant);
    try {
      await group.readBarrier({ deadlineMs: deadlineAfter(this.config.server.stmtTimeoutMs) });
      const number = group.tables.names.tenant(tenant);
      const now = group.nowMicros();
      const view = await group.view();
      try {
        return await read(new KvReader(view, number, now));
      } finally {
        await view.close();
      }
    } catch (error) {
      throw asKvRefusal(error);
    }
  }
}

function parseListRequest(body: JsonObject): KvListRequest {
  const { namespace, prefix, after, limit, keysOnly, includeExpired } = body;
  return {
    namespace: checkKvNamespace(typeof namespace === 'string' ? namespace : undefined),
    prefix: textField('prefix', prefix),
    after: textField('after', after),
    limit: limitField(limit),
    keysOnly: booleanField('keysOnly', keysOnly),
    includeExpired: booleanField('includeExpired', includeExpired),
  };
}

function textField(name: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw badKv('kv_bad_request', `${name} must be a string`);
  return value;
}

function limitField(value: unknown): number {
  if (value === undefined || value === null) return DEFAULT_LIMIT;
  const isWhole = typeof value === 'number' && (Number.isInteger(value) || !Number.isFinite(value));
  if (!isWhole) throw badKv('kv_bad_request', 'limit must be an integer');
  return Math.min(MAX_LIMIT, Math.max(1, value));
}

function booleanField(name: string, value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw badKv('kv_bad_request', `${name} must be a boolean`);
  return value;
}

async function namespacesList(reader: KvReader): Promise<Uint8Array> {
  const writer = new JsonWriter().ascii('{"namespaces":[');
  let isFirst = true;
  for await (const { namespace, keys } of reader.namespaces()) {
    if (writer.length > MAX_NAMESPACES_BYTES) {
      const detail = `the namespaces take more than ${MAX_NAMESPACES_BYTES} bytes`;
      throw new StateRefusal('payload_too_large', { reason: 'too_large', detail });
    }
    writer.ascii(isFirst ? '{"namespace":' : ',{"namespace":').string(namespace);
    writer.ascii(',"keys":').integer(keys).ascii('}');
    isFirst = false;
  }
  return writer.ascii(']}').toBytes();
}

async function listPage(reader: KvReader, request: KvListRequest): Promise<Uint8Array> {
  const { limit, keysOnly, includeExpired, prefix } = request;
  const writer = new JsonWriter().ascii('{"rows":[');
  const budget = new KvReadBudget();
  let [rows, bytes, truncated] = [0, 0, false];
  let last = '';
  const isPossible = isKvText(prefix) && utf8Length(prefix) <= MAX_KV_KEY_BYTES;
  for await (const entry of isPossible ? reader.span(request, includeExpired) : []) {
    truncated = rows === limit || (!keysOnly && budget.isSpent);
    if (truncated) break;
    if (rows > 0) writer.ascii(',');
    writeEntry(writer, entry, { request, now: reader.now });
    rows += 1;
    last = entry.key;
    if (keysOnly) continue;
    bytes += entry.row.value.length;
    budget.spend(entry.row);
  }
  writer.ascii('],"truncated":').boolean(truncated).ascii(',"nextAfter":');
  writer.stringOrNull(truncated ? last : undefined);
  return writer.ascii(',"bytes":').integer(bytes).ascii('}').toBytes();
}

function writeEntry(
  writer: JsonWriter,
  { key, row }: KvEntry,
  page: { readonly request: KvListRequest; readonly now: number },
): void {
  writer.ascii('{"key":').string(key);
  if (!page.request.keysOnly) {
    writer.ascii(',"value":').splice(row.value, 0, row.value.length);
  }
  writer.ascii(',"version":').integer(row.version).ascii(',"expiresAt":');
  if (row.expiresAt === 0) writer.null();
  else writer.timestamp(row.expiresAt);
  if (page.request.includeExpired) {
    writer.ascii(',"expired":').boolean(!isKvLive(row, page.now));
  }
  writer.ascii(',"updatedAt":').timestamp(row.updatedAt).ascii('}');
}
