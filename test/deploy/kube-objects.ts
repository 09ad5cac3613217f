/** Kubernetes objects of a rendered chart, with the few paths the tests look at. */
import { parseAllDocuments } from 'yaml';

interface EnvEntry {
  readonly name: string;
}

export class KubeContainer {
  constructor(readonly raw: Record<string, unknown>) {}

  get env(): readonly EnvEntry[] {
    return (this.raw['env'] ?? []) as EnvEntry[];
  }

  port(name: string): number | undefined {
    const ports = this.raw['ports'] as { name: string; containerPort: number }[];
    return ports.find((port) => port.name === name)?.containerPort;
  }
}

export class KubeObject {
  constructor(readonly raw: Record<string, unknown>) {}

  get kind(): string {
    return String(this.raw['kind']);
  }

  name(): string {
    return (this.raw['metadata'] as { name: string }).name;
  }

  replicas(): number {
    return (this.raw['spec'] as { replicas: number }).replicas;
  }

  /** Pod template of a StatefulSet. */
  pod(): Record<string, unknown> {
    return (this.raw['spec'] as { template: { spec: Record<string, unknown> } }).template.spec;
  }

  container(): KubeContainer {
    const [first] = this.pod()['containers'] as Record<string, unknown>[];
    if (first === undefined) throw new Error('a pod without a container');
    return new KubeContainer(first);
  }
}

export function readObjects(text: string): KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Record<string, unknown> | null)
    .filter((value): value is Record<string, unknown> => value !== null)
    .map((value) => new KubeObject(value));
}
