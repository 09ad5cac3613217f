/**
 * A strict reader of the Prometheus text format 0.0.4: each family has its HELP and TYPE before its
 * samples, once; samples carry only names their type allows; nothing appears twice.
 */
export interface ReadFamily {
  readonly help: string;
  readonly type: string;
  /** `name{label="value",…}` with labels in the order of their names → value. */
  readonly samples: Map<string, number>;
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const COMMENT = new RegExp(`^# (HELP|TYPE) (${NAME}) (.+)$`);
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (-?[0-9.e+-]+|NaN|[+-]Inf|Nan)$`);
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/y;

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  gauge: [''],
  counter: [''],
  summary: ['', '_sum', '_count'],
  histogram: ['_bucket', '_sum', '_count'],
};

export function readExposition(text: string): Map<string, ReadFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, ReadFamily>();
  let current: { name: string; help: string; type: string; samples: Map<string, number> } | null =
    null;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const comment = COMMENT.exec(line);
    if (comment !== null) {
      const [, word, name = '', rest = ''] = comment;
      if (word === 'HELP') {
        if (families.has(name)) throw new Error(`${name} comes twice`);
        current = { name, help: rest, type: '', samples: new Map() };
        families.set(name, current);
      } else {
        if (current?.name !== name || current.type !== '') throw new Error(`TYPE of ${name}`);
        current.type = rest;
      }
      continue;
    }
    const sample = SAMPLE.exec(line);
    if (sample === null || current === null) throw new Error(`not a sample: ${line}`);
    const [, name = '', labels, value = ''] = sample;
    const suffix = name.slice(current.name.length);
    const allowed = SUFFIXES[current.type] ?? [];
    if (!name.startsWith(current.name) || !allowed.includes(suffix)) {
      throw new Error(`${name} under ${current.name} (${current.type})`);
    }
    const key = name + labelKey(labels ?? '');
    if (current.samples.has(key)) throw new Error(`${key} comes twice`);
    current.samples.set(key, Number(value.replace('Inf', 'Infinity')));
  }
  return families;
}

function labelKey(text: string): string {
  if (text === '') return '';
  const labels: string[] = [];
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const label = LABEL.exec(text);
    if (label === null) throw new Error(`not labels: ${text}`);
    labels.push(`${label[1] ?? ''}="${label[2] ?? ''}"`);
  }
  return `{${labels.sort().join(',')}}`;
}
