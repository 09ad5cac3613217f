import type { CheckpointState } from '../checkpoint-record.js';

export interface VerifyInput {
  directory: string;
  known: CheckpointState | undefined;
}
export interface VerifyResult {
  isEmpty: boolean;
  tableCount: number;
  checkedBytes: number;
  cutBytes: number;
  lastSequence: number;
}
export async function verifyLevel(input: VerifyInput): Promise<VerifyResult> {
  return {
    isEmpty: input.known === undefined,
    tableCount: 0,
    checkedBytes: 0,
    cutBytes: 0,
    lastSequence: 0,
  };
}
