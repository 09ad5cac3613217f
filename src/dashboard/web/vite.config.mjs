/** Builds the dashboard into dist/dashboard/public; `npm run dashboard` serves it while working on it. */
import { fileURLToPath } from 'node:url';
import vue from '@vitejs/plugin-vue';
import { defineConfig } from 'vite';

const root = fileURLToPath(new URL('.', import.meta.url));
const broker = process.env.QUEEN_URL ?? 'http://127.0.0.1:6632';

export default defineConfig({
  root,
  plugins: [vue()],
  logLevel: 'warn',
  build: {
    outDir: fileURLToPath(new URL('../../../dist/dashboard/public', import.meta.url)),
    emptyOutDir: true,
    reportCompressedSize: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
  server: { proxy: { '/api': broker, '/auth': broker, '/health': broker } },
});
