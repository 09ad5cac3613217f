/** Grants and the leader's words about them, in either order, and what ends the wait for the words. */
import { nodeId, type NodeId } from '../../../common/ids.js';
import type { GrantOutcome, PopTicket } from '../../../machine/commands/catalogue.js';
import { DeadlineWheel } from '../deadline-wheel.js';
import type { PopAnswer, PopRequest } from '../group.js';
import type { DispatchAnswer } from '../ports.js';
import type { ForwardedPop } from './peer-port.js';
import { PopRouter } from './pop-router.js';

const SELF = nodeId(1);
const LEADER = nodeId(2);
const CHOSEN = { partitions: 3, batch: 40 };
const WORDS: DispatchAnswer = {
  ...{ granted: true, conflation: false, conflationConflict: false, autopilot: CHOSEN },
};

const wheels: DeadlineWheel[] = [];
afterEach(() => {
  for (const wheel of wheels.splice(0)) wheel.stop();
});

function grantFor(ticket: PopTicket): GrantOutcome {
  return {
    ...{ ticket, commitOnDelivery: false, expiresAt: 60_000_000 },
    ranges: [{ conflated: false }],
  } as unknown as GrantOutcome;
}

function scene(autopilot: PopRequest['autopilot']) {
  const asked: ForwardedPop[] = [];
  const back: GrantOutcome[] = [];
  const cancelled: PopTicket[] = [];
  let nowMs = 0;
  const wheel = new DeadlineWheel(() => nowMs);
  const router = new PopRouter({
    ...{ self: SELF, wheel },
    nowMs: () => nowMs,
    nowMicros: () => nowMs * 1000,
    session: () => 7,
    leader: (): NodeId => LEADER,
    dispatcher: () => null,
    isQuorumFresh: () => true,
    forward: (_to, pop) => asked.push(pop) > 0,
    cancel: (_to, ticket) => cancelled.push(ticket),
    handBack: (grant) => back.push(grant),
  });
  const client = new AbortController();
  const answers: (PopAnswer | Error)[] = [];
  const request = { autopilot, conflation: null } as unknown as PopRequest;
  router
    .pop(request, { deadlineMs: 1_000, signal: client.signal })
    .then((answer) => answers.push(answer))
    .catch((error: unknown) => answers.push(error as Error));
  const ticket = asked[0]?.ticket ?? { session: 0, sequence: 0 };
  const settled = async (): Promise<(PopAnswer | Error)[]> => {
    await new Promise((resolve) => setImmediate(resolve));
    return answers;
  };
  const words = (): void => router.reply(LEADER, ticket, { kind: 'answer', answer: WORDS });
  const pass = (ms: number): void => void (nowMs += ms);
  wheels.push(wheel);
  return { router, ticket, back, cancelled, client, settled, words, pass };
}

describe('a grant', () => {
  const wish = { partitions: true, batch: true };

  it('is handed out at once when nobody asked for the autopilot', async () => {
    const { router, ticket, settled } = scene(null);
    router.granted(grantFor(ticket));
    expect(await settled()).toMatchObject([{ grant: { ticket }, autopilot: null }]);
  });

  it('waits for what the autopilot chose, in either order', async () => {
    const late = scene(wish);
    late.router.granted(grantFor(late.ticket));
    expect(await late.settled()).toEqual([]);
    late.words();
    expect(await late.settled()).toMatchObject([
      { grant: { ticket: late.ticket }, autopilot: CHOSEN },
    ]);
    const early = scene(wish);
    early.words();
    early.router.granted(grantFor(early.ticket));
    expect(await early.settled()).toMatchObject([{ grant: {}, autopilot: CHOSEN }]);
  });

  it.each<[string, (at: ReturnType<typeof scene>) => void]>([
    ['words that do not come', ({ router, pass }) => (pass(150), router.tick())],
    ['another leader', ({ router }) => router.rerouteAll()],
    [
      'a refusal',
      ({ router, ticket }) => router.reply(LEADER, ticket, { kind: 'refused', code: 'retry' }),
    ],
    ['the end of the group', ({ router }) => router.failAll(() => new Error('over'))],
    ['a stop', ({ router }) => router.answerAllEmpty()],
    ['damage of the log', ({ router }) => router.sendAway()],
  ])('is handed out all the same after %s', async (_name, happens) => {
    const at = scene(wish);
    at.router.granted(grantFor(at.ticket));
    happens(at);
    expect(await at.settled()).toMatchObject([{ grant: { ticket: at.ticket }, autopilot: null }]);
    expect([at.router.size, at.back]).toEqual([0, []]);
  });

  it('goes back after its pop was sent away, and the leader need not look for more', async () => {
    const at = scene(null);
    at.router.sendAway();
    expect(await at.settled()).toMatchObject([{ code: 'retry' }]);
    expect(at.cancelled).toEqual([at.ticket]);
    expect(at.router.isRecalling).toBe(true);
    at.router.granted(grantFor(at.ticket));
    expect(at.back).toHaveLength(1);
    at.pass(250);
    expect(at.router.isRecalling).toBe(false);
  });

  it('goes back when its client leaves meanwhile, and so does a second one', async () => {
    const at = scene(wish);
    at.router.granted(grantFor(at.ticket));
    at.router.granted(grantFor(at.ticket));
    expect(at.back).toHaveLength(1);
    at.client.abort();
    expect(at.back).toHaveLength(2);
    expect(await at.settled()).toMatchObject([{ grant: null }]);
  });

  it('is not handed out after its lease', async () => {
    const at = scene(wish);
    at.router.granted({ ...grantFor(at.ticket), expiresAt: 1_000 } as GrantOutcome);
    at.pass(50);
    at.words();
    expect(await at.settled()).toEqual([]);
    expect(at.router.size).toBe(1);
  });
});
