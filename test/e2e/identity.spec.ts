/** Who looks at the dashboard (admin.md §1.8): without tokens, without one, and by the roles of one. */
import { TestBroker } from '../support/broker.js';
import { SECRET, secondsNow, tokenOf } from '../support/tokens.js';

async function me(env: Record<string, string>, claims: object | null): Promise<unknown[]> {
  const broker = await TestBroker.start({ QUEEN_SERVER_ID: 'queen-7', ...env });
  try {
    const token = claims === null ? null : await tokenOf({ ...claims });
    const headers: Record<string, string> =
      token === null ? {} : { authorization: `Bearer ${token}` };
    const { status, json } = await broker.send('GET', '/auth/me', undefined, { headers });
    return [status, json];
  } finally {
    await broker.stop();
  }
}

const ON = { JWT_ENABLED: 'true', JWT_SECRET: SECRET };
const ASKED = [401, { error: 'auth_required', code: 'auth_required' }];

it('everybody is the operator where no tokens are checked', async () => {
  const [status, json] = await me({}, null);
  expect(status).toBe(200);
  expect(json).toEqual({
    ...{ user_id: 'standalone', email: null, tenant_slug: 'local', is_operator: true },
    ...{ operator_enabled: true, operator_live: true, standalone: true, role: 'admin' },
    ...{ acting_cluster: { id: 'local', slug: 'local' }, cluster: null },
    act_cluster_header: 'x-queen-act-cluster',
    clusters: [
      {
        ...{ id: 'local', slug: 'local', role: 'admin', tenant_slug: 'local', status: 'active' },
        ...{ tenant_id: '00000000-0000-0000-0000-000000000001', cell_slug: 'queen-7' },
      },
    ],
  });
});

it.each<[string, object | null]>([
  ['no token', null],
  ['a token that ran out', { role: 'admin', exp: secondsNow() - 3600 }],
])('401 with %s', async (_what, claims) => {
  expect(await me(ON, claims)).toEqual(ASKED);
});

it.each<[object, object]>([
  [
    { sub: 'ana', role: 'admin' },
    { user_id: 'ana', role: 'admin', is_operator: true },
  ],
  [
    { sub: 'bo', role: 'read-only' },
    { user_id: 'bo', role: 'read-only', is_operator: false },
  ],
  [
    { roles: ['write-only', 'read-only'] },
    { user_id: 'token', role: 'read-only', roles: ['read-only', 'write-only'] },
  ],
  [{ role: 'stranger' }, { role: 'none', roles: [], operator_enabled: false }],
])('a token of %j', async (claims, wanted) => {
  const [status, json] = await me(ON, claims);
  expect(status).toBe(200);
  expect(json).toMatchObject(wanted);
});
