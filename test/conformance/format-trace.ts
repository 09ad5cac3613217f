/** Turns the core's trace events into the log lines of the scripts. */
import type { NodeTraceEvent, LogTraceEvent, TraceEvent } from '../../src/raft/core/trace.js';
import type { ConfigChange, SingleChange, Transition } from '../../src/raft/core/types.js';
import { messageName } from './format-message.js';
import { configText, hex, progressText } from './format-progress.js';

export type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'none';

export const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error', 'fatal', 'none'];

export interface LogLine {
  readonly level: Level;
  readonly text: string;
}

const TRANSITION_TEXT: Readonly<Record<Transition, string>> = {
  auto: 'ConfChangeTransitionAuto',
  implicit: 'ConfChangeTransitionJointImplicit',
  explicit: 'ConfChangeTransitionJointExplicit',
};

const ACTION_TEXT: Readonly<Record<SingleChange['action'], string>> = {
  'add-voter': 'ConfChangeAddNode',
  'add-learner': 'ConfChangeAddLearnerNode',
  remove: 'ConfChangeRemoveNode',
  update: 'ConfChangeUpdateNode',
};

/** Undefined for events the scripts do not print. */
export function traceLine(event: TraceEvent): LogLine | undefined {
  if (!('node' in event)) return logLine(event);
  const id = hex(event.node);
  return (
    electionLine(id, event) ??
    termLine(id, event) ??
    replicationLine(id, event) ??
    snapshotLine(id, event) ??
    membershipLine(id, event)
  );
}

const debug = (text: string): LogLine => ({ level: 'debug', text });
const info = (text: string): LogLine => ({ level: 'info', text });
const warn = (text: string): LogLine => ({ level: 'warn', text });

function logLine(event: LogTraceEvent): LogLine | undefined {
  switch (event.type) {
    case 'conflict-found':
      return info(
        `found conflict at index ${event.index} [existing term: ${event.existingTerm}, conflicting term: ${event.conflictingTerm}]`,
      );
    case 'unstable-replaced':
      return info(`replace the unstable entries from index ${event.index}`);
    case 'unstable-truncated':
      return info(`truncate the unstable entries before index ${event.index}`);
    case 'ack-entry-missing':
      return info(`entry at index ${event.index} missing from unstable log; ignoring`);
    case 'ack-entry-in-snapshot':
      return info(`entry at index ${event.index} matched unstable snapshot; ignoring`);
    case 'ack-entry-mismatched':
      return info(
        `entry at (index,term)=(${event.acked.index},${event.acked.term}) mismatched with entry at (${event.own.index},${event.own.term}) in unstable log; ignoring`,
      );
    case 'restore-started':
      return info(
        `log [committed=${event.committed}, applied=${event.applied}, applying=${event.applying}, unstable.offset=${event.offset}, unstable.offsetInProgress=${event.offsetInProgress}, len(unstable.Entries)=${event.unstableCount}] starts to restore snapshot [index: ${event.snapshot.index}, term: ${event.snapshot.term}]`,
      );
  }
}

function electionLine(id: string, event: NodeTraceEvent): LogLine | undefined {
  switch (event.type) {
    case 'role-changed':
      return info(`${id} became ${event.role} at term ${event.term}`);
    case 'election-started':
      return info(`${id} is starting a new election at term ${event.term}`);
    case 'campaign-refused':
      return event.reason === 'unpromotable'
        ? warn(`${id} is unpromotable and can not campaign`)
        : warn(
            `${id} cannot campaign at term ${event.term} since there are still pending configuration changes to apply`,
          );
    case 'vote-requested':
      return info(
        `${id} [logterm: ${event.own.term}, index: ${event.own.index}] sent ${messageName('vote-request', event.preVote)} request to ${hex(event.to)} at term ${event.term}`,
      );
    case 'vote-answered': {
      const name = messageName('vote-response', event.preVote);
      const what = event.granted ? name : `${name} rejection`;
      return info(`${id} received ${what} from ${hex(event.from)} at term ${event.term}`);
    }
    case 'votes-counted':
      return info(
        `${id} has received ${event.granted} ${messageName('vote-response', event.preVote)} votes and ${event.rejected} vote rejections`,
      );
    case 'vote-cast':
    case 'vote-rejected':
    case 'vote-ignored': {
      const name = messageName('vote-request', event.preVote);
      const verb = {
        'vote-cast': `cast ${name} for`,
        'vote-rejected': `rejected ${name} from`,
        'vote-ignored': `ignored ${name} from`,
      }[event.type];
      const lease =
        event.type === 'vote-ignored'
          ? `: lease is not expired (remaining ticks: ${event.leaseTicksLeft})`
          : '';
      return info(
        `${id} [logterm: ${event.own.term}, index: ${event.own.index}, vote: ${hex(event.vote)}] ${verb} ${hex(event.from)} [logterm: ${event.theirs.term}, index: ${event.theirs.index}] at term ${event.term}${lease}`,
      );
    }
    default:
      return undefined;
  }
}

