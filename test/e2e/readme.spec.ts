/**
 * The README's walk-through, command by command: each `curl` with a printed answer is sent to a broker
 * and must print that answer, ids and times aside. The broker is restarted where the page kills it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestBroker } from '../support/broker.js';

interface Step {
  readonly command: string;
  /** What the page says it prints; null when it shows nothing. */
  readonly printed: string | null;
}

function stepsOf(page: string): Step[] {
  const blocks = [...page.matchAll(/^```(sh|json)\n([\s\S]*?)^```$/gm)];
  return blocks.flatMap(([, kind, text = ''], at): Step[] => {
    if (kind !== 'sh') return [];
    const [, nextKind, next = ''] = blocks[at + 1] ?? [];
    return [{ command: text.trim(), printed: nextKind === 'json' ? next.trim() : null }];
  });
}

/** `curl -s <url> [-d '<body>']`, the only form the page uses. */
function requestOf(command: string): { path: string; body: string | undefined } {
  const found = /^curl -s '?localhost:6632(\/[^\s']*)'?(?: -d '([^']*)')?$/.exec(command);
  if (found === null) throw new Error(`not a command of the known form: ${command}`);
  const [, path = '', body] = found;
  return { path, body };
}

const settled = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
    .replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, '<time>');

it('prints what the page shows', async () => {
  const steps = stepsOf(readFileSync(join(process.cwd(), 'README.md'), 'utf8'));
  const broker = await TestBroker.start();
  let sent = 0;
  try {
    for (const { command, printed } of steps) {
      if (command.startsWith('kill -9')) await broker.restart();
      // The page's three-node part has ports of its own and a suite of its own, test/cluster.
      if (
        !command.startsWith('curl -s localhost:6632') &&
        !command.startsWith("curl -s 'localhost:6632")
      ) {
        continue;
      }
      const { path, body } = requestOf(command);
      const { text } = await broker.send(body === undefined ? 'GET' : 'POST', path, body);
      expect(settled(text)).toBe(settled(printed ?? ''));
      sent += 1;
    }
  } finally {
    await broker.stop();
  }
  expect(sent).toBe(6);
});

it('names only files that are there', () => {
  const page = readFileSync(join(process.cwd(), 'README.md'), 'utf8');
  const linked = [...page.matchAll(/\]\(([^)#:]+)\)/g)].map(([, path = '']) => path);
  const named = [...page.matchAll(/`((?:src|test)\/[^`]+\.[a-z]+)`/g)].map(([, path = '']) => path);
  for (const path of [...linked, ...named]) {
    expect(() => readFileSync(join(process.cwd(), path))).not.toThrow();
  }
  expect(linked.length).toBeGreaterThan(3);
  expect(named.length).toBeGreaterThan(6);
});
