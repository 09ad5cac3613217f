/** Each rule of the house can fail: small sources that break it, and their tidy neighbours. */
import { checkSource } from './check.js';
import { mayImport, placeOf, ROOMS } from './rooms.js';

const HEADER = '/** What this file is for. */\n';

function messages(path: string, body: string, header = HEADER): readonly string[] {
  return checkSource({ path, text: header + body }).map(({ message }) => message);
}

describe('imports', () => {
  const importing = (path: string, from: string, kind = ''): readonly string[] =>
    messages(path, `import ${kind}{ x } from '${from}';\n`);

  it.each([
    ['src/common/ids.ts', '../config/index.js'],
    ['src/raft/core/core.ts', '../wal/wal.js'],
    ['src/raft/core/core.ts', '../../machine/machine.js'],
    ['src/machine/apply/push.ts', '../../raft/core/core.js'],
    ['src/machine/apply/push.ts', '../../logging/index.js'],
    ['src/storage/store.ts', '../machine/apply/push.js'],
    ['src/raft/group/driver.ts', '../../machine/apply/push.js'],
    ['src/raft/group/driver.ts', '../../storage/store.js'],
    ['src/reads/browse.ts', '../storage/checkpoint.js'],
    ['src/coordinators/sweep.ts', '../storage/store.js'],
    ['src/queues/queues.service.ts', '../leases/leases.service.js'],
    ['src/queues/queues.service.ts', '../raft/group/local-group.js'],
    ['src/queues/queues.service.ts', '../storage/index.js'],
    ['src/config/load.ts', '../logging/index.js'],
    ['src/app.module.ts', './queues/queues.service.js'],
    ['src/queues/queues.service.ts', '../../test/support/x.js'],
    ['src/nowhere/x.ts', '../common/ids.js'],
    ['src/queues/x.ts', '../nowhere/x.js'],
  ])('%p may not import %p', (path, from) => {
    expect(importing(path, from)).toHaveLength(1);
  });

  it.each([
    ['src/machine/apply/push.ts', '../commands/kinds.js'],
    ['src/machine/apply/push.ts', '../../common/ids.js'],
    ['src/storage/store.ts', '../machine/tables/queues.js'],
    ['src/raft/groups.service.ts', './group/local-group.js'],
    ['src/raft/groups.service.ts', '../storage/store.js'],
    ['src/queues/queues.service.ts', '../raft/index.js'],
    ['src/queues/queues.service.ts', '@nestjs/common'],
    ['src/app.module.ts', './queues/queues.module.js'],
    ['src/main.ts', './lifecycle/process.js'],
  ])('%p may import %p', (path, from) => {
    expect(importing(path, from)).toEqual([]);
  });

  it('knows imports of types', () => {
    const path = 'src/raft/group/ports.ts';
    const from = '../../machine/machine.js';
    expect(importing(path, from, 'type ')).toEqual([]);
    expect(messages(path, `import { type x, type y } from '${from}';\n`)).toEqual([]);
    expect(messages(path, `import { type x, y } from '${from}';\n`)).toHaveLength(1);
    expect(messages('src/common/x.ts', `type X = import('../config/index.js').X;`)).toHaveLength(1);
  });

  it.each(['@nestjs/common', 'node:fs', 'rxjs', 'fast-check'])(
    'no pure room imports %p',
    (name) => {
      for (const [room, { pure }] of Object.entries(ROOMS)) {
        expect(importing(`src/${room}/x.ts`, name)).toHaveLength(pure === true ? 1 : 0);
      }
    },
  );

  it('sees every way to import', () => {
    const path = 'src/queues/x.ts';
    const from = `'../leases/x.js'`;
    expect(messages(path, `export { x } from ${from};`)).toHaveLength(1);
    expect(messages(path, `export * from ${from};`)).toHaveLength(1);
    expect(messages(path, `import ${from};`)).toHaveLength(1);
    expect(messages(path, `void import(${from});`)).toHaveLength(1);
  });

  it('leaves specs free', () => {
    expect(importing('src/machine/x.spec.ts', 'fast-check')).toEqual([]);
    expect(importing('src/machine/x.spec.ts', '../../test/support/x.js')).toEqual([]);
  });

  it('has no room that may import itself through another', () => {
    const rooms = Object.keys(ROOMS);
    const reach = (from: string, to: string): boolean =>
      mayImport(placeOf(`${from}/index`), placeOf(`${to}/index`), false);
    const cycles = rooms.flatMap((a) =>
      rooms.filter((b) => a < b && reach(a, b) && reach(b, a)).map((b) => `${a} and ${b}`),
    );
    expect(cycles).toEqual([]);
  });
});

describe('purity', () => {
  it.each([
    'const now = Date.now();',
    'const x = Math.random();',
    'console.log(1);',
    'const e = process.env;',
    'setTimeout(f, 1);',
    'async function f() {}',
    'const f = async () => 1;',
    'interface P { f(): Promise<void>; }',
    'const t = performance.now();',
  ])('refuses %p', (body) => {
    for (const room of ['machine', 'raft/core', 'common']) {
      expect(messages(`src/${room}/x.ts`, body)).not.toEqual([]);
    }
    expect(messages('src/raft/wal/x.ts', body)).toEqual([]);
    expect(messages('src/machine/x.spec.ts', body)).toEqual([]);
  });

  it.each([
    'x.process();',
    'const y = { Date: 1 };',
    'Math.max(1, 2);',
    'interface I { process(): void }',
  ])('accepts %p', (body) => {
    expect(messages('src/machine/x.ts', body)).toEqual([]);
  });
});

