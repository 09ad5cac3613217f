/**
 * Interpreter of the interaction scripts: nodes, one shared bag of messages in send order, one output
 * buffer per directive into which handlers and the nodes' log lines print.
 */
import { logIndex, nodeId, type NodeId } from '../../src/common/ids.js';
import type { TransferResult } from '../../src/raft/core/transfer.js';
import type { ProposeResult } from '../../src/raft/core/membership-change.js';
import { voterIds } from '../../src/raft/core/quorum.js';
import type { Transition } from '../../src/raft/core/types.js';
import { findArg, type Directive } from './datadriven.js';
import {
  ROLE_TEXT,
  V1_CONTEXT,
  entryText,
  isLocalMail,
  mailName,
  mailText,
  recipient,
  type Mail,
} from './format-message.js';
import { progressText } from './format-progress.js';
import { LEVELS, traceLine, type Level } from './format-trace.js';
import { parseChanges } from './membership-script.js';
import { ScriptNode, type NodeTemplate } from './script-node.js';

interface DeliveryRule {
  readonly to: NodeId;
  readonly drop: boolean;
  readonly type: string | undefined;
}

/** Refusals that the scripts print as an error line even when output is silenced. */
class ScriptError extends Error {}

export class InteractionScript {
  private readonly nodes: ScriptNode[] = [];
  private bag: Mail[] = [];
  private output: string[] = [];
  private level: Level = 'debug';

  handle(directive: Directive): string {
    this.output = [];
    try {
      this.run(directive);
    } catch (error) {
      if (!(error instanceof ScriptError)) throw error;
      if (this.level === 'none') return error.message;
      this.output.push(error.message);
    }
    return this.output.length === 0 ? 'ok' : this.output.join('\n');
  }

  private print(text: string): void {
    if (this.level !== 'none') this.output.push(...text.split('\n'));
  }

  private run(directive: Directive): void {
    const ids = plainIds(directive);
    const first = ids[0] ?? nodeId(1);
    switch (directive.command) {
      case 'log-level':
        return this.setLevel(directive.args[0]?.key);
      case 'add-nodes':
        return this.addNodes(directive);
      case 'campaign':
        this.node(first).core.campaign();
        return;
      case 'read-index':
        this.node(first).core.readIndex(Number(directive.args[1]?.key));
        return;
      case 'propose':
        return this.refusal(
          this.node(first).core.propose(Buffer.from(directive.args[1]?.key ?? '')),
        );
      case 'propose-conf-change':
        return this.proposeChange(directive, first);
      case 'process-ready':
        return this.each(ids, 'handling Ready', (id) => this.processReady(id));
      case 'process-append-thread':
        return this.each(ids, 'processing append thread', (id) => this.processAppend(id));
      case 'process-apply-thread':
        return this.each(ids, 'processing apply thread', (id) => this.processApply(id));
      case 'deliver-msgs':
        return this.deliverMessages(directive);
      case 'stabilize':
        return this.stabilize(directive, ids);
      default:
        return this.runLocal(directive, first);
    }
  }

  private runLocal(directive: Directive, first: NodeId): void {
    const second = nodeId(Number(directive.args[1]?.key ?? 0));
    switch (directive.command) {
      case 'tick-election':
        return this.tick(first, 3);
      case 'tick-heartbeat':
        return this.tick(first, 1);
      case 'set-randomized-election-timeout':
        return this.pinTimeout(first, Number(findArg(directive, 'timeout')?.values[0]));
      case 'transfer-leadership':
        this.transfer(directive);
        return;
      case 'forget-leader':
        return this.node(first).core.forgetLeader();
      case 'report-unreachable':
        return this.node(first).core.reportUnreachable(second);
      case 'send-snapshot':
        return this.sendSnapshot(first, second);
      case 'compact':
        this.node(first).storage.compact(logIndex(second));
        return this.printLog(first);
      case 'raft-log':
        return this.printLog(first);
      case 'status':
        return this.printStatus(first);
      case 'raft-state':
        return this.printStates();
      default:
        throw new Error(`unknown command ${directive.command}`);
    }
  }

  private node(id: NodeId): ScriptNode {
    const node = this.nodes[id - 1];
    if (node === undefined) throw new Error(`no node ${id}`);
    return node;
  }

