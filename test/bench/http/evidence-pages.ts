/** The pages of docs/evidence that runs of the bench fill with --evidence: what was run and what it shows. */
import { writeEvidence, type EvidencePage } from '../../support/evidence.js';
import type { BenchOptions } from './options.js';

const RETENTION = `One broker, 1 KiB messages in pushes of 100. So many messages are stored, one of a thousand of them is
dead-lettered; another queue is then pushed to at half the rate that storing them reached, first without and for a
minute with retention of everything stored. Push p99 is that of the other queue; \`du\` and the live bytes (messages
that are retained, and dead letters) are taken when the minute is over; memory is heap and buffers in use, before the
retention and once it is quiet again. Every dead letter is read back whole at the end, and the other queue is
verified message by message.`;

const STORM = `One broker. Steady pushes (200 a second) and their consumers on one queue, measured alone, then beside a
queue whose consumers complete 2,000 messages a second, then beside one whose consumers file as many as dead letters.
The p99 of pushes and acks is that of the steady queue. The dead letters that are listed at the end must be exactly
those that were acknowledged.`;

const EPHEMERAL = `One broker. Pushes of 100 x 1 KB and pops of 100, commit on delivery, on 20 partitions: in memory and on the
durable path in turn. Then many messages in memory, RSS at each million.`;

const GUARDS = `Brokers one after the other, pushes of one message of 100 B over 50 connections: JWT off, HS256 with one token
that the broker remembers, and HS256 with a token it never saw on every request.`;

const CASES = `Two cores, the generator beside the broker: only ratios of one run mean something, and of them the ones by
CPU of the JavaScript thread most. The verifier at the end reads everything back: each acknowledged message once, in order.`;

const NODES = `Three nodes and the generator on the same machine, connections spread over all nodes, next to a single node in
the same run. Budgets are shares of the single node.`;

const STEADY = `One broker, pushes of 100 x 1 KB for so long, with the figures of every part of it: what grows or slows shows.`;

const PARTITIONS = `One broker, so many partitions made by pushes: memory per partition, the longest answer beside it, the cost
of parked pops, and restarts after SIGTERM and SIGKILL.`;

const ADMIN = `One broker with so many partitions: every GET of the admin plane, how long it takes, and how long a ping
beside it waits.`;

type Page = Pick<EvidencePage, 'path' | 'title' | 'about'>;

function pageOf(options: BenchOptions): Page {
  if (options.retention !== undefined) {
    return page('retention', 'Retention beside half load', RETENTION);
  }
  if (options.deadLetterStorm !== undefined) {
    return page('dead-letter-storm', 'A storm of dead letters beside steady traffic', STORM);
  }
  if (options.ephemeral) {
    return page('ephemeral-bench', 'Ephemeral queues beside the durable path', EPHEMERAL);
  }
  if (options.guards) return page('guards', 'What tokens cost', GUARDS);
  if (options.nodes !== undefined) return page('bench-nodes', 'Bench of a cluster', NODES);
  if (options.steadySeconds !== undefined) return page('bench-steady', 'Steady state', STEADY);
  if (options.partitions === undefined) return page('bench', 'Bench', CASES);
  return options.admin
    ? page('bench-admin', 'The admin plane of many partitions', ADMIN)
    : page('bench-partitions', 'Many partitions', PARTITIONS);
}

const page = (name: string, title: string, about: string): Page => ({
  path: `docs/evidence/${name}.md`,
  title,
  about,
});

/** Answers the path of the page. */
export function writePage(
  options: BenchOptions,
  { report, passed }: { readonly report: string; readonly passed: boolean },
): string {
  const found = pageOf(options);
  const table = `\`\`\`text\n${report.replace(/ +$/gm, '')}\n\`\`\``;
  writeEvidence({ ...found, table, passed, command: options.command });
  return found.path;
}
