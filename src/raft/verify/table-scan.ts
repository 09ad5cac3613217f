/**
 * Reads every row of a store, table by table: each against its seal and in its layout. Damage ends its
 * table, not the others.
 */
import { DecodeError } from '../../common/binary-reader.js';
import { StoreDamageError, STORE_DIRECTORY } from '../../storage/index.js';
import type { StorePort } from '../group/ports.js';
import { join } from 'node:path';
import type { Findings } from './finding.js';
import { checkRow } from './row-check.js';

/** Keyspace 0 is the store's own; machine and group use the others. */
const FIRST = 1;
const LAST = 0xfe;

/** Rows read. */
export async function scanTables(
  store: Pick<StorePort, 'pages'>,
  directory: string,
  findings: Findings,
): Promise<number> {
  const file = join(directory, STORE_DIRECTORY);
  let rows = 0;
  for (let keyspace = FIRST; keyspace <= LAST; keyspace += 1) {
    let unknown = 0;
    const range = { gte: Uint8Array.of(keyspace), lt: Uint8Array.of(keyspace + 1) };
    await findings.during(async () => {
      for await (const page of store.pages(range)) {
        for (const [key, value] of page) {
          if (!readable(key, value, { file, findings })) unknown += 1;
        }
        rows += page.length;
      }
    });
    if (unknown > 0) findings.noted(`${unknown} rows of table ${keyspace} are of a newer release`);
  }
  return rows;
}

/** False for a row of a table this build does not know. */
function readable(
  key: Uint8Array,
  value: Uint8Array,
  { file, findings }: { readonly file: string; readonly findings: Findings },
): boolean {
  const keyspace = key[0] as number;
  try {
    return checkRow(keyspace, value);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const keyHex = Buffer.from(key).toString('hex');
    findings.damaged(new StoreDamageError({ file, keyspace, keyHex, reason: error.message }));
    return true;
  }
}
