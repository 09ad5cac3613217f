/**
 * Timers inside a transaction (state.md §2.5): the `timers` array of its body. Horizon, payload ceiling
 * and the bound on operations do not apply there, nor does the gate ladder; the switch does.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { producerSubOf } from '../auth/identity.js';
import { BinaryWriter } from '../common/binary-writer.js';
import type { JsonWriter } from '../common/json/json-writer.js';
import { StateRefusal } from '../common/state-refusal.js';
import { encodeUtf8, readUtf8 } from '../common/utf8.js';
import type { UuidMint } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { implicitDefaults } from '../http/implicit-defaults.js';
import { MESSAGE_IDS } from '../http/tokens.js';
import type {
  PlannedOperations,
  TransactionCall,
  TransactionPlug,
} from '../http/transaction-plugs.js';
import { TransactionPlugs, TransactionRefusal } from '../http/transaction-plugs.js';
import type { TransactionOutcomes } from '../machine/commands/index.js';
import { writeTimerOps } from '../machine/commands/timers.js';
import { Groups } from '../raft/index.js';
import { resultElement } from './timer-answer.js';
import { checkNames, commandOps, foreignEncryption, mintIds } from './timer-command.js';
import type { CommandScene, MintedOperation } from './timer-command.js';
import { checkEdge, isServerOwned, readOperations } from './timer-operations.js';
import type { TimerOperation } from './timer-operations.js';

@Injectable()
export class TimersPlug implements TransactionPlug, OnModuleInit {
  readonly field = 'timers';
  @Inject(MESSAGE_IDS) private readonly mint!: UuidMint;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(TransactionPlugs) private readonly plugs: TransactionPlugs,
  ) {}

  onModuleInit(): void {
    this.plugs.add(this);
  }

  plan(json: Uint8Array, call: TransactionCall): PlannedOperations {
    const scene = this.sceneOf(call);
    const operations = this.read(JSON.parse(readUtf8(json, 0, json.length)) as unknown[]);
    const schedules = operations.some(({ op }) => op === 'schedule');
    if (schedules && !this.groups.first.tables.controls.isOn('timersSchedule')) {
      throw new TransactionRefusal(403, 'timers_disabled', 'scheduling timers is switched off');
    }
    checkNames(operations);
    const foreign = foreignEncryption(operations, scene);
    if (foreign >= 0) {
      const text = `timers[${foreign}].encrypted: the broker encrypts this queue's payloads`;
      throw new TransactionRefusal(200, 'bad_request', text);
    }
    return new PlannedTimers(mintIds(operations, this.mint), scene, call.deadlineMs);
  }

  private read(values: readonly unknown[]): TimerOperation[] {
    const { entryMaxBytes } = this.config.planner;
    const none = { maxPayloadBytes: Infinity, maxHorizonSeconds: Infinity };
    try {
      const edge = checkEdge(values, none, this.field);
      return readOperations(edge, { maxPayloadBytes: entryMaxBytes }, this.field);
    } catch (error) {
      if (!(error instanceof StateRefusal)) throw error;
      const reason = isServerOwned(error) ? 'timers_server_owned_field' : 'bad_request';
      const { detail } = error.body;
      throw new TransactionRefusal(400, reason, detail ?? error.reason ?? error.message);
    }
  }

  private sceneOf({ request, tenant }: TransactionCall): CommandScene {
    const group = this.groups.ofTenant(tenant);
    const windowMinSeconds = Math.ceil(this.config.retention.txnWindowMinMs / 1000);
    const limits = { defaults: implicitDefaults(), windowMinSeconds };
    return { tenant, group, limits, producerSub: producerSubOf(request) };
  }
}

class PlannedTimers implements PlannedOperations {
  constructor(
    private readonly minted: readonly MintedOperation[],
    private readonly scene: CommandScene,
    private readonly deadlineMs: number,
  ) {}

  get count(): number {
    return this.minted.length;
  }

  get growing(): boolean {
    return this.minted.some(({ messageId }) => messageId !== null);
  }

  async section(): Promise<Uint8Array> {
    const { minted, scene, deadlineMs } = this;
    const writer = new BinaryWriter();
    writeTimerOps(writer, await commandOps(minted, scene, { deadlineMs }));
    return writer.toBytes();
  }

  writeResult(out: JsonWriter, i: number, outcomes: Readonly<TransactionOutcomes>): void {
    const minted = this.minted[i];
    const result = outcomes.timers?.[i];
    if (minted === undefined || result === undefined) return;
    const fields = JSON.stringify(resultElement(minted, result)).slice(1, -1);
    out.ascii(',').fragment(encodeUtf8(fields));
  }

  /** Nothing about a timer rolls a transaction back. */
  writeRollback(): void {
    return;
  }
}
