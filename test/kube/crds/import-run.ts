/**
 * Prints the plugin of each CustomResourceDefinition of a folder as `kindred crd import` does, loads it, and holds the
 * samples against it: `node --import ./test/sources.ts test/kube/crds/import-run.ts --folder <folder>`, where `definitions/` has YAML
 * files (perhaps gzipped) and `samples/<project>/{valid,invalid}` objects. Tells which rules are not carried over. Exit code
 * 1 when a plugin does not load, or a sample that the definition accepts is refused.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { violationText } from '../../../src/errors.ts';
import { withDefaults } from '../../../src/kube/crds/check.ts';
import type { DefinitionObject } from '../../../src/kube/crds/kind.ts';
import { pluginSource } from '../../../src/kube/crds/source.ts';
import type { Model } from '../../../src/model/model-type.ts';
import type { ExtensionObject } from '../../../src/model/object.ts';
import { Scheme } from '../../../src/model/scheme.ts';
import { documents } from './definitions.ts';

const { folder = '' } = parseArgs({ options: { folder: { type: 'string' } } }).values;

const rulesIn = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.entries(value).reduce(
        (sum, [name, one]) => sum + (name === 'x-kubernetes-validations' ? (one as object[]).length : rulesIn(one)),
        0,
      );

// Below the repository, so that `kindred` resolves.
mkdirSync('build', { recursive: true });
const home = mkdtempSync(resolve('build', 'import-'));
const schemes = new Map<string, Scheme>();
let [rules, carried, faults] = [0, 0, 0];
try {
  const files = readdirSync(join(folder, 'definitions')).filter((file) => !file.includes('.minimal.'));
  for (const file of files.sort()) {
    for (const given of documents(join(folder, 'definitions', file))) {
      if (given.kind !== 'CustomResourceDefinition') continue;
      const definition = withDefaults(given as unknown as DefinitionObject);
      const { text, notes } = pluginSource([definition], 'platform.run');
      for (const note of notes.flat())
        if (note.includes('CEL rule')) console.log(`${definition.metadata.name}: ${note}`);
      const path = join(home, `${definition.metadata.name}.ts`);
      writeFileSync(path, text);
      try {
        const models = (await import(pathToFileURL(path).href)) as Record<string, Model<ExtensionObject>>;
        for (const [name, model] of Object.entries(models)) {
          if (name === 'default') continue;
          const scheme = Scheme.buildFromType(model);
          const { apiVersion } = scheme;
          schemes.set(`${apiVersion} ${scheme.groupVersionKind.kind}`, scheme);
          const storage = definition.spec.versions.find((one) => one.storage)!;
          rules += rulesIn(storage.schema);
          carried += rulesIn(scheme.jsonSchema);
        }
      } catch (error) {
        faults++;
        console.log(`${definition.metadata.name}: ${(error as Error).message.slice(0, 500)}`);
      }
    }
  }
  console.log(`${schemes.size} models, ${carried} of ${rules} rules carried over`);
  for (const kind of ['valid', 'invalid']) {
    let [objects, refused] = [0, 0];
    for (const project of readdirSync(join(folder, 'samples')).sort()) {
      if (!readdirSync(join(folder, 'samples', project)).includes(kind)) continue;
      const samples = join(folder, 'samples', project, kind);
      for (const file of readdirSync(samples).sort()) {
        for (const { _err, ...object } of documents(join(samples, file))) {
          const scheme = schemes.get(`${object.apiVersion} ${object.kind}`);
          if (!scheme) continue;
          objects++;
          const { validator } = scheme;
          validator.applyDefaults(object as unknown as ExtensionObject);
          const { listed } = validator.validate(object as unknown as ExtensionObject);
          if (listed.length > 0) refused++;
          if (listed.length > 0 === (kind === 'invalid')) continue;
          // Unknown members are refused by a service that does not prune, as here.
          if (kind === 'valid' && listed.some(({ keyword }) => keyword !== 'additionalProperties')) faults++;
          console.log(
            `${kind} ${project}/${file}: ${listed.map((one) => `${one.pointer} ${violationText(one).en}`).join(' | ')} ${_err ?? ''}`,
          );
        }
      }
    }
    console.log(`${objects} ${kind} objects, ${refused} refused`);
  }
} finally {
  rmSync(home, { recursive: true });
}
process.exitCode = faults === 0 ? 0 : 1;
