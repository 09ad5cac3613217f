/** Opens a page of the dashboard with nothing cached and measures it as the browser saw it. */
import type { Browser, Page } from 'playwright-core';
import { pause } from '../support/cluster-processes.js';
import { watchFaults } from './browser.js';

const PATIENCE_MS = 30_000;
/** Calls that follow on others begin within it. */
const QUIET_MS = 150;

export interface Visit {
  readonly firstPaintMs: number;
  /** From the start until no skeleton was left and no call ran. */
  readonly dataMs: number;
  /** From a click on Refresh until no call ran. */
  readonly refreshMs: number;
  readonly longestTaskMs: number;
  readonly elements: number;
  readonly faults: readonly string[];
}

/** Before the page's own code: counts the long tasks of the main thread. */
const OBSERVE = `window.longest = 0; window.paint = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
}).observe({ type: 'longtask', buffered: true });
new PerformanceObserver((list) => {
  for (const entry of list.getEntries())
    if (entry.name === 'first-contentful-paint') window.paint = entry.startTime;
}).observe({ type: 'paint', buffered: true });`;

export async function visit(
  browser: Browser,
  url: string,
  { screenshot }: { readonly screenshot: string | null },
): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const faults: string[] = [];
    watchFaults(page, faults);
    await page.addInitScript(OBSERVE);
    const calls = new Calls(page);
    const from = performance.now();
    await page.goto(url);
    const dataMs = (await calls.settled()) - from;
    if (screenshot !== null) await page.screenshot({ path: screenshot });
    const failed = await page.getByText('Could not load').count();
    if (failed > 0) faults.push(`${failed} cards could not load`);
    const again = performance.now();
    await page.getByRole('button', { name: 'Refresh', exact: true }).click();
    const refreshMs = (await calls.settled()) - again;
    const firstPaintMs = Number(await page.evaluate('window.paint'));
    if (!(firstPaintMs > 0)) faults.push('the browser told no first paint');
    return {
      ...{ firstPaintMs, dataMs, refreshMs },
      longestTaskMs: Number(await page.evaluate('window.longest')),
      elements: Number(await page.evaluate('document.querySelectorAll("*").length')),
      faults,
    };
  } finally {
    await context.close();
  }
}

/** The calls of a page, as they begin and end. */
class Calls {
  private running = 0;
  private endedAt = performance.now();

  constructor(private readonly page: Page) {
    page.on('request', () => (this.running += 1));
    const end = (): void => {
      this.running -= 1;
      this.endedAt = performance.now();
    };
    page.on('requestfinished', end);
    page.on('requestfailed', end);
  }

  /** Resolves with the instant the last call ended, once none ran for a while and no skeleton is left. */
  async settled(): Promise<number> {
    await this.page.getByRole('heading', { level: 1 }).waitFor();
    const deadline = performance.now() + PATIENCE_MS;
    while (this.running > 0 || performance.now() - this.endedAt < QUIET_MS) {
      if (performance.now() > deadline) throw new Error(`${this.running} calls did not end`);
      await pause(10);
    }
    await this.page.locator('.skeleton').first().waitFor({ state: 'detached' });
    return this.endedAt;
  }
}
