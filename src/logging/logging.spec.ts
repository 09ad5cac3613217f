/** Line formats, filter directives, sampling, the Nest adapter, and that no secret gets out. */
import { describeConfig, loadConfig } from '../config/index.js';
import { parseFilter, rankOf, thresholdOf, type LogLevel } from './filter.js';
import {
  createLogger,
  emergencyLogger,
  logConfig,
  NestLogger,
  recordingLogger,
  sampledLogger,
  silentLogger,
  type Logger,
} from './index.js';
import { createMicrosClock, formatMicros } from './line.js';

const MICROS = Date.UTC(2026, 0, 31, 12, 0, 0, 123) * 1000 + 45;

interface Captured {
  readonly logger: Logger;
  readonly lines: string[];
}

function capture(json: boolean, filter = 'trace'): Captured {
  const lines: string[] = [];
  const destination = { write: (line: string): void => void lines.push(line) };
  const clock = { now: (): number => MICROS };
  return { logger: createLogger({ filter, json, destination, clock }), lines };
}

describe('text lines', () => {
  it('have the documented shape and no colour', () => {
    const { logger, lines } = capture(false);
    logger.log('info', 'boot', 'listening', { addr: '0.0.0.0:6632', fresh: true, applied: 7 });
    expect(lines).toEqual([
      '2026-01-31T12:00:00.123045Z  INFO boot: listening addr=0.0.0.0:6632 fresh=true applied=7\n',
    ]);
  });

  it('quote what could be mistaken, and one event stays one line', () => {
    const { logger, lines } = capture(false);
    const forged = 'x\n2026  INFO boot: forged';
    logger.log('error', 'rsm', `bad ${forged}`, { why: 'No space left', empty: '', evil: forged });
    expect(lines).toHaveLength(1);
    expect(lines[0]?.indexOf('\n')).toBe((lines[0]?.length ?? 0) - 1);
    expect(lines[0]).toContain('why="No space left" empty="" evil="x\\n2026');
  });

  it('survive any value', () => {
    const { logger, lines } = capture(false);
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const cause = new Error('disk');
    logger.log('warn', 'rsm', 'odd', {
      error: new TypeError('no', { cause }),
      cycle,
      big: 12n,
      list: [1, 2n],
      nan: NaN,
      gone: undefined,
      nothing: null,
      esc: '\u001b[31m',
    });
    expect(lines[0]).toContain('error="TypeError: no (caused by Error: disk)"');
    expect(lines[0]).toContain(`big=12 list=${JSON.stringify('[1,"2"]')}`);
    expect(lines[0]).toContain('nan=NaN nothing=null');
    expect(lines[0]).not.toMatch(/gone|\u001b/);
  });

  it('clip a field that is too long', () => {
    const { logger, lines } = capture(false);
    logger.log('info', 't', 'm', { long: 'x'.repeat(100_000) });
    expect(lines[0]?.length).toBeLessThan(9000);
  });
});

describe('JSON lines', () => {
  it('are flat objects with fields at top level', () => {
    const { logger, lines } = capture(true);
    logger.log('warn', 'rsm', 'raft storage pressure changed', {
      full: true,
      error: new Error('e'),
    });
    expect(lines[0]?.endsWith('}\n')).toBe(true);
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      timestamp: '2026-01-31T12:00:00.123045Z',
      level: 'WARN',
      target: 'rsm',
      message: 'raft storage pressure changed',
      full: true,
      error: 'Error: e',
    });
  });

  it('keep a field that is named like a part of the line', () => {
    const { logger, lines } = capture(true);
    logger.log('info', 'rsm', 'm', { message: 'x', level: 9, target: 1, timestamp: 2 });
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ message: 'm', message_: 'x', level_: 9 });
    expect(lines[0]?.match(/"message":/g)).toHaveLength(1);
  });
});

describe('time', () => {
  it('has microseconds and follows the wall clock', () => {
    expect(formatMicros(1_000_001)).toBe('1970-01-01T00:00:01.000001Z');
    const before = Date.now();
    const now = createMicrosClock().now();
    expect(Number.isSafeInteger(now)).toBe(true);
    expect(now / 1000).toBeGreaterThan(before - 1000);
    expect(now / 1000).toBeLessThan(Date.now() + 1000);
  });
});

