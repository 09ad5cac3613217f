/** What counts as a fault of a page, so that "no error on the console" says something. */
import { EventEmitter } from 'node:events';
import type { Page } from 'playwright-core';
import { watchFaults } from './browser.js';

const CALL = 'Failed to load resource: the server responded with a status of';
const say = (type: string, text: string, url = ''): object => ({
  ...{ type: () => type, text: () => text, location: () => ({ url }) },
});

it('counts every failed call but those the test causes', () => {
  const page = new EventEmitter();
  const faults: string[] = [];
  watchFaults(page as unknown as Page, faults, ({ status, path }) => {
    return (status === 503 && path === '/api/v1/dlq') || (status === null && path === '/gone');
  });
  page.emit('console', say('error', `${CALL} 503 (Service Unavailable)`, 'http://h:1/api/v1/dlq'));
  page.emit('console', say('error', 'Failed to load resource: net::ERR_FAILED', 'http://h:1/gone'));
  page.emit('console', say('warning', 'slow'));
  expect(faults).toEqual([]);
  page.emit('console', say('error', `${CALL} 500 (Internal)`, 'http://h:1/api/v1/dlq?x=1'));
  page.emit('console', say('error', `${CALL} 503 (Service Unavailable)`, 'http://h:1/api/v1/kv'));
  page.emit('console', say('error', 'Failed to load resource: net::ERR_FAILED', 'http://h:1/a'));
  page.emit('console', say('error', 'TypeError: x is undefined'));
  page.emit('pageerror', new Error('thrown'));
  expect(faults).toHaveLength(5);
  const strict: string[] = [];
  const other = new EventEmitter();
  watchFaults(other as unknown as Page, strict);
  other.emit('console', say('error', `${CALL} 404 (Not Found)`, 'http://h:1/api/v1/dlq'));
  expect(strict).toHaveLength(1);
});
