/**
 * What the log promises at this moment: terms of all durable entries, durable hard state, and what
 * the next segment header will repeat. Written by the writer only, read by everybody.
 */
import { logIndex, term, type LogIndex, type Term } from '../../common/ids.js';
import type { SegmentReaders } from './segment-readers.js';
import type { Segment, SegmentSet } from './segment-set.js';
import type { TermRuns } from './term-runs.js';
import type { DirectoryIdentity, HardState, LogPosition } from './types.js';

export interface LogStateInit {
  readonly identity: DirectoryIdentity;
  readonly segments: SegmentSet;
  readonly readers: SegmentReaders;
  readonly terms: TermRuns;
  readonly hardState: HardState;
  readonly generation: number;
  readonly configuration: Uint8Array;
}

export class LogState {
  readonly identity: DirectoryIdentity;
  readonly segments: SegmentSet;
  readonly readers: SegmentReaders;
  terms: TermRuns;
  hardState: HardState;
  generation: number;
  configuration: Uint8Array;

  constructor(init: LogStateInit) {
    this.identity = init.identity;
    this.segments = init.segments;
    this.readers = init.readers;
    this.terms = init.terms;
    this.hardState = init.hardState;
    this.generation = init.generation;
    this.configuration = init.configuration;
  }

  get lastIndex(): LogIndex {
    return logIndex(this.terms.last);
  }

  get lastTerm(): Term {
    return term(this.terms.lastTerm);
  }

  get base(): LogPosition {
    return { index: logIndex(this.terms.baseIndex), term: term(this.terms.baseTerm) };
  }

  /** What a reader needs to open a segment. */
  readable(segment: Segment): { path: string; salt: number; sizeBytes: number } {
    const { sizeBytes } = segment.row;
    return { path: this.segments.path(segment), salt: segment.salt, sizeBytes };
  }
}
