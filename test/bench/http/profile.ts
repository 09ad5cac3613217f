/** Top functions of a CPU profile by self time: what the broker's own thread was busy with. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from './report.js';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
}

interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const IDLE = new Set(['(idle)', '(program)', '(root)']);

export function profileTable(directory: string, top = 40): string {
  const self = new Map<string, number>();
  let busy = 0;
  let idle = 0;
  for (const file of readdirSync(directory).filter((name) => name.endsWith('.cpuprofile'))) {
    const profile = JSON.parse(readFileSync(join(directory, file), 'utf8')) as CpuProfile;
    const names = new Map(profile.nodes.map((node) => [node.id, nameOf(node)]));
    profile.samples.forEach((id, i) => {
      const micros = profile.timeDeltas[i] ?? 0;
      const name = names.get(id) ?? '';
      if (IDLE.has(name)) {
        idle += micros;
        return;
      }
      busy += micros;
      self.set(name, (self.get(name) ?? 0) + micros);
    });
  }
  const rows = [...self]
    .sort(([, a], [, b]) => b - a)
    .slice(0, top)
    .map(([name, micros]) => [
      name,
      (micros / 1000).toFixed(0),
      ((micros / busy) * 100).toFixed(1),
    ]);
  const title = `busy ${(busy / 1e6).toFixed(1)} s, idle or native ${(idle / 1e6).toFixed(1)} s`;
  return `${title}\n${table(['function', 'self ms', '% of busy'], rows)}`;
}

function nameOf({ callFrame }: ProfileNode): string {
  const { functionName, url, lineNumber } = callFrame;
  const place = url.replace(/^.*\/(dist|node_modules)\//, '').replace(/^node:/, 'node:');
  const name = functionName === '' ? '(anonymous)' : functionName;
  return place === '' ? name : `${name} ${place}:${lineNumber + 1}`;
}
