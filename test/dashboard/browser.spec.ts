/** What counts as a fault of a page, so that "no error on the console" says something. */
import { EventEmitter } from 'node:events';
import type { Page } from 'playwright-core';
import { watchFaults, type IsCaused } from './browser.js';

const CALL = 'Failed to load resource: the server responded with a status of 500';

function scene() {
  const page = new EventEmitter();
  const faults: string[] = [];
  const rule: { isCaused: IsCaused } = { isCaused: () => false };
  watchFaults(page as unknown as Page, faults, () => rule.isCaused);
  const begin = (path: string, errorText = 'net::ERR_FAILED'): object => {
    const url = `http://h:1${path}`;
    const request = { url: () => url, method: () => 'GET', failure: () => ({ errorText }) };
    page.emit('request', request);
    return request;
  };
  const answer = (request: object, status: number): boolean =>
    page.emit('response', { status: () => status, request: () => request });
  const say = (type: string, text: string): boolean =>
    page.emit('console', { type: () => type, text: () => text });
  return { page, faults, rule, begin, answer, say };
}

it('counts every failed call but those the test causes', () => {
  const { page, faults, rule, begin, answer } = scene();
  rule.isCaused = ({ status, path }) =>
    (status === 503 && path === '/api/v1/dlq') || (status === null && path === '/gone');
  answer(begin('/api/v1/dlq?x=1'), 503);
  answer(begin('/api/v1/kv'), 200);
  page.emit('requestfailed', begin('/gone'));
  page.emit('requestfailed', begin('/left', 'net::ERR_ABORTED'));
  expect(faults).toEqual([]);
  answer(begin('/api/v1/dlq?x=1'), 500);
  answer(begin('/api/v1/kv'), 404);
  page.emit('requestfailed', begin('/a'));
  expect(faults).toEqual([...['GET /api/v1/dlq: 500', 'GET /api/v1/kv: 404', 'GET /a: no answer']]);
});

it('judges a call by what was caused when it began, in either direction', () => {
  const { faults, rule, begin, answer } = scene();
  const before = begin('/before');
  rule.isCaused = ({ status }) => status === 503;
  const during = begin('/during');
  answer(before, 503);
  rule.isCaused = () => false;
  answer(during, 503);
  answer(begin('/after'), 503);
  expect(faults).toEqual(['GET /before: 503', 'GET /after: 503']);
});

it('counts what the page throws or tells the console, a failed call not twice', () => {
  const { page, faults, say } = scene();
  say('warning', 'slow');
  say('error', CALL);
  expect(faults).toEqual([]);
  say('error', 'TypeError: x is undefined');
  page.emit('pageerror', new Error('thrown'));
  expect(faults).toEqual(['TypeError: x is undefined', 'Error: thrown']);
});
