/**
 * Pins the schemas of the Kubernetes kinds the chart renders, with all they refer to, without texts for
 * people: writes schemas/kubernetes.json. See schemas/README.md.
 *
 *   node test/deploy/pin-schemas.mjs <folder with statefulset-apps-v1.json and the like>
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const KINDS = [
  ...['configmap-v1', 'ingress-networking-v1', 'networkpolicy-networking-v1', 'pod-v1'],
  ...['poddisruptionbudget-policy-v1', 'secret-v1', 'service-v1', 'serviceaccount-v1'],
  'statefulset-apps-v1',
];
const from = process.argv[2];
if (from === undefined) throw new Error('name the folder of the schemas');
const load = (file) => JSON.parse(readFileSync(join(from, file), 'utf8'));
const shared = load('_definitions.json').$defs;
const definitions = {};

function pin(name, schema) {
  if (Object.hasOwn(definitions, name)) return;
  definitions[name] = null;
  definitions[name] = short(schema);
}

function short(node) {
  if (Array.isArray(node)) return node.map(short);
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).flatMap(([key, value]) => {
    const isText = typeof value === 'string';
    if (isText && ['description', '$id', '$schema'].includes(key)) return [];
    if (key.startsWith('x-kubernetes')) return [];
    if (key !== '$ref' || !isText) return [[key, short(value)]];
    const name = value.slice(value.lastIndexOf('/') + 1);
    pin(name, shared[name]);
    return [[key, `#/definitions/${name}`]];
  });
  return Object.fromEntries(entries);
}

for (const kind of KINDS) pin(kind, load(`${kind}.json`));
const to = fileURLToPath(new URL('schemas/kubernetes.json', import.meta.url));
const lines = Object.keys(definitions)
  .sort()
  .map((name) => `${JSON.stringify(name)}:${JSON.stringify(definitions[name])}`);
writeFileSync(to, `{"$id":"kubernetes.json","definitions":{\n${lines.join(',\n')}\n}}\n`);
