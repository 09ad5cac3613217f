/** Frames: folding, the bound and its widening, text forms, files, buckets and windows. */
import { appendFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { emptyFrame, foldFrame, frameText, readFrame, rowKey, type Frame } from './frame.js';
import { FrameFile } from './frame-file.js';
import { FrameStore } from './frame-store.js';
import { ownRows, readRows, rowsText } from './node-rows.js';
import { PROCESS_FIELDS, QUEUE_FIELDS, queueValues } from './row-fields.js';
import { bucketAxis, bucketStartMs, bucketWidth, parseWindow, WindowError } from './windows.js';

const MINUTE = 60_000;
const START = Date.UTC(2026, 2, 4, 5, 0);

function frame(minute: number, queues: number, messages = 1): Frame {
  const made = emptyFrame(START + minute * MINUTE);
  made.widthMs = MINUTE;
  made.process[PROCESS_FIELDS.indexOf('pushMessages')] = messages * queues;
  for (let id = 1; id <= queues; id += 1) {
    const values = QUEUE_FIELDS.map((field) => (field === 'pushMessages' ? messages : 0));
    values[QUEUE_FIELDS.indexOf('lagMaxMs')] = minute;
    made.queues.set(rowKey({ tenant: 'aa', queueId: id }), {
      queueId: id,
      tenant: 'aa',
      name: `q${id}`,
      values,
    });
  }
  return made;
}

const pushed = (frames: readonly Frame[]): number =>
  frames.reduce(
    (sum, { process }) => sum + (process[PROCESS_FIELDS.indexOf('pushMessages')] ?? 0),
    0,
  );

describe('frames', () => {
  it('fold sums and largest values', () => {
    const wide = emptyFrame(START);
    foldFrame(wide, frame(0, 2, 3));
    foldFrame(wide, frame(7, 1, 4));
    expect(wide.widthMs).toBe(2 * MINUTE);
    expect(queueValues(wide.queues.get('aa/1')?.values ?? [])).toMatchObject({
      ...{ pushMessages: 7, lagMaxMs: 7 },
    });
    expect(queueValues(wide.queues.get('aa/2')?.values ?? [])).toMatchObject({ pushMessages: 3 });
  });

  it('come back from their text, and from no other', () => {
    const one = frame(3, 2);
    expect(readFrame(frameText(one))).toEqual(one);
    for (const text of ['', '{', 'null', '{"v":2}', frameText(one).slice(0, -4)]) {
      expect(readFrame(text)).toBeNull();
    }
    const other = JSON.parse(frameText(one)) as { q: unknown[] };
    other.q = [['1', 'aa', 'q']];
    expect(readFrame(JSON.stringify(other))).toBeNull();
  });
});

describe('the store', () => {
  it('keeps every minute while there is room', () => {
    const store = new FrameStore(1_000);
    for (let minute = 0; minute < 120; minute += 1) store.add(frame(minute, 1));
    expect(store.all()).toHaveLength(120);
  });

  it('widens the oldest beyond the bound and loses no count', () => {
    const store = new FrameStore(1_000);
    for (let minute = 0; minute < 600; minute += 1) store.add(frame(minute, 9));
    expect(store.rowCount).toBeLessThanOrEqual(1_000);
    expect(pushed(store.all())).toBe(600 * 9);
    const [oldest] = store.all();
    expect(oldest?.widthMs).toBeGreaterThan(MINUTE);
    expect(store.last?.widthMs).toBe(MINUTE);
  });

  it('drops the oldest when widening is not enough, and what is older than the week', () => {
    const store = new FrameStore(20);
    for (let minute = 0; minute < 600; minute += 1) store.add(frame(minute, 9));
    expect(store.rowCount).toBeLessThanOrEqual(20);
    const week = new FrameStore();
    week.add(frame(0, 1));
    week.add(frame(9 * 24 * 60, 1));
    expect(week.all()).toHaveLength(1);
  });

  it('puts an older frame in its place', () => {
    const store = new FrameStore();
    for (const minute of [2, 0, 1]) store.add(frame(minute, 1));
    expect(store.all().map(({ startMs }) => (startMs - START) / MINUTE)).toEqual([0, 1, 2]);
  });
});

describe('rows of a node', () => {
  const self = { nodeId: 1, hostname: 'n1', port: 6632, pid: 7 };
  const query = { fromMs: START, toMs: START + 60 * MINUTE, widthMinutes: 5 };

  it('are folded into buckets of one tenant and survive the way', async () => {
    const store = new FrameStore();
    for (let minute = 0; minute < 12; minute += 1) store.add(frame(minute, 2));
    const rows = await ownRows(self, store, { ...query, tenant: 'aa', nowMs: START });
    expect(
      rows.buckets.map(({ startMs, widthMs }) => [(startMs - START) / MINUTE, widthMs]),
    ).toEqual([
      ...[
        [0, 5 * MINUTE],
        [5, 5 * MINUTE],
        [10, 2 * MINUTE],
      ],
    ]);
    expect(rows.buckets[0]?.queues.size).toBe(2);
    expect(await readRows(await rowsText(rows))).toEqual(rows);
    const foreign = await ownRows(self, store, { ...query, tenant: 'bb', nowMs: START });
    expect(foreign.buckets[0]?.queues.size).toBe(0);
  });

  it.each(['', '{}', '{"nodeId":1}', 'x\ny'])('are not read from %j', async (text) => {
    expect(await readRows(text)).toBeNull();
  });
});

it('keeps frames on disk for the kept days, and skips what it cannot read', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'queen-rows-'));
  try {
    const file = new FrameFile(directory);
    await file.append(frame(0, 1));
    const [name = ''] = await readdir(directory);
    await appendFile(join(directory, name), '{"v":1,"torn\n');
    await file.append(frame(1, 1));
    const loaded: Frame[] = [];
    await new FrameFile(directory).load((one) => loaded.push(one), START);
    expect(loaded.map(({ startMs }) => (startMs - START) / MINUTE)).toEqual([0, 1]);
    await file.append(frame(12 * 24 * 60, 1));
    expect(await readdir(directory)).toEqual(['2026-03-16.rows']);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

describe('windows', () => {
  it.each([
    [1, 1],
    [60, 1],
    [61, 5],
    [360, 5],
    [361, 15],
    [1_440, 15],
    [1_441, 60],
    [10_080, 60],
    [10_081, 360],
  ])('%d minutes have buckets of %d', (span, width) => {
    expect(bucketWidth(span)).toBe(width);
  });

  it('start buckets at a minute of their hour', () => {
    const at = START + 17 * MINUTE + 30_000;
    expect(bucketStartMs(at, 5)).toBe(START + 15 * MINUTE);
    expect(bucketStartMs(at, 60)).toBe(START);
    expect(bucketStartMs(at + 60 * MINUTE, 360)).toBe(START + 60 * MINUTE);
  });

  it('are the last hour unless asked for otherwise', () => {
    const nowMs = START + 90 * MINUTE;
    expect(parseWindow({}, nowMs)).toEqual({
      ...{ fromMs: START + 30 * MINUTE, toMs: nowMs, widthMinutes: 1 },
    });
    expect(bucketAxis(parseWindow({}, nowMs))).toHaveLength(61);
    expect(parseWindow({ from: '2026-03-04T00:00:00Z' }, nowMs).widthMinutes).toBe(15);
    expect(() => parseWindow({ to: 'soon' }, nowMs)).toThrow(WindowError);
  });
});