describe('shape', () => {
  it('limits files to 500 lines', () => {
    expect(messages('src/kv/x.ts', 'x();\n'.repeat(499))).toEqual([]);
    expect(messages('src/kv/x.ts', 'x();\n'.repeat(500))).toEqual(['501 lines, the limit is 500']);
  });

  it('wants a header of at most 6 lines', () => {
    const long = `/**\n${' * text\n'.repeat(7)} */\n`;
    expect(messages('src/kv/x.ts', 'x();', '')).toHaveLength(1);
    expect(messages('src/kv/x.ts', 'x();', '/** */\n')).toHaveLength(1);
    expect(messages('src/kv/x.ts', 'x();', long)).toHaveLength(1);
    expect(messages('src/kv/x.ts', 'x();', '// What it is.\n// And never is.\n')).toEqual([]);
    expect(messages('test/sim/x.ts', 'x();', '')).toEqual([]);
    const drawn = `/**\n * What it is.\n *\n${' *   | a | b |\n'.repeat(7)} */\n`;
    expect(messages('src/kv/x.ts', 'x();', drawn)).toEqual([]);
  });

  it.each([
    'src/kv/kvStore.ts',
    'src/kv/kv_store.ts',
    'src/kv/Kv.ts',
    'src/kv/kv.banana.ts',
    'src/kv/kv-manager.ts',
    'src/kv/string-utils.ts',
    'src/kv/helpers/x.ts',
    'src/kv/queue-info.ts',
    'src/kv/row-data.ts',
    'src/kv/subRoom/x.ts',
  ])('refuses the name %p', (path) => {
    expect(messages(path, 'x();')).toHaveLength(1);
  });

  it.each(['src/kv/kv.controller.ts', 'src/kv/data-directory.ts', 'src/kv/push-item.dto.ts'])(
    'accepts the name %p',
    (path) => {
      expect(messages(path, 'x();')).toEqual([]);
    },
  );

  it.each([
    'class LeaseManager {}',
    'class KvHelper {}',
    'interface QueueInfo {}',
    'type RowData = 1;',
  ])('refuses %p', (body) => {
    expect(messages('src/kv/x.ts', body)).toHaveLength(1);
  });

  it('lets every test run', () => {
    for (const call of [
      'it.' + 'only',
      'test.' + 'skip',
      'describe.' + 'only.each',
      'it.' + 'todo',
      'x' + 'it',
      'f' + 'it',
    ]) {
      expect(messages('test/x.spec.ts', `${call}('a', () => {});`)).not.toEqual([]);
    }
    expect(messages('test/x.spec.ts', `it.each([1])('a', () => {}); list.skip(1);`)).toEqual([]);
    const alone = 'it.' + 'only';
    const left = 'describe.' + 'skip';
    expect(messages('test/conformance/x.spec.ts', `${left}('a', () => {});`)).toEqual([]);
    expect(messages('test/conformance/x.spec.ts', `${alone}('a', () => {});`)).not.toEqual([]);
  });

  it('wants a word about a swallowed error', () => {
    const swallow = (inside: string): string => `try { x(); } catch {${inside}}`;
    expect(messages('src/kv/x.ts', swallow(''))).toHaveLength(1);
    expect(messages('src/kv/x.ts', swallow(' '))).toHaveLength(1);
    expect(messages('src/kv/x.ts', swallow('\n// Closed already.\n'))).toEqual([]);
    expect(messages('src/kv/x.ts', swallow(' y(); '))).toEqual([]);
  });
});

describe('texts', () => {
  // Put together here, so that this file passes the check itself.
  const mark = 'TO' + 'DO';
  const machine = ['', 'work', 'main'].join('/');
  const host = ['https:/', 'registry.example.org', 'x'].join('/');

  it.each([`// ${mark}: later`, `const p = '${machine}';`, `const u = '${host}';`])(
    'refuses %p in any file',
    (line) => {
      for (const path of ['src/kv/x.ts', 'docs/x.md', '.ci/run']) {
        expect(messages(path, line)).toHaveLength(1);
      }
    },
  );

  it('accepts its neighbours', () => {
    const relative = ['.', 'work', 'x'].join('/');
    const line = `src${machine} and ${mark.toLowerCase()} and ${relative}`;
    expect(messages('docs/x.md', line)).toEqual([]);
  });

  it('refuses a lock file that says where packages came from', () => {
    const text = `{\n  "resolved": "${host}"\n}`;
    expect(checkSource({ path: 'package-lock.json', text })).toHaveLength(2);
    expect(checkSource({ path: 'package-lock.json', text: '{"integrity":"TO' + 'DO"}' })).toEqual(
      [],
    );
  });
});
