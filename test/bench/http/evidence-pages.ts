/** The pages of docs/evidence that runs of the bench fill with --evidence: what was run and what it shows. */
import { writeEvidence } from '../../support/evidence.js';
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

/** Answers the path of the page, null when no page belongs to the run. */
export function writePage(
  options: BenchOptions,
  { report, passed }: { readonly report: string; readonly passed: boolean },
): string | null {
  const table = `\`\`\`text\n${report}\n\`\`\``;
  const { retention, deadLetterStorm } = options;
  const strict = options.strict ? ' --strict' : '';
  if (retention !== undefined) {
    const path = 'docs/evidence/retention.md';
    writeEvidence({
      ...{ path, title: 'Retention beside half load', about: RETENTION, table, passed },
      command: `npm run bench -- --retention ${retention}${strict}`,
    });
    return path;
  }
  if (deadLetterStorm !== undefined) {
    const path = 'docs/evidence/dead-letter-storm.md';
    writeEvidence({
      ...{
        path,
        title: 'A storm of dead letters beside steady traffic',
        about: STORM,
        table,
        passed,
      },
      command: `npm run bench -- --dead-letter-storm ${deadLetterStorm}${strict}`,
    });
    return path;
  }
  if (options.ephemeral) {
    const path = 'docs/evidence/ephemeral-bench.md';
    const { messages } = options;
    const many = messages === undefined ? '' : ` --messages ${messages}`;
    writeEvidence({
      ...{
        path,
        title: 'Ephemeral queues beside the durable path',
        about: EPHEMERAL,
        table,
        passed,
      },
      command: `npm run bench -- --ephemeral${many}${strict}`,
    });
    return path;
  }
  if (options.guards) {
    const path = 'docs/evidence/guards.md';
    const command = `npm run bench -- --guards${strict}`;
    writeEvidence({ path, title: 'What tokens cost', about: GUARDS, table, command, passed });
    return path;
  }
  return null;
}
