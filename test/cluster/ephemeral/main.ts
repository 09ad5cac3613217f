/**
 * `npm run ephemeral -- --rounds 20`: owners of ephemeral partitions restart one after the other under
 * load. Prints a line per round. Exit 1 when a message or a partition was lost.
 */
import { parseArgs } from 'node:util';
import { ChurnRun } from './churn.js';
import { EphemeralScene } from './scene.js';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } });
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<boolean> {
  const scene = await EphemeralScene.start();
  try {
    const result = await new ChurnRun(scene, say).run(Number(values.rounds));
    const { rounds, acknowledged, delivered, missing, wipes } = result;
    const lost = rounds.reduce((sum, { handed }) => sum + handed.lost + handed.stillShipping, 0);
    say(`${rounds.length} rounds, ${acknowledged} messages acknowledged, ${delivered} delivered`);
    say(`${missing.length} missing, ${lost} partitions lost, ${wipes} wipes`);
    for (const one of missing.slice(0, 20)) say(`missing ${one}`);
    return missing.length === 0 && lost === 0 && wipes === 0;
  } finally {
    await scene.remove();
  }
}

if (!(await main())) process.exitCode = 1;
