/** A headless Chromium of this machine, for the tests that click through the dashboard. */
import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';

const PLACES = [
  process.env['QUEEN_CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
];

export const chromiumPath = PLACES.find((place) => place !== undefined && existsSync(place));

export function openBrowser(executablePath: string): Promise<Browser> {
  // Without a user namespace (containers, root) its sandbox cannot start; it only visits loopback here.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  return chromium.launch({ executablePath, args, timeout: 60_000 });
}

/** A call that came to nothing, as the console tells it. */
export interface FailedCall {
  /** Null: no answer at all. */
  readonly status: number | null;
  readonly path: string;
}

const FAILED_CALL = /^Failed to load resource: (?:the server responded with a status of (\d+))?/;

/** Everything on the console is a fault, but for the failed calls that a test causes on purpose. */
export function watchFaults(
  page: Page,
  faults: string[],
  isCaused: (call: FailedCall) => boolean = () => false,
): void {
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    const failed = FAILED_CALL.exec(message.text());
    const { url } = message.location();
    const path = URL.canParse(url) ? new URL(url).pathname : url;
    const status = failed?.[1] === undefined ? null : Number(failed[1]);
    if (failed === null || !isCaused({ status, path })) faults.push(`${message.text()} ${path}`);
  });
}
