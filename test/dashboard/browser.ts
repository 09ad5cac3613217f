/** A headless Chromium of this machine, for the tests that click through the dashboard. */
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

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
