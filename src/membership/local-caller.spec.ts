/** Who may manage members while no tokens are asked for. */
import type { FastifyRequest } from 'fastify';
import { mayManageMembers } from './local-caller.js';

const TOKEN = 'raft-secret';
const IDENTITY = { subject: 'ann', roles: ['admin'] };

function request(
  remoteAddress: string | undefined,
  headers: Record<string, string> = {},
  clearance: unknown = null,
): FastifyRequest {
  return { socket: { remoteAddress }, headers, clearance } as unknown as FastifyRequest;
}

describe('without tokens of their own', () => {
  it.each(['127.0.0.1', '127.9.8.7', '::1', '::ffff:127.0.0.1'])('%s may', (address) => {
    expect(mayManageMembers(request(address), null)).toBe(true);
    expect(mayManageMembers(request(address, {}, 'skipped'), TOKEN)).toBe(true);
  });

  it.each(['10.0.0.1', '192.168.1.9', 'fe80::1', '::ffff:10.0.0.1', undefined])(
    '%s may not, whatever it says about its origin',
    (address) => {
      const claims = { 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1' };
      expect(mayManageMembers(request(address, claims), null)).toBe(false);
      expect(mayManageMembers(request(address, claims, 'skipped'), TOKEN)).toBe(false);
    },
  );

  it('the raft token opens it from anywhere, another one does not', () => {
    const with_ = (token: string) => request('10.0.0.1', { 'x-queen-raft-token': token });
    expect(mayManageMembers(with_(TOKEN), TOKEN)).toBe(true);
    for (const wrong of ['', 'raft-secre', 'raft-secret ', 'RAFT-SECRET']) {
      expect(mayManageMembers(with_(wrong), TOKEN)).toBe(false);
    }
    expect(mayManageMembers(with_(''), null)).toBe(false);
  });
});

it('a caller with a token of its own was judged by its role', () => {
  expect(mayManageMembers(request('10.0.0.1', {}, IDENTITY), null)).toBe(true);
});
