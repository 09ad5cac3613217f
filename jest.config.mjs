/**
 * `npm test`: unit specs (beside the source) and everything under test/ that runs in one process.
 * Real clusters of processes have their own configuration, jest.cluster.config.mjs.
 */
const swc = {
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
    keepClassNames: true,
  },
  module: { type: 'commonjs' },
  sourceMaps: 'inline',
};

/** Packages that exist as ES modules only; the tests run as CommonJS. */
const ES_PACKAGES = [
  '@nestjs',
  '@apidevtools/json-schema-ref-parser',
  'content-disposition',
  'cookie',
  'jose',
];

export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/src', '<rootDir>/test', '<rootDir>/bin'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/test/cluster/', '/test/bench/'],
  transform: { '^.+\\.(t|j|mj)s$': ['@swc/jest', { ...swc, swcrc: false }] },
  transformIgnorePatterns: [`/node_modules/(?!(${ES_PACKAGES.join('|')})/)`],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  maxWorkers: 2,
  // Nothing should take long; on a busy machine everything may.
  testTimeout: 120_000,
};
