/** Alert rules and the Grafana dashboard parse, and every metric they name is one the broker exposes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { parse, parseDocument } from 'yaml';
import { TestBroker } from '../support/broker.js';

const ROOT = join(__dirname, '..', '..');
const ALERTS = join(ROOT, 'deploy/monitoring/alerts.yaml');
const DASHBOARD = join(ROOT, 'deploy/monitoring/grafana-dashboard.json');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly w: number };
  readonly targets?: readonly { readonly expr: string }[];
}

const alertText = readFileSync(ALERTS, 'utf8');
const rules = (parse(alertText) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const board = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[] };
const expressions = [
  ...rules.map((rule) => rule.expr),
  ...board.panels.flatMap((panel) => (panel.targets ?? []).map((target) => target.expr)),
];
const metricsOf = (expr: string): string[] => expr.match(/\bqueen_[a-z0-9_]+/g) ?? [];

/** Variables of the dashboard stand for durations and label values. */
function syntaxErrors(expr: string): string[] {
  const errors: string[] = [];
  const text = expr.replace(/\$__(rate_)?interval|\$interval/g, '5m');
  parser.parse(text).iterate({
    enter: ({ type, from }) => {
      if (type.isError) errors.push(`${text} at ${from}`);
    },
  });
  return errors;
}

describe('monitoring files', () => {
  let broker: TestBroker;
  let families: Set<string>;

  beforeAll(async () => {
    broker = await TestBroker.start();
    const text = await (await fetch(`${broker.url}/metrics/prometheus`)).text();
    families = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name ?? ''));
  });

  afterAll(() => broker.stop());

  it('name only metrics that exist', () => {
    const unknown = new Set(expressions.flatMap(metricsOf).filter((name) => !families.has(name)));
    expect([...unknown]).toEqual([]);
  });

  it('hold expressions that Prometheus parses', () => {
    expect(expressions.flatMap((expr) => syntaxErrors(expr))).toEqual([]);
    expect(syntaxErrors('rate(queen_raft_index[5m]) > ')).not.toEqual([]);
  });

  it('alerts are whole, and named once', () => {
    expect(parseDocument(alertText, { strict: true, uniqueKeys: true }).errors).toEqual([]);
    expect(new Set(rules.map((rule) => rule.alert)).size).toBe(rules.length);
    for (const rule of rules) {
      expect(['info', 'warning', 'critical']).toContain(rule.labels.severity);
      expect(rule.annotations.summary.length).toBeGreaterThan(10);
      expect(rule.for ?? '1m').toMatch(/^\d+[smh]$/);
    }
  });

  it('are the ones the chart ships', () => {
    expect(readFileSync(join(ROOT, 'helm/queen/files/alerts.yaml'), 'utf8')).toBe(alertText);
  });

  it('every alert stands in the operators documentation', () => {
    const text = readFileSync(join(ROOT, 'docs/monitoring.md'), 'utf8');
    const missing = rules.map((rule) => rule.alert).filter((name) => !text.includes(`\`${name}\``));
    expect(missing).toEqual([]);
  });

  it('the panels of the dashboard have ids of their own and lie inside the grid', () => {
    expect(new Set(board.panels.map((panel) => panel.id)).size).toBe(board.panels.length);
    for (const { gridPos } of board.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });
});
