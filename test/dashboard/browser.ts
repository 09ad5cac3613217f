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

/** A refused call is an answer, which the page shows; everything else on the console is a fault. */
export function watchFaults(page: Page, faults: string[]): void {
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    const isRefusal = /Failed to load resource/.test(message.text());
    if (message.type() === 'error' && !isRefusal) faults.push(message.text());
  });
}
