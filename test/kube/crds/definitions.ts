/** Definitions for tests. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parseAllDocuments } from 'yaml';

export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** An address such as `fd00::` in a list in brackets: a text for Go, whose programs others write YAML for, and a map by YAML 1.2. */
const address = /(?<=[[,] *)[\da-f:]+::(?= *[\],])/g;

/** The objects of a file in YAML, perhaps gzipped. */
export function documents(file: string): any[] {
  const bytes = readFileSync(file);
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  return parseAllDocuments(text.replace(address, '"$&"'), { merge: true }).flatMap((one) => {
    const value = one.toJS({ maxAliasCount: -1 });
    return value === null ? [] : value.kind === 'List' ? value.items : [value];
  });
}

/** Those in the files of a folder, one for each resource. */
export function definitionsIn(folder: string): any[] {
  return readdirSync(folder)
    .sort()
    .filter((file) => !file.includes('.minimal.'))
    .flatMap((file) => documents(join(folder, file)))
    .filter(({ kind }) => kind === 'CustomResourceDefinition');
}

export function storageVersionOf({ spec }: any): any {
  return spec.versions.find(({ storage }: any) => storage);
}

/** Where its objects are, in no namespace. */
export function pathOf(definition: any): string {
  const { group, names } = definition.spec;
  return `/apis/${group}/${storageVersionOf(definition).name}/${names.plural}`;
}

export function isEstablished({ status }: any): boolean {
  return status?.conditions?.some(({ type, status }: any) => type === 'Established' && status === 'True') === true;
}

interface Sizes {
  /** Schemas in its schema. */
  readonly nodes: number;
  readonly group?: string;
  readonly plural?: string;
}

/** As large as asked for, with patterns, defaults and rules on its way. */
export function definitionOf({ nodes, group = 'large.example.com', plural = 'things' }: Sizes): any {
  let left = nodes - 2;
  const leaf = (i: number): object => {
    left--;
    const kinds = [
      { type: 'string', pattern: `^[a-z]{1,${(i % 40) + 1}}$`, description: 'A text' },
      { type: 'integer', minimum: 0, default: i, description: 'A number' },
      { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
      { type: 'boolean', nullable: true },
    ];
    return kinds[i % kinds.length]!;
  };
  const branch = (depth: number): object => {
    left--;
    const properties: Record<string, object> = {};
    for (let i = 0; i < 10 && left > 0; i++) properties[`m${i}`] = depth > 0 && i >= 7 ? list(depth - 1) : leaf(i);
    return {
      type: 'object',
      properties,
      ...(depth === 2 && {
        'x-kubernetes-validations': [{ rule: '!has(self.m1) || self.m1 >= 0', message: 'negative' }],
      }),
    };
  };
  const list = (depth: number): object => {
    left--;
    return { type: 'array', maxItems: 20, items: branch(depth) };
  };
  const parts: Record<string, object> = {};
  for (let i = 0; left > 0; i++) parts[`part${i}`] = branch(3);
  const kind = `${plural[0]!.toUpperCase()}${plural.slice(1, -1)}`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { plural, kind },
      scope: 'Cluster',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: parts } } },
          },
          additionalPrinterColumns: [{ name: 'First', type: 'integer', jsonPath: '.spec.part0.m1' }],
        },
      ],
    },
  };
}
