/**
 * Compiles the rules of every definition below a folder, and checks sample objects against them:
 * `node --import ./test/sources.ts test/cel/data.ts --crds FOLDER`, where `definitions/` has the definitions and `samples/<name>/valid`,
 * `samples/<name>/invalid` the objects.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { parseAllDocuments } from 'yaml';
import type { CompiledRules } from '../../src/cel/rules.ts';
import { compileRules } from '../../src/cel/rules.ts';
import { SchemaDocument } from '../../src/schema/document.ts';
import type { JsonSchema } from '../../src/schema/keywords.ts';
import { nodeLoader } from '../../src/schema/node-loader.ts';

interface Definition {
  kind?: string;
  metadata?: { name?: string };
  spec?: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema?: { openAPIV3Schema: JsonSchema } }[];
  };
}

function documents(file: string): Record<string, unknown>[] {
  const bytes = readFileSync(file);
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  return parseAllDocuments(text, { merge: true })
    .map((one) => one.toJSON() as Record<string, unknown> | null)
    .filter((one) => one !== null);
}

const { values } = parseArgs({ options: { crds: { type: 'string' } } });
if (values.crds === undefined) throw new Error('--crds FOLDER is missing');
const known = new Map<string, { rules: CompiledRules; document: SchemaDocument }>();
let count = 0;
for (const file of readdirSync(join(values.crds, 'definitions'))) {
  for (const { kind, spec } of documents(join(values.crds, 'definitions', file)) as Definition[]) {
    if (kind !== 'CustomResourceDefinition' || !spec) continue;
    for (const { name, schema } of spec.versions) {
      const rules = compileRules(schema?.openAPIV3Schema ?? true, { isObject: true });
      count++;
      for (const { path, message } of rules.problems) console.log(`${file} ${name} ${path}: ${message}`);
      const document = new SchemaDocument(schema?.openAPIV3Schema ?? true, {
        model: spec.names.kind,
        path: '',
        closed: false,
        loader: nodeLoader,
      });
      known.set(`${spec.group}/${name} ${spec.names.kind}`, { rules, document });
    }
  }
}
const problems = [...known.values()].reduce((sum, { rules }) => sum + rules.problems.length, 0);
console.log(
  `${count} schemas, ${[...known.values()].filter(({ rules }) => !rules.isEmpty).length} with rules, ${problems} problems`,
);
for (const kind of ['valid', 'invalid']) {
  let objects = 0;
  let violated = 0;
  for (const project of readdirSync(join(values.crds, 'samples'))) {
    const folder = join(values.crds, 'samples', project, kind);
    for (const file of existsSync(folder) ? readdirSync(folder) : []) {
      for (const { _err, ...object } of documents(join(folder, file))) {
        const model = known.get(`${object.apiVersion} ${object.kind}`);
        if (!model) continue;
        objects++;
        const { rules, document } = model;
        document.defaults()?.(object);
        // Rules are for what holds its schema.
        if (kind === 'invalid' && document.validate(object, '').count > 0) continue;
        const found = rules.check(object, undefined);
        if (found.length > 0) violated++;
        const told = found.map(({ field, params }) => `${field}: ${(params as { detail: string }).detail}`);
        if (found.length > 0 || kind === 'invalid')
          console.log(`${kind} ${project}/${file}: ${told.join(' | ')}${_err ? ` [${_err}]` : ''}`);
      }
    }
  }
  console.log(`${objects} ${kind} objects, ${violated} with violations of rules`);
}
