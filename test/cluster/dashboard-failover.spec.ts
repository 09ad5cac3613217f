/**
 * A failover watched in a browser: the cluster page of a surviving node shows the new leader and the node
 * that is gone, without a reload and without an error on the console. Skipped without a Chromium.
 */
import type { Browser, Page } from 'playwright-core';
import { findBuild } from '../../src/dashboard/dashboard-files.js';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { chromiumPath, openBrowser } from '../dashboard/browser.js';

jest.setTimeout(240_000);
/** The page looks every 30 s; a busy machine takes longer. */
const PATIENCE_MS = 120_000;

function suite(executablePath: string): void {
  let cluster: ClusterProcesses;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    cluster = await ClusterProcesses.start({ env: { QUEEN_HEAP_PCT: '0' } });
    await cluster.leader(cluster.ids, 60_000);
    browser = await openBrowser(executablePath);
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      // A refusal while nobody leads is an answer; the page shows it.
      const isRefusal = /Failed to load resource.* 503/.test(message.text());
      if (message.type() === 'error' && !isRefusal) faults.push(message.text());
    });
  });

  afterAll(async () => {
    await browser?.close();
    await cluster?.remove();
  });

  it('shows the new leader of a cluster whose leader was killed', async () => {
    const before = await cluster.leader();
    const [asked = 0] = cluster.ids.filter((id) => id !== before);
    await page.goto(`${cluster.url(asked)}/system`);
    const tile = page.locator('.tile', { hasText: 'Leader' }).locator('dd');
    await tile.getByText(`node ${before}`, { exact: true }).waitFor();
    const loads: string[] = [];
    page.on('framenavigated', (frame) => loads.push(frame.url()));
    const ended = cluster.node(before).ended();
    cluster.node(before).signal('SIGKILL');
    await ended;
    const survivors = cluster.ids.filter((id) => id !== before);
    const after = await cluster.leader(survivors, 60_000);
    await tile.getByText(`node ${after}`, { exact: true }).waitFor();
    await page.getByText(`Node ${before} does not answer.`).waitFor();
    await page.getByText('2/3 nodes').waitFor();
    expect(after).not.toBe(before);
    expect(loads).toEqual([]);
    expect(faults).toEqual([]);
  });
}

if (chromiumPath === undefined || findBuild() === null) {
  const lack = chromiumPath === undefined ? 'no Chromium (QUEEN_CHROMIUM)' : 'not built';
  describe.skip(`dashboard over a failover (${lack})`, () => {
    it('needs Chromium and npm run build', () => undefined);
  });
} else {
  describe('dashboard over a failover', () => suite(chromiumPath as string));
}
