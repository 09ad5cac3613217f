/**
 * The recovery table of cluster.md §7.4, case by case, on real processes with a ledger of every
 * acknowledged write. Prints the table. One case alone: `-t 'split brain'`.
 */
import { DISK_REHEARSALS } from './operations/rehearsals-disks.js';
import { NODE_REHEARSALS } from './operations/rehearsals-nodes.js';
import { Scene } from './operations/scene.js';

jest.setTimeout(480_000);

const CASES = [...NODE_REHEARSALS, ...DISK_REHEARSALS];
const table: string[] = [];
let scene: Scene | null = null;

afterEach(async () => {
  await scene?.ledger.stop(true);
  await scene?.cluster.remove();
  scene = null;
});

afterAll(() => {
  process.stdout.write(`| Case | Seen |\n|---|---|\n${table.join('\n')}\n`);
});

it.each(CASES.map((one) => [one.name, one] as const))('%s', async (name, one) => {
  scene = await Scene.start(one.options, one.writes);
  const line = `| ${name} | ${await one.run(scene)} |`;
  process.stdout.write(`${line}\n`);
  table.push(line);
});
