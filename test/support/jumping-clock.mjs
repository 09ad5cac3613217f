/**
 * A wall clock that jumps, for broker processes of a test: loaded with `node --import`, it moves Date.now
 * by the milliseconds that stand in the file TEST_CLOCK_FILES/<node id>. What runs on the monotonic clock
 * is not touched, as on a host whose time is set.
 */
import { readFileSync } from 'node:fs';

const LOOK_EVERY_MS = 10;
const path = `${process.env['TEST_CLOCK_FILES']}/${process.env['QUEEN_RAFT_NODE_ID']}`;
const wallMs = Date.now.bind(Date);
let offsetMs = 0;

function look() {
  try {
    offsetMs = Number(readFileSync(path, 'utf8')) || 0;
  } catch (error) {
    // Nobody moved this node's clock so far.
    if (error.code !== 'ENOENT') throw error;
  }
}

look();
setInterval(look, LOOK_EVERY_MS).unref();
Date.now = () => wallMs() + offsetMs;
