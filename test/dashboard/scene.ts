/**
 * A broker, a headless Chromium and a page for the specs of the dashboard. A spec is skipped, not passed,
 * where the machine has no Chromium or the dashboard is not built. A fault on the console fails the test
 * it happened in.
 */
import type { Browser, Locator, Page } from 'playwright-core';
import { findBuild } from '../../src/dashboard/dashboard-files.js';
import { TestBroker } from '../support/broker.js';
import { chromiumPath, openBrowser, watchFaults, type FailedCall } from './browser.js';

const PATIENCE_MS = 30_000;

export class Scene {
  broker!: TestBroker;
  page!: Page;
  private browser: Browser | undefined;
  private readonly faults: string[] = [];
  private caused: FailedCall[] = [];

  async open(executablePath: string, env: Readonly<Record<string, string>>): Promise<void> {
    this.broker = await TestBroker.start({ METRICS_FLUSH_MS: '1000', ...env });
    this.browser = await openBrowser(executablePath);
    this.page = await this.browser.newPage({ viewport: { width: 1280, height: 900 } });
    this.page.setDefaultTimeout(PATIENCE_MS);
    watchFaults(this.page, this.faults, () => {
      const { caused } = this;
      return (call) =>
        caused.some(({ status, path }) => status === call.status && call.path.startsWith(path));
    });
  }

  async close(): Promise<void> {
    await this.browser?.close();
    await this.broker?.stop();
  }

  /**
   * Calls this test makes fail: with the status, or (null) without an answer. Those of paths that begin
   * so, and that begin before the next test does, are no faults; every other failed call is.
   */
  causes(status: number | null, path: string): void {
    this.caused.push({ status, path });
  }

  beginTest(): void {
    this.caused = [];
  }

  takeFaults(): string[] {
    return this.faults.splice(0);
  }

  goto(path: string): Promise<unknown> {
    return this.page.goto(this.broker.url + path);
  }

  heading(name: string): Locator {
    return this.page.getByRole('heading', { level: 1, name, exact: true });
  }

  button(name: string): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  dialog(): Locator {
    return this.page.getByRole('dialog');
  }

  /** The card with that title. */
  card(title: string): Locator {
    const name = this.page.getByRole('heading', { level: 2, name: title, exact: true });
    return this.page.locator('section.card', { has: name });
  }

  text(text: string): Locator {
    return this.page.getByText(text).first();
  }
}

export function inBrowser(
  title: string,
  tests: (scene: Scene) => void,
  env: Readonly<Record<string, string>> = {},
): void {
  if (chromiumPath === undefined || findBuild() === null) {
    const lack = chromiumPath === undefined ? 'no Chromium (QUEEN_CHROMIUM)' : 'not built';
    describe.skip(`${title} (${lack})`, () => {
      it('needs Chromium and npm run build', () => undefined);
    });
    return;
  }
  describe(title, () => {
    const scene = new Scene();
    beforeAll(() => scene.open(chromiumPath as string, env));
    afterAll(() => scene.close());
    beforeEach(() => scene.beginTest());
    afterEach(() => expect(scene.takeFaults()).toEqual([]));
    tests(scene);
  });
}
