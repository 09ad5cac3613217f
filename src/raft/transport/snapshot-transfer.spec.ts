/** A snapshot whose sender goes away is no fault of the receiver: nobody catches what it would throw. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { receiveSnapshot } from './snapshot-transfer.js';

it.each([
  ['before its first byte', ''],
  ['in its header', 'QSNP'],
])('breaks off %s without an effect', async (_, sent) => {
  const body = new PassThrough();
  const snapshot = jest.fn();
  const request = body as unknown as IncomingMessage;
  const response = {} as ServerResponse;
  const received = receiveSnapshot(request, response, { snapshot });
  body.write(sent);
  body.destroy(new Error('aborted'));
  await expect(received).resolves.toBeUndefined();
  expect(snapshot).not.toHaveBeenCalled();
});
