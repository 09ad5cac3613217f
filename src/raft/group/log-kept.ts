/** How much of the raft log stays behind what nobody needs any more. */

/** QUEEN_RAFT_LOG_KEEP when nothing else is configured. */
export const LOG_KEEP_ENTRIES = 4096;
/** Entries may be large, and retention wants their space: this many bytes of them at most. */
export const LOG_KEEP_BYTES = 64 * 1024 * 1024;