  private setLevel(name: string | undefined): void {
    const level = LEVELS.find((known) => known === name?.toLowerCase());
    if (level === undefined) throw new Error(`unknown level ${name}`);
    this.level = level;
  }

  private addNodes(directive: Directive): void {
    const template = templateOf(directive);
    for (let count = Number(directive.args[0]?.key); count > 0; count -= 1) {
      const id = nodeId(this.nodes.length + 1);
      const node = new ScriptNode(id, template, (event) => {
        const line = traceLine(event);
        if (line === undefined) return;
        if (LEVELS.indexOf(line.level) < LEVELS.indexOf(this.level)) return;
        this.output.push(`${line.level.toUpperCase()} ${line.text}`);
      });
      this.nodes.push(node);
    }
  }

  private refusal(result: ProposeResult): void {
    if (result.outcome === 'refused') throw new ScriptError('raft proposal dropped');
  }

  private proposeChange(directive: Directive, id: NodeId): void {
    const transition = (findArg(directive, 'transition')?.values[0] ?? 'auto') as Transition;
    const isV1 = findArg(directive, 'v1')?.values[0] === 'true';
    const changes = parseChanges(directive.input);
    const change = { transition, changes, ...(isV1 ? { context: V1_CONTEXT } : {}) };
    this.refusal(this.node(id).core.proposeChange(change));
  }

  private each(ids: readonly NodeId[], heading: string, act: (id: NodeId) => void): void {
    for (const id of ids) {
      if (ids.length === 1) act(id);
      else this.block(id, heading, () => act(id));
    }
  }

  private block(id: NodeId, heading: string, act: () => void): void {
    this.print(`> ${id} ${heading}`);
    const outer = this.output;
    this.output = [];
    act();
    const inner = this.output;
    this.output = outer;
    this.output.push(...inner.map((line) => `  ${line}`));
  }

  private processReady(id: NodeId): void {
    this.bag.push(...this.node(id).handleReady((text) => this.print(text)));
  }

  private processAppend(id: NodeId): void {
    const node = this.node(id);
    const job = node.appendJobs.shift();
    if (job === undefined) return this.print('no append work to perform');
    this.print(`Processing:\n${mailText({ ...job, responses: [] })}`);
    node.store(job.ready);
    this.print(['Responses:', ...job.responses.map((mail) => mailText(mail))].join('\n'));
    this.bag.push(...job.responses);
  }

