/** Command line of the bench. */
import { parseArgs } from 'node:util';
import { allCases, quickCases, type BenchCase } from './cases.js';

export const USAGE = `npm run bench -- [options]
  --quick              only the cases that have a budget, short windows
  --filter TEXT        cases named TEXT, else those whose name contains it; several with commas
  --rounds N           rounds of every case, medians are shown (3)
  --seconds S          measured seconds per case and round (4; 1.5 with --quick)
  --json FILE          everything measured, as JSON
  --dir DIR            parent of the data directory (the system's temporary directory)
  --no-verify          leave the verifier out
  --strict             exit 1 when a budget fails
  --profile DIR        the broker writes a CPU profile there; its top functions are printed
  --node-flags=FLAGS   flags of Node for the broker, e.g. --node-flags=--trace-gc
  --broker-log FILE    where the broker writes (the temporary directory)
  --steady SECONDS     steady state of push 100 x 1 KB instead of the cases
  --partitions N       many partitions: memory, parked pops, restart instead of the cases
  --admin              with --partitions: every GET of the admin plane timed instead
  --nodes N            the cases with a budget on a cluster of N nodes next to a single one, the
                       connections spread over all nodes
  --messages N         with --ephemeral: N messages at the end, RSS at each million
  --ephemeral          push and pop in memory next to the durable path instead of the cases
  --guards             pushes with JWT on against off instead of the cases
  --retention N        retention of N messages (1000000) beside half load instead of the cases
  --dead-letter-storm N  N dead letters (100000) on one queue beside steady traffic of others
  --evidence           the page of the run in docs/evidence
  --longpoll           wake-up of a waiting pop, median of 100, instead of the cases
`;

export interface BenchOptions {
  /** As a reader would repeat it. */
  readonly command: string;
  readonly cases: readonly BenchCase[];
  readonly rounds: number;
  readonly warmupMs: number;
  readonly measureMs: number;
  readonly json: string | undefined;
  readonly parent: string | undefined;
  readonly verify: boolean;
  readonly strict: boolean;
  readonly profile: string | undefined;
  readonly nodeFlags: readonly string[];
  readonly brokerLog: string | undefined;
  readonly steadySeconds: number | undefined;
  readonly partitions: number | undefined;
  readonly admin: boolean;
  readonly retention: number | undefined;
  readonly deadLetterStorm: number | undefined;
  readonly longPoll: boolean;
  readonly ephemeral: boolean;
  readonly guards: boolean;
  readonly messages: number | undefined;
  readonly nodes: number | undefined;
  /** Write the page of docs/evidence that belongs to the run. */
  readonly evidence: boolean;
}

const numberOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0)) throw new Error(`"${text}" is no positive number\n\n${USAGE}`);
  return value;
};

export function parseOptions(args: readonly string[]): BenchOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      help: { type: 'boolean' },
      quick: { type: 'boolean' },
      filter: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      json: { type: 'string' },
      dir: { type: 'string' },
      'no-verify': { type: 'boolean' },
      strict: { type: 'boolean' },
      profile: { type: 'string' },
      'node-flags': { type: 'string' },
      'broker-log': { type: 'string' },
      steady: { type: 'string' },
      partitions: { type: 'string' },
      admin: { type: 'boolean' },
      retention: { type: 'string' },
      'dead-letter-storm': { type: 'string' },
      longpoll: { type: 'boolean' },
      ephemeral: { type: 'boolean' },
      guards: { type: 'boolean' },
      messages: { type: 'string' },
      nodes: { type: 'string' },
      evidence: { type: 'boolean' },
    },
  });
  if (values.help === true) return null;
  const quick = values.quick === true;
  const onlyBudgets = quick || values.nodes !== undefined;
  const wanted = values.filter?.split(',').map((text) => text.trim());
  const known = onlyBudgets ? quickCases() : allCases();
  const isNamed = wanted?.every((text) => known.some(({ name }) => name === text)) ?? false;
  const fits = (name: string, text: string): boolean =>
    isNamed ? name === text : name.includes(text);
  const cases = known.filter(({ name }) => wanted?.some((text) => fits(name, text)) ?? true);
  if (cases.length === 0) throw new Error(`no case is named like "${values.filter ?? ''}"`);
  const seconds = numberOf(values.seconds) ?? (quick ? 1.5 : 4);
  const said = args.filter((arg) => arg !== '--evidence').join(' ');
  return {
    command: `npm run bench -- ${said}`.replace(/ -- $/, ''),
    cases,
    rounds: numberOf(values.rounds) ?? 3,
    warmupMs: quick ? 500 : 1000,
    measureMs: seconds * 1000,
    json: values.json,
    parent: values.dir,
    verify: values['no-verify'] !== true,
    strict: values.strict === true,
    profile: values.profile,
    nodeFlags: values['node-flags']?.split(' ') ?? [],
    brokerLog: values['broker-log'],
    steadySeconds: numberOf(values.steady),
    partitions: numberOf(values.partitions),
    admin: values.admin === true,
    retention: numberOf(values.retention),
    deadLetterStorm: numberOf(values['dead-letter-storm']),
    longPoll: values.longpoll === true,
    ephemeral: values.ephemeral === true,
    guards: values.guards === true,
    messages: numberOf(values.messages),
    nodes: numberOf(values.nodes),
    evidence: values.evidence === true,
  };
}