describe('filter', () => {
  const enabled = (text: string, level: LogLevel, target: string): boolean =>
    rankOf(level) >= thresholdOf(parseFilter(text).filter, target);

  it.each<[string, LogLevel, string, boolean]>([
    ['info', 'info', 'rsm', true],
    ['info', 'debug', 'rsm', false],
    ['INFO', 'info', 'rsm', true],
    ['info,rsm=debug', 'debug', 'rsm', true],
    ['info,rsm=debug', 'debug', 'push', false],
    ['rsm=debug,info', 'debug', 'rsm', true],
    ['info,rsm=debug,push=warn', 'info', 'push', false],
    ['warn,rsm', 'trace', 'rsm', true],
    ['info,rsm=off', 'error', 'rsm', false],
    ['off', 'error', 'boot', false],
    ['rsm=debug', 'error', 'push', false],
    ['info,rsm=warn,rsm.wal=trace', 'trace', 'rsm.wal', true],
    ['info,rsm=debug,rsm=error', 'debug', 'rsm', false],
    ['info,rsm[apply{index=3}]=trace', 'trace', 'rsm', false],
    ['', 'info', 'rsm', true],
  ])('%p: %s of %s is %p', (text, level, target, expected) => {
    expect(enabled(text, level, target)).toBe(expected);
    expect(parseFilter(text).warning).toBeNull();
  });

  it.each(['loud=maybe', 'info,=debug', 'rsm=', 'a b', 'rsm=debug=info'])(
    '%p means info',
    (text) => {
      const parsed = parseFilter(text);
      expect(parsed.warning).toContain('info is in force');
      expect(thresholdOf(parsed.filter, 'rsm')).toBe(rankOf('info'));
    },
  );

  it('is asked once per target and says when it is bad', () => {
    const { logger, lines } = capture(false, 'rsm=nonsense');
    logger.child('rsm').debug('no');
    logger.child('rsm').info('yes');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('WARN boot: log filter "rsm=nonsense"');
  });

  it('never hides a fatal line', () => {
    const { logger, lines } = capture(false, 'off');
    logger.fatal('QUEEN_RAFT_DIR must not be empty');
    expect(lines[0]).toContain('  ERROR boot: FATAL: QUEEN_RAFT_DIR must not be empty\n');
  });
});

describe('sampling', () => {
  it('writes once per interval and counts the rest', () => {
    const logger = recordingLogger();
    let nowMs = 0;
    const sampled = sampledLogger(logger.child('limits'), { intervalMs: 100, now: () => nowMs });
    for (let at = 0; at < 5; at += 1) sampled.log('warn', 'over', { at });
    sampled.log('warn', 'other');
    nowMs = 100;
    sampled.log('warn', 'over', { at: 9 });
    nowMs = 200;
    sampled.log('warn', 'over');
    expect(logger.lines.map(({ message, fields }) => [message, fields])).toEqual([
      ['over', { at: 0 }],
      ['other', {}],
      ['over', { at: 9, suppressed: 4 }],
      ['over', {}],
    ]);
  });

  it('costs nothing when the level is off', () => {
    const now = jest.fn(() => 0);
    sampledLogger(silentLogger.child('push'), { now }).log('warn', 'x');
    expect(now).not.toHaveBeenCalled();
  });
});

describe('boot lines', () => {
  const secrets = {
    JWT_ENABLED: 'true',
    JWT_SECRET: 'hush-jwt',
    JWT_PUBLIC_KEY: 'hush-pem',
    JWT_JWKS_URL: 'https://keys/jwks.json',
    QUEEN_RAFT_TOKEN: 'hush-token',
    QUEEN_ENCRYPTION_KEY: 'feedface'.repeat(8),
    QUEEN_LINK_TOKEN: 'hush-link',
  };

  it.each([true, false])('show every group and no secret (json %p)', (json) => {
    const { logger, lines } = capture(json, 'info');
    logConfig(logger, loadConfig(secrets));
    const printed = lines.join('');
    expect(printed).not.toMatch(/hush|feedface/);
    for (const { group } of describeConfig(loadConfig({}).config)) {
      expect(printed).toContain(`config: ${group}`);
    }
    expect(printed).toContain('<set:64 chars>');
    expect(printed).toContain('QUEEN_LINK_TOKEN is set and ignored');
  });

  it.each([true, false])('mask fields that sound secret (json %p)', (json) => {
    const { logger, lines } = capture(json);
    logger.log('warn', 'http', 'odd', {
      authorization: 'Bearer hush',
      raftToken: 'hush',
      token: '<set:9 chars>',
      apiKey: 'hush',
    });
    expect(lines[0]).not.toContain('hush');
    expect(lines[0]).toContain('<set:9 chars>');
  });

  it('can say FATAL before there is a configuration', () => {
    const lines: string[] = [];
    const destination = { write: (line: string): void => void lines.push(line) };
    emergencyLogger('maybe', destination).fatal('x');
    emergencyLogger('YES', destination).fatal('y');
    expect(lines[0]).toContain('ERROR boot: FATAL: x');
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ level: 'ERROR', message: 'FATAL: y' });
  });
});

describe('Nest adapter', () => {
  it('turns chatter into debug and keeps errors with their stack and context', () => {
    const logger = recordingLogger();
    const nest = new NestLogger(logger);
    nest.log('Mapped {/health, GET}', 'RouterExplorer');
    nest.error('boom', 'Error: boom\n    at x', 'ExceptionsHandler');
    // The boot says this one itself.
    nest.error('boom', 'Error: boom\n    at x', 'ExceptionHandler');
    nest.warn({ odd: 1 });
    expect(logger.lines).toEqual([
      {
        level: 'debug',
        target: 'nest',
        message: 'Mapped {/health, GET}',
        fields: { context: 'RouterExplorer', stack: undefined },
      },
      {
        level: 'error',
        target: 'nest',
        message: 'boom',
        fields: { context: 'ExceptionsHandler', stack: 'Error: boom\n    at x' },
      },
      {
        level: 'debug',
        target: 'nest',
        message: 'boom',
        fields: { context: 'ExceptionHandler', stack: 'Error: boom\n    at x' },
      },
      {
        level: 'warn',
        target: 'nest',
        message: '{"odd":1}',
        fields: { context: undefined, stack: undefined },
      },
    ]);
  });
});
