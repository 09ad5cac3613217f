/**
 * Opens the raft groups of this process from the configuration and provides them. The boot fails here,
 * with file and cure, when a data directory cannot be served.
 */
import { totalmem } from 'node:os';
import { Module } from '@nestjs/common';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import type { Logger } from '../logging/index.js';
import { LOGGER } from '../logging/index.js';
import { Groups } from './groups.service.js';
import { openLocalGroup } from './open-local-group.js';

const SECOND_MS = 1000;
/** The entry cache takes at most this part of the memory the process may have. */
const CACHE_SHARE = 8;

/** Opens what the configuration names. */
export async function openGroups(config: QueenConfig, logger: Logger): Promise<Groups> {
  const { raft, storage, retention } = config;
  if (raft.clustered) {
    throw new Error('QUEEN_RAFT_REPLICATOR: this build serves the local replicator only');
  }
  const opened = await openLocalGroup({
    directory: raft.dir,
    nodeId: raft.nodeId,
    segmentBytes: storage.segmentBytes,
    overlayMaxBytes: storage.overlayMaxBytes,
    checkpointMs: storage.durableEveryMs,
    checkpointBytes: storage.durableEveryBytes,
    tailCacheBytes: Math.min(raft.logCacheBytes, memoryBytes() / CACHE_SHARE),
    windowMinSeconds: Math.ceil(retention.txnWindowMinMs / SECOND_MS),
    diskGate: { highPercent: storage.diskHighPct, lowPercent: storage.diskLowPct },
    scrub: {
      bytesPerSecond: storage.scrubBytesPerSecond,
      rowsPerSecond: storage.storeScrubRowsPerSecond,
      storeEveryMs: storage.storeScrubEveryMs,
    },
    log: logger.child('rsm'),
  });
  return new Groups([opened]);
}

/** Memory of the container, else of the machine. */
function memoryBytes(): number {
  const constrained = process.constrainedMemory();
  const total = totalmem();
  return constrained > 0 && constrained < total ? constrained : total;
}

@Module({
  providers: [{ provide: Groups, inject: [QUEEN_CONFIG, LOGGER], useFactory: openGroups }],
  exports: [Groups],
})
export class RaftModule {}
