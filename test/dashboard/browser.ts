/** A headless Chromium of this machine, for the tests that click through the dashboard. */
import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page, type Request } from 'playwright-core';

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

/** A call that came to nothing. */
export interface FailedCall {
  /** Null: no answer at all. */
  readonly status: number | null;
  readonly path: string;
}

export type IsCaused = (call: FailedCall) => boolean;

/** The same told by the console, which does not say of which call: calls are watched themselves. */
const FAILED_CALL = /^Failed to load resource: /;
/** Its page was left. */
const CANCELLED = 'net::ERR_ABORTED';

/**
 * What a page throws or tells the console is a fault, and every failed call but those that a test causes
 * on purpose. A call is judged by what holds when it begins, however late it ends: in the next test, say.
 */
export function watchFaults(
  page: Page,
  faults: string[],
  judge: () => IsCaused = () => () => false,
): void {
  const begun = new WeakMap<Request, IsCaused>();
  const failed = (request: Request, status: number | null): void => {
    const path = new URL(request.url()).pathname;
    const isCaused = begun.get(request)?.({ status, path }) === true;
    if (!isCaused) faults.push(`${request.method()} ${path}: ${status ?? 'no answer'}`);
  };
  page.on('request', (request) => begun.set(request, judge()));
  page.on('response', (response) => {
    if (response.status() >= 400) failed(response.request(), response.status());
  });
  page.on('requestfailed', (request) => {
    if (request.failure()?.errorText !== CANCELLED) failed(request, null);
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' && !FAILED_CALL.test(text)) faults.push(text);
  });
}
