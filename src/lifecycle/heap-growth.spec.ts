/** The flags of the heap are flags this Node knows, and the young generation grows again once it may. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { transformFileSync } from '@swc/core';

const churn = (calls: string): string => `
  import v8 from 'node:v8';
  import { letHeapGrow, letYoungGenerationGrow } from './heap-growth.mjs';
  v8.setFlagsFromString('--semi-space-growth-factor=1');
  ${calls}
  const survivors = [];
  for (let i = 0; i < 1_000_000; i += 1) survivors[i % 200_000] = { i };
  const young = v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
  console.log(young.space_size / 1048576);
`;

/** MiB of the young generation after a million objects of which many survive. */
function youngMib(calls: string): number {
  const directory = mkdtempSync(join(tmpdir(), 'queen-heap-'));
  try {
    const { code } = transformFileSync('src/lifecycle/heap-growth.ts', {
      ...{ swcrc: false, module: { type: 'es6' } },
      jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    });
    writeFileSync(join(directory, 'heap-growth.mjs'), code);
    writeFileSync(join(directory, 'probe.mjs'), churn(calls));
    const child = spawnSync(process.execPath, [join(directory, 'probe.mjs')], { encoding: 'utf8' });
    // V8 complains here about a flag it does not know, and goes on.
    expect(child.stderr).toBe('');
    return Number(child.stdout);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

describe('heap growth', () => {
  it('a young generation that was held grows once it may', () => {
    expect(youngMib('')).toBeLessThanOrEqual(4);
    expect(youngMib('letYoungGenerationGrow();')).toBeGreaterThan(8);
  });

  it('the growth of the whole heap is a flag of this Node', () => {
    expect(youngMib('letHeapGrow();')).toBeGreaterThan(0);
  });
});
