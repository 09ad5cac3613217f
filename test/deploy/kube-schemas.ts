/**
 * Judges an object by the schema of its kind in schemas/ (README there): strict, so a field the API does
 * not know is a problem, as it is for a server with field validation.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import type { KubeObject } from './kube-objects.js';

const SCHEMAS = join(__dirname, 'schemas');
const read = (file: string): object => JSON.parse(readFileSync(join(SCHEMAS, file), 'utf8'));

// Formats of the API are those of Go types (int32, int64, byte); the type beside them is what counts.
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
const kubernetes = read('kubernetes.json') as { readonly definitions: Record<string, unknown> };
ajv.addSchema(kubernetes);
const known = new Map<string, ValidateFunction | null>();

/** `ConfigMap` of `v1` → `configmap-v1`, `StatefulSet` of `apps/v1` → `statefulset-apps-v1`. */
function schemaNameOf(object: KubeObject): string {
  const version = String(object.raw['apiVersion']).replace('/', '-').replace('.k8s.io', '');
  return `${object.kind.toLowerCase()}-${version}`;
}

export function problemsOf(object: KubeObject): string[] {
  const what = `${object.kind} ${object.name()}`;
  const name = schemaNameOf(object);
  const judge = validatorOf(name);
  if (judge === null) return [`${what}: no schema ${name}`];
  if (judge(object.raw)) return [];
  return (judge.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${what} ${instancePath}: ${message ?? ''} ${JSON.stringify(params)}`,
  );
}

function validatorOf(name: string): ValidateFunction | null {
  const cached = known.get(name);
  if (cached !== undefined) return cached;
  let validator: ValidateFunction | null = null;
  if (existsSync(join(SCHEMAS, `${name}.json`))) validator = ajv.compile(read(`${name}.json`));
  else if (Object.hasOwn(kubernetes.definitions, name)) {
    validator = ajv.compile({ $ref: `kubernetes.json#/definitions/${name}` });
  }
  known.set(name, validator);
  return validator;
}