function termLine(id: string, event: NodeTraceEvent): LogLine | undefined {
  switch (event.type) {
    case 'higher-term-received':
      return info(
        `${id} [term: ${event.term}] received a ${messageName(event.message, event.preVote)} message with higher term from ${hex(event.from)} [term: ${event.messageTerm}]`,
      );
    case 'lower-term-ignored':
      return info(
        `${id} [term: ${event.term}] ignored a ${messageName(event.message, event.preVote)} message with lower term from ${hex(event.from)} [term: ${event.messageTerm}]`,
      );
    case 'stale-persist-ack':
      return info(
        `${id} [term: ${event.term}] ignored entry appends from a MsgStorageAppendResp message with lower term [term: ${event.ackTerm}]`,
      );
    case 'quorum-lost':
      return warn(`${id} stepped down to follower since quorum is not active`);
    case 'leader-forgotten':
      return info(`${id} forgetting leader ${hex(event.leader)} at term ${event.term}`);
    case 'forget-refused':
      return { level: 'error', text: 'ignoring MsgForgetLeader due to ReadOnlyLeaseBased' };
    case 'transfer-started':
      return info(`${id} [term ${event.term}] starts to transfer leadership to ${hex(event.peer)}`);
    case 'transfer-election':
      return info(
        `${id} [term ${event.term}] received MsgTimeoutNow from ${hex(event.peer)} and starts an election to get leadership.`,
      );
    case 'timeout-now-sent': {
      const peer = hex(event.peer);
      return event.immediately
        ? info(
            `${id} sends MsgTimeoutNow to ${peer} immediately as ${peer} already has up-to-date log`,
          )
        : info(`${id} sent MsgTimeoutNow to ${peer} after received MsgAppResp`);
    }
    case 'proposal-dropped':
      return event.reason === 'no-leader'
        ? info(`${id} no leader at term ${event.term}; dropping proposal`)
        : undefined;
    default:
      return undefined;
  }
}

function replicationLine(id: string, event: NodeTraceEvent): LogLine | undefined {
  switch (event.type) {
    case 'append-rejected':
      return debug(
        `${id} [logterm: ${event.own.term}, index: ${event.own.index}] rejected MsgApp [logterm: ${event.theirTerm}, index: ${event.own.index}] from ${hex(event.from)}`,
      );
    case 'append-refused-by-peer':
      return debug(
        `${id} received MsgAppResp(rejected, hint: (index ${event.hint.index}, term ${event.hint.term})) from ${hex(event.peer)} for index ${event.index}`,
      );
    case 'progress-lowered':
      return debug(
        `${id} decreased progress of ${hex(event.peer)} to [${progressText(event.progress)}]`,
      );
    case 'peer-unreachable':
      return debug(
        `${id} failed to send message to ${hex(event.peer)} because it is unreachable [${progressText(event.progress)}]`,
      );
    default:
      return undefined;
  }
}

function snapshotLine(id: string, event: NodeTraceEvent): LogLine | undefined {
  switch (event.type) {
    case 'snapshot-sent':
      return debug(
        `${id} [firstindex: ${event.firstIndex}, commit: ${event.commit}] sent snapshot[index: ${event.snapshot.index}, term: ${event.snapshot.term}] to ${hex(event.peer)} [${progressText(event.progress)}]`,
      );
    case 'snapshot-pause':
      return debug(
        `${id} paused sending replication messages to ${hex(event.peer)} [${progressText(event.progress)}]`,
      );
    case 'snapshot-recovered':
      return debug(
        `${id} recovered from needing snapshot, resumed sending replication messages to ${hex(event.peer)} [${progressText(event.progress)}]`,
      );
    case 'snapshot-deferred':
      return event.reason === 'inactive'
        ? debug(`ignore sending snapshot to ${hex(event.peer)} since it is not recently active`)
        : undefined;
    case 'snapshot-restored':
      return info(
        `${id} [commit: ${event.commit}, lastindex: ${event.last.index}, lastterm: ${event.last.term}] restored snapshot [index: ${event.snapshot.index}, term: ${event.snapshot.term}]`,
      );
    case 'snapshot-fast-forwarded':
      return info(
        `${id} [commit: ${event.commit}, lastindex: ${event.last.index}, lastterm: ${event.last.term}] fast-forwarded commit to snapshot [index: ${event.snapshot.index}, term: ${event.snapshot.term}]`,
      );
    case 'snapshot-accepted':
    case 'snapshot-ignored': {
      const verb = event.type === 'snapshot-accepted' ? 'restored' : 'ignored';
      return info(
        `${id} [commit: ${event.commit}] ${verb} snapshot [index: ${event.snapshot.index}, term: ${event.snapshot.term}]`,
      );
    }
    default:
      return undefined;
  }
}

function membershipLine(id: string, event: NodeTraceEvent): LogLine | undefined {
  switch (event.type) {
    case 'node-started':
      return info(
        `newRaft ${id} [peers: [${event.voters.map(hex).join(',')}], term: ${event.term}, commit: ${event.commit}, applied: ${event.applied}, lastindex: ${event.last.index}, lastterm: ${event.last.term}]`,
      );
    case 'config-switched':
      return info(`${id} switched to configuration ${configText(event.config)}`);
    case 'change-ignored': {
      const why = {
        'pending-change': `possible unapplied conf change at index ${event.pendingIndex} (applied to ${event.applied})`,
        'already-joint': 'must transition out of joint config first',
        'not-joint': 'not in joint state; refusing empty conf change',
        invalid: 'invalid',
      }[event.reason];
      return info(
        `${id} ignoring conf change ${changeText(event.change)} at config ${configText(event.config)}: ${why}`,
      );
    }
    case 'auto-leave-proposed':
      return info(
        `initiating automatic transition out of joint configuration ${configText(event.config)}`,
      );
    default:
      return undefined;
  }
}

function changeText(change: ConfigChange): string {
  const changes = change.changes.map(
    ({ action, node }) => ` changes:{type:${ACTION_TEXT[action]} node_id:${node}}`,
  );
  return `transition:${TRANSITION_TEXT[change.transition]}${changes.join('')}`;
}