  private processApply(id: NodeId): void {
    const node = this.node(id);
    const job = node.applyJobs.shift();
    if (job === undefined) return this.print('no apply work to perform');
    const done: Mail = { kind: 'storage-apply-done', node: id, entries: job.entries };
    const text = mailText(job).replace(/ Responses:\[[\s\S]*$/, '');
    this.print(`Processing:\n${text}`);
    node.apply(job.entries);
    this.print(`Responses:\n${mailText(done)}`);
    this.bag.push(done);
  }

  private deliverMessages(directive: Directive): void {
    const type = findArg(directive, 'type')?.values[0];
    let delivered = 0;
    for (const arg of directive.args) {
      if (arg.key === 'type') continue;
      const drop = arg.key === 'drop';
      for (const id of drop ? arg.values : [arg.key]) {
        delivered += this.deliver({ to: nodeId(Number(id)), drop, type });
      }
    }
    if (delivered === 0) this.print('no messages');
  }

  private takeMail(rule: DeliveryRule): Mail[] {
    const matches = (mail: Mail): boolean =>
      recipient(mail) === rule.to &&
      !(rule.drop && isLocalMail(mail)) &&
      (rule.type === undefined || mailName(mail) === rule.type);
    const taken = this.bag.filter(matches);
    this.bag = this.bag.filter((mail) => !matches(mail));
    return taken;
  }

  private deliver(rule: DeliveryRule): number {
    const mails = this.takeMail(rule);
    for (const mail of mails) {
      this.print(`${rule.drop ? 'dropped: ' : ''}${mailText(mail)}`);
      if (rule.drop) continue;
      const error = this.node(rule.to).receive(mail);
      if (error !== undefined) this.print(error);
    }
    return mails.length;
  }

  private stabilize(directive: Directive, ids: readonly NodeId[]): void {
    const before = this.level;
    const level = findArg(directive, 'log-level')?.values[0];
    if (level !== undefined) this.setLevel(level);
    const nodes = ids.length > 0 ? ids.map((id) => this.node(id)) : [...this.nodes];
    while (this.stabilizeRound(nodes));
    this.level = before;
  }

  private stabilizeRound(nodes: readonly ScriptNode[]): boolean {
    let busy = false;
    const act = (id: NodeId, heading: string, work: () => void): void => {
      busy = true;
      this.block(id, heading, work);
    };
    for (const node of nodes) {
      if (node.core.hasReady()) act(node.id, 'handling Ready', () => this.processReady(node.id));
    }
    for (const { id } of nodes) {
      if (!this.bag.some((mail) => recipient(mail) === id)) continue;
      act(id, 'receiving messages', () => this.deliver({ to: id, drop: false, type: undefined }));
    }
    for (const node of nodes) {
      if (node.appendJobs.length === 0) continue;
      act(node.id, 'processing append thread', () => {
        while (node.appendJobs.length > 0) this.processAppend(node.id);
      });
    }
    for (const node of nodes) {
      if (node.applyJobs.length === 0) continue;
      act(node.id, 'processing apply thread', () => {
        while (node.applyJobs.length > 0) this.processApply(node.id);
      });
    }
    return busy;
  }

  private tick(id: NodeId, ticks: number): void {
    for (let i = 0; i < ticks; i += 1) this.node(id).core.tick();
  }

  /** The scripts pin what is random; the core offers no such knob to anybody else. */
  private pinTimeout(id: NodeId, timeout: number): void {
    const { core } = this.node(id);
    (core as unknown as { state: { randomizedTimeout: number } }).state.randomizedTimeout = timeout;
  }

  private transfer(directive: Directive): TransferResult {
    const from = nodeId(Number(findArg(directive, 'from')?.values[0]));
    const to = nodeId(Number(findArg(directive, 'to')?.values[0]));
    return this.node(from).core.transferLeadership(to);
  }

  private sendSnapshot(from: NodeId, to: NodeId): void {
    const node = this.node(from);
    const snapshot = node.newestSnapshot();
    const { term } = node.core.status();
    const mail: Mail = { kind: 'snapshot', from, to, term, snapshot };
    this.bag.push(mail);
    this.print(mailText(mail));
  }

  private printLog(id: NodeId): void {
    const { storage } = this.node(id);
    const entries = storage.all();
    if (entries.length > 0) return this.print(entries.map(entryText).join('\n'));
    this.print(
      `log is empty: first index=${storage.firstIndex()}, last index=${storage.lastIndex()}`,
    );
  }

  private printStatus(id: NodeId): void {
    for (const peer of this.node(id).core.status().peers) {
      this.print(`${peer.id}: ${progressText(peer)}`);
    }
  }

  private printStates(): void {
    for (const { id, core } of this.nodes) {
      const { role, term, leader, config } = core.status();
      const voter = voterIds(config).includes(id) ? 'Voter' : 'Non-Voter';
      this.print(`${id}: ${ROLE_TEXT[role]} (${voter}) Term:${term} Lead:${leader}`);
    }
  }
}

function plainIds(directive: Directive): NodeId[] {
  return directive.args
    .filter((arg) => arg.values.length === 0 && /^\d+$/.test(arg.key))
    .map((arg) => nodeId(Number(arg.key)));
}

function templateOf(directive: Directive): NodeTemplate {
  const isOn = (key: string): boolean => findArg(directive, key)?.values[0] === 'true';
  const ids = (key: string): NodeId[] =>
    (findArg(directive, key)?.values ?? []).map((text) => nodeId(Number(text)));
  const numberOr = (key: string, otherwise: number): number => {
    const text = findArg(directive, key)?.values[0];
    return text === undefined ? otherwise : Number(text);
  };
  return {
    voters: ids('voters'),
    learners: ids('learners'),
    index: numberOr('index', 0),
    preVote: isOn('prevote'),
    checkQuorum: isOn('checkquorum'),
    asyncStorage: isOn('async-storage-writes'),
    stepDownOnRemoval: isOn('step-down-on-removal'),
    validateChanges: !isOn('disable-conf-change-validation'),
    maxInflightMessages: numberOr('inflight', Number.MAX_SAFE_INTEGER),
    maxApplyingBytes: numberOr('max-committed-size-per-ready', Number.MAX_SAFE_INTEGER),
    readMode: findArg(directive, 'read-only')?.values[0] === 'lease-based' ? 'lease' : 'safe',
  };
}
