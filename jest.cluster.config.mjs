/** `npm run test:cluster`: real broker processes on loopback, one suite after the other. */
import base from './jest.config.mjs';

export default {
  ...base,
  roots: ['<rootDir>/test/cluster'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 480_000,
  maxWorkers: 1,
};
