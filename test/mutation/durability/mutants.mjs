/**
 * The mutants of the durability suites. Every call site of a sync in log, store and wiring is found by
 * scanning the sources and becomes a no-op, one at a time, so a new sync cannot be forgotten here; a few
 * are written by hand. A mutant that survives must stand in EQUIVALENT with the reason.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../durability/support/build-tree.mjs';

const SCANNED = ['src/raft/wal', 'src/storage', 'src/raft'];
const NOTHING = 'await Promise.resolve();';

/** Statement or call → what it becomes. */
const SITES = [
  [/await [^;{}]*\b(?:fsyncDir|syncDirectory)\([^;]*\);/g, () => NOTHING],
  [/await [\w.]+\.(?:fdatasync|datasync|sync)\(\);/g, () => NOTHING],
  [/\bfs\.fdatasync\(/g, () => 'fs.fstat('],
  [/\bsync: true\b/g, () => 'sync: false'],
];

function sources() {
  const files = new Set();
  for (const room of SCANNED) {
    const recursive = room !== 'src/raft';
    for (const name of readdirSync(join(ROOT, room), { recursive })) {
      if (name.endsWith('.ts') && !name.endsWith('.spec.ts')) files.add(`${room}/${name}`);
    }
  }
  return [...files].sort();
}

function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, (comment) => comment.replace(/[^\n]/g, ' '));
}

function scanned() {
  const mutants = [];
  for (const file of sources()) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const code = withoutComments(text);
    for (const [pattern, becomes] of SITES) {
      for (const match of code.matchAll(pattern)) {
        const line = code.slice(0, match.index).split('\n').length;
        const shown = match[0].replace(/\s+/g, ' ').replace(/^await /, '');
        const nth = mutants.filter((m) => m.file === file && m.shown === shown).length + 1;
        const name = `${file.replace('src/', '')} no-op ${shown}${nth > 1 ? ` #${nth}` : ''}`;
        const patched =
          text.slice(0, match.index) + becomes() + text.slice(match.index + match[0].length);
        mutants.push({ name, file, shown, line, patched, suite: 'power-loss' });
      }
    }
  }
  return mutants;
}

const WRITTEN = [
  {
    name: 'log: answer before the sync ends',
    file: 'src/raft/wal/active-segment.ts',
    find: 'await this.file.fdatasync();\n    mark.write',
    replace: 'this.file.fdatasync().catch(() => undefined);\n    mark.write',
  },
  {
    name: 'log: answer before the write ends',
    file: 'src/raft/group/log-writer.ts',
    find: '    this.hooks.flow?.pickedUp(this.last);\n    this.wal.append',
    replace: '    this.hooks.durable(entries);\n    this.wal.append',
  },
  {
    name: 'log: purged past the durable index',
    file: 'src/raft/group/checkpointer.ts',
    find: 'await this.deps.purge(Math.min(upTo, store.durableIndex) as LogIndex);',
    replace: 'await this.deps.purge(this.deps.parts.machine.appliedIndex);',
  },
  {
    name: 'log: purge does not raise the commit',
    file: 'src/raft/wal-port.ts',
    find: '    this.wal.setCommit(index);\n',
    replace: '',
  },
  {
    name: 'log: the torn tail is kept',
    file: 'src/raft/wal/recovery.ts',
    find: 'await file.truncate(keptBytes);',
    replace: '',
  },
  {
    name: 'store: no checkpoint record after the batch',
    file: 'src/storage/store.ts',
    find: 'await state.file.write(recordOf(meta, state.storeId, position, levelSequence));',
    replace: '',
  },
  {
    name: 'store: the record before the batch',
    file: 'src/storage/store.ts',
    find: '    await batch.write({ sync: true });\n',
    replace:
      '    const early = state.levelSequence + layer.entryCount + 1;\n' +
      '    await state.file.write(recordOf(meta, state.storeId, state.position, early));\n' +
      '    await batch.write({ sync: true });\n',
  },
  {
    name: 'id index: the run appears before it is written',
    file: 'src/storage/id-index/run-writer.ts',
    find: 'const tagBytes = new Uint8Array(this.tags.buffer);',
    replace:
      'const tagBytes = new Uint8Array(this.tags.buffer);\n' +
      '    const early = join(this.directory, runFileName(head.firstSequence, head.lastSequence));\n' +
      '    await rename(`${early}.tmp`, early);\n' +
      '    await rename(early, `${early}.tmp`);',
  },
  {
    name: 'log: the synced mark is not written',
    file: 'src/raft/wal/active-segment.ts',
    find: '    mark.write(this.header.sequence, encoder.end, encoder.batch, this.header.salt);\n',
    replace: '',
    suite: 'damage',
    room: 'wal',
  },
  {
    name: 'reads: messages are not checked against their checksum',
    file: 'src/raft/group/message-reader.ts',
    find: ' || crc32(record) !== row.crc(item)',
    replace: '',
    suite: 'damage',
    room: 'wal',
  },
  {
    name: 'id index: missing runs are not noticed',
    // Every run is deleted, and every id sent again.
    file: 'src/storage/id-index/id-index.ts',
    find: 'this.runsAreMissing = !manifestHolds(value, present);',
    replace: 'this.runsAreMissing = !manifestHolds(value, present) && present.length < 0;',
    suite: 'damage',
    room: 'ids',
  },
  {
    name: 'scrub: a damaged segment does not stop the node',
    file: 'src/raft/background-scrub.ts',
    find: 'this.parts.damaged(damage);',
    replace: '',
    suite: 'damage',
    room: 'wal',
  },
];

function written() {
  return WRITTEN.map((mutant) => {
    const text = readFileSync(join(ROOT, mutant.file), 'utf8');
    const fits = text.split(mutant.find).length === 2;
    const patched = fits ? text.replace(mutant.find, () => mutant.replace) : undefined;
    return { suite: 'power-loss', ...mutant, patched };
  });
}

/** All mutants; `patched` is undefined when a written one no longer fits. */
export function durabilityMutants() {
  return [...scanned(), ...written()];
}
