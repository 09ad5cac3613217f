/** A record by its place: whole, let go of since its row was read, or damaged. */
import { crc32 } from 'node:zlib';
import { logIndex } from '../../common/ids.js';
import { MessageReader, type MessageReaderParts } from './message-reader.js';
import type { WalPort } from './ports.js';

const RECORD = Buffer.from('a message that a row names');
const PLACE = { entryIndex: logIndex(9), start: 40, length: RECORD.length, crc: crc32(RECORD) };
const BLANK = Buffer.alloc(RECORD.length);

function gone(): Error {
  return Object.assign(new Error('entry 9 is not in the log'), { name: 'EntryNotFoundError' });
}

function readerOf(wal: Partial<WalPort>): { reader: MessageReader; damages: Error[] } {
  const damages: Error[] = [];
  const parts = {
    ...{ tail: { slice: () => undefined }, damaged: (error: Error) => damages.push(error) },
    wal: { describe: () => Promise.resolve('byte 1 of a file'), ...wal },
  };
  return { reader: new MessageReader(parts as unknown as MessageReaderParts), damages };
}

const bytes = (found: Buffer): Pick<WalPort, 'readRange'> => ({
  readRange: () => Promise.resolve(found),
});

it('is read', async () => {
  const { reader } = readerOf(bytes(RECORD));
  expect(await reader.readRecord(PLACE)).toBe(RECORD);
});

it.each([
  ['with its entry', { readRange: () => Promise.reject(gone()) }],
  ['within its entry', { ...bytes(BLANK), letGoIn: () => Promise.resolve(true) }],
  ['with its entry in between', { ...bytes(BLANK), letGoIn: () => Promise.reject(gone()) }],
])('is gone %s: no damage', async (_name, wal: Partial<WalPort>) => {
  const { reader, damages } = readerOf(wal);
  await expect(reader.readRecord(PLACE)).rejects.toMatchObject({ name: 'RecordGoneError' });
  expect(damages).toEqual([]);
});

it.each([
  ['the entry was never rewritten', { letGoIn: () => Promise.resolve(false) }],
  ['the entry itself does not verify', { letGoIn: () => Promise.reject(new Error('checksum')) }],
  ['nothing is known of the entry', {}],
])('is damaged when %s', async (_name, wal: Partial<WalPort>) => {
  const { reader, damages } = readerOf({ ...bytes(BLANK), ...wal });
  await expect(reader.readRecord(PLACE)).rejects.toMatchObject({ code: 'retry' });
  expect(damages).toMatchObject([{ name: 'MessageDamageError' }]);
});
