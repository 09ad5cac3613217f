/**
 * ESLint for the whole repository: type-aware for TypeScript, plain for launchers and configuration.
 * Layout is Prettier's; which room may import which, names and headers are test/tidy's.
 */
import tseslint from 'typescript-eslint';

const sizes = {
  'max-lines': ['error', { max: 500 }],
  'max-lines-per-function': ['error', { max: 70, IIFEs: true }],
};

const plain = {
  'no-empty': 'error',
  'no-undef': 'off',
  'no-unused-vars': 'off',
  'no-var': 'error',
  'prefer-const': 'error',
  'no-unreachable': 'error',
  'no-fallthrough': 'error',
  'no-constant-condition': ['error', { checkLoops: false }],
  eqeqeq: ['error', 'always'],
};

const typed = {
  ...plain,
  '@typescript-eslint/no-unused-vars': [
    'error',
    { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' },
  ],
  '@typescript-eslint/no-explicit-any': 'error',
  '@typescript-eslint/no-floating-promises': 'error',
  '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
  '@typescript-eslint/await-thenable': 'error',
  '@typescript-eslint/only-throw-error': 'error',
  '@typescript-eslint/switch-exhaustiveness-check': [
    'error',
    { considerDefaultExhaustiveForUnions: true },
  ],
  '@typescript-eslint/no-non-null-assertion': 'error',
  '@typescript-eslint/no-unnecessary-type-assertion': 'error',
  '@typescript-eslint/return-await': ['error', 'in-try-catch'],
  '@typescript-eslint/max-params': ['error', { max: 4 }],
};

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'coverage/', 'data/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.{cjs,mjs,js}'],
    rules: { ...plain, ...sizes },
    languageOptions: { sourceType: 'module' },
  },
  { files: ['**/*.cjs'], languageOptions: { sourceType: 'commonjs' } },
  {
    files: ['src/**/*.ts', 'test/**/*.ts', 'bin/**/*.ts'],
    ignores: ['src/dashboard/web/**'],
    plugins: { '@typescript-eslint': tseslint.plugin },
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: { ...typed, ...sizes },
  },
  {
    // The dashboard's source runs in browsers and has a TypeScript project of its own.
    files: ['src/dashboard/web/**/*.ts'],
    plugins: { '@typescript-eslint': tseslint.plugin },
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: {
        project: './src/dashboard/web/tsconfig.json',
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: { ...typed, ...sizes },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['**/*.spec.ts', 'src/dashboard/web/**'],
    rules: { '@typescript-eslint/explicit-module-boundary-types': 'error' },
  },
  {
    // Rooms of buffers and columns: an index into a typed array is proven by its loop, and every
    // access has the type `number | undefined` (noUncheckedIndexedAccess).
    files: ['src/{common,machine,storage,raft,reads,coordinators}/**/*.ts'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off' },
  },
  {
    files: ['**/*.spec.ts', 'test/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/max-params': 'off',
    },
  },
);
