/**
 * `npm run ephemeral -- --rounds 20 [--evidence]`: ephemeral partitions on three processes. What moves with
 * them, field by field; owners that restart one after the other under load; an owner that is killed.
 * Prints a table and writes docs/evidence/ephemeral.md with --evidence. Exit 1 when a message, a partition or
 * a field of one was lost, or the loss by the kill is not exactly that node's share.
 */
import { parseArgs } from 'node:util';
import { writeEvidence } from '../../support/evidence.js';
import { ChurnRun, type ChurnResult, type Round } from './churn.js';
import { killOwner, type KilledShare } from './killed-share.js';
import { MovedRingsRun, type MovedRings } from './moved-rings.js';
import { EphemeralScene } from './scene.js';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    evidence: { type: 'boolean', default: false },
  },
});
const PARTITIONS = Array.from({ length: 12 }, (_, n) => `p${n}`);
const TTL_MS = 4000;
/** From the TTL to placement, admission of nobody new, and a push through both survivors. */
const SERVED_WITHIN_MS = 2 * TTL_MS;
const ABOUT = `Three processes, partitions pushed through one node. First a node stops and returns, and what its partitions carried
is compared field by field with what it was: messages, leases, attempts, positions. Then restarts under load: four
producers, four consumers and 24 partitions through all nodes. Then kill -9.`;
const lines: string[] = [];

function say(line: string): void {
  lines.push(line);
  process.stdout.write(`${line}\n`);
}

function sayMoved({ node, partitions, handed, compared, differences }: MovedRings): boolean {
  const { rings, delivered, messages, lost } = handed;
  say(
    `moved and back: node ${node}, ${partitions} partitions, ephemeral rings handed over ` +
      `rings=${rings} delivered=${delivered} lost=${lost} messages=${messages}`,
  );
  say(`fields compared after the move: ${compared}, different: ${differences.length}`);
  for (const one of differences) say(`  ${one}`);
  return differences.length === 0 && lost === 0 && delivered === rings && partitions > 0;
}

const roundIsFine = ({ handed, home }: Round): boolean =>
  handed.lost + handed.stillShipping === 0 && handed.rings > 0 && home > 0;

function sayChurn({ rounds, acknowledged, delivered, missing, wipes }: ChurnResult): boolean {
  const bad = rounds.filter((round) => !roundIsFine(round)).length;
  say(
    `${rounds.length} restarts under load, ${acknowledged} messages acknowledged, ${delivered} delivered`,
  );
  say(`${missing.length} missing, ${wipes} partitions wiped, ${bad} rounds not as they should be`);
  for (const one of missing.slice(0, 20)) say(`  missing ${one}`);
  return missing.length === 0 && wipes === 0 && bad === 0;
}

function sayKilled(killed: KilledShare): boolean {
  const { node, partitions, rings, kept, expected, wipes, servedMs, differences } = killed;
  say(
    `kill -9 of node ${node}: it held ${rings} partitions, ${wipes} counted as lost; of ${PARTITIONS.length} ` +
      `partitions ${partitions} were its own, the others kept ${kept} of ${expected} messages`,
  );
  say(`its partitions were served again after ${servedMs.toFixed(0)} ms (TTL ${TTL_MS} ms)`);
  for (const one of differences) say(`  ${one}`);
  return differences.length === 0 && partitions > 0 && servedMs <= SERVED_WITHIN_MS;
}

async function main(): Promise<boolean> {
  const scene = await EphemeralScene.start();
  try {
    const moved = sayMoved(await new MovedRingsRun(scene, PARTITIONS).run());
    const churned = sayChurn(await new ChurnRun(scene, say).run(Number(values.rounds)));
    const killed = sayKilled(await killOwner(scene, 'killed', PARTITIONS));
    return moved && churned && killed;
  } finally {
    await scene.remove();
  }
}

const isFine = await main();
say(isFine ? 'nothing lost but the share of the killed node' : 'FAILED');
if (values.evidence) {
  writeEvidence({
    ...{
      path: 'docs/evidence/ephemeral.md',
      title: 'Ephemeral partitions that move',
      about: ABOUT,
    },
    command: `npm run ephemeral -- --rounds ${values.rounds}`,
    table: `\`\`\`\n${lines.join('\n')}\n\`\`\``,
    passed: isFine,
  });
}
if (!isFine) process.exitCode = 1;
