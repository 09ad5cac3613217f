/**
 * The cluster page in a browser: a node is added, promoted and removed from it; and a failover is watched
 * from a surviving node, which shows the new leader and the node that is gone, without a reload and
 * without an error on the console. Skipped without a Chromium.
 */
import type { Browser, Page } from 'playwright-core';
import { findBuild } from '../../src/dashboard/dashboard-files.js';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { chromiumPath, openBrowser, watchFaults, type IsCaused } from '../dashboard/browser.js';

jest.setTimeout(480_000);
/** The page looks every 30 s; a busy machine takes longer. */
const PATIENCE_MS = 120_000;

function suite(executablePath: string): void {
  let cluster: ClusterProcesses;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];
  let isCaused: IsCaused = () => false;

  beforeAll(async () => {
    // A busy machine alone makes nobody stand for election: a read without a leader is answered 503.
    const env = { QUEEN_HEAP_PCT: '0', QUEEN_RAFT_ELECTION_MS: '3000' };
    cluster = await ClusterProcesses.start({ env });
    await cluster.leader();
    browser = await openBrowser(executablePath);
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(PATIENCE_MS);
    watchFaults(page, faults, () => isCaused);
  });

  afterAll(async () => {
    await browser?.close();
    await cluster?.remove();
  });

  it('adds a node, promotes it and removes it, each after a question', async () => {
    // Refused while another change is in flight or the node has not caught up.
    isCaused = ({ path }) => path.startsWith('/api/v1/system/raft/membership/');
    const leader = await cluster.leader();
    const voters = page.locator('.tile', { hasText: 'Voters' }).locator('dd');
    const row = page.getByRole('row', { name: /^4\b/ });
    await page.goto(`${cluster.url(leader)}/system`);
    await voters.getByText('3 of 3', { exact: true }).waitFor();
    const { http, raft } = (await cluster.join(4)).ports;
    const dialog = page.getByRole('dialog');
    await refusedUntil('Node 4 is a learner', async () => {
      await page.getByRole('button', { name: 'Add node' }).click();
      await page.locator('input[name=id]').fill('4');
      await page.locator('input[name=raft]').fill(`127.0.0.1:${raft}`);
      await page.locator('input[name=http]').fill(`127.0.0.1:${http}`);
      await page.getByRole('button', { name: 'Go on' }).click();
      await page.getByRole('button', { name: 'Add learner' }).click();
    });
    await row.getByText('learner').first().waitFor();
    // Until it has caught up.
    await refusedUntil('Node 4 votes', async () => {
      await row.getByRole('button', { name: 'Promote' }).click();
      await dialog.getByRole('button', { name: 'Promote' }).click();
    });
    await voters.getByText(/ of 4$/).waitFor();
    await refusedUntil('Node 4 is removed', async () => {
      await page.getByRole('button', { name: 'Remove node 4' }).click();
      await page.locator('input[name=typed]').fill('4');
      await dialog.getByRole('button', { name: 'Remove' }).click();
    });
    await voters.getByText('3 of 3', { exact: true }).waitFor();
    await cluster.stop(4);
    cluster.forget(4);
    expect(faults).toEqual([]);
  });

  /** Asked again while the cluster refuses for a while; the toasts say why. */
  async function refusedUntil(done: string, act: () => Promise<void>): Promise<void> {
    const refusals: string[] = [];
    for (let i = 0; i < 30; i += 1) {
      await page.evaluate(
        `document.querySelectorAll('.toast button').forEach((one) => one.click())`,
      );
      await page.locator('.toast').first().waitFor({ state: 'detached' });
      await act();
      const toast = page.locator('.toast').last();
      await toast.waitFor();
      const text = (await toast.textContent()) ?? '';
      if (text.includes(done)) return;
      refusals.push(text);
    }
    throw new Error(`never "${done}": ${refusals.join('; ')}`);
  }

  it('shows the new leader of a cluster whose leader was killed', async () => {
    // Until there is a new leader reads that wait for one are answered 503.
    isCaused = ({ status, path }) => status === 503 && path.startsWith('/api/v1/');
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
    const after = await cluster.leader(survivors);
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
