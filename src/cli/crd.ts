import { Command } from 'commander';
import { invalid, KindredError } from '../errors.ts';
import { checkDefinition, withDefaults } from '../kube/crds/check.ts';
import type { DefinitionObject } from '../kube/crds/kind.ts';
import { definitionGroup, definitionModel } from '../kube/crds/kind.ts';
import { pluginSource } from '../kube/crds/source.ts';
import { modelDeclaration } from '../model/define.ts';
import type { ExtensionObject } from '../model/object.ts';
import { isRecord } from '../model/object.ts';
import type { Validator } from '../model/validator.ts';
import { createValidator } from '../model/validator.ts';
import { resolveOptions } from '../options.ts';
import { atOnce } from '../runtime/parts.ts';
import { describe } from './describe.ts';
import { documents, filesOf, open } from './documents.ts';
import type { Io } from './io.ts';
import { Exit, UsageError, write } from './io.ts';

export function crdCommand(io: Io): Command {
  return new Command('crd').description('CustomResourceDefinitions as plugins').addCommand(importCommand(io));
}

function importCommand(io: Io): Command {
  return new Command('import')
    .description('print a plugin in TypeScript that declares the models of CustomResourceDefinitions')
    .argument('<file...>', 'files or folders with definitions in YAML or JSON; "-" is stdin')
    .addHelpText('after', '\nWhat cannot be carried over is a comment in the plugin, and a line on stderr.')
    .action(async (paths: string[]) => {
      const { reservedDomain } = resolveOptions({});
      const found = await definitionsIn(io, paths, reservedDomain);
      const definitions = found.map(({ definition }) => definition);
      const { text, notes } = pluginSource(definitions, reservedDomain);
      for (const [i, { place, definition }] of found.entries()) {
        const { kind } = definition.spec.names;
        for (const note of notes[i]!) io.stderr.write(`${place}: ${kind}: ${note}\n`);
      }
      await write(io.stdout, text);
    });
}

interface Found {
  readonly place: string;
  readonly definition: DefinitionObject;
}

/** Reports every definition that a service would not accept, and throws when there is one. */
async function definitionsIn(io: Io, paths: readonly string[], reservedDomain: string): Promise<Found[]> {
  const validator = createValidator(modelDeclaration(definitionModel())!);
  const found: Found[] = [];
  let refused = 0;
  for (const file of (await Promise.all(paths.map(filesOf))).flat()) {
    for await (const { value, place } of documents(open(file, io), file)) {
      if (value === null) continue;
      try {
        const definition = accepted(io, value, place, validator, reservedDomain);
        const same = found.find((one) => one.definition.metadata.name === definition.metadata.name);
        if (same) throw new UsageError(`${place} defines ${definition.metadata.name}, as ${same.place} does`);
        found.push({ place, definition });
      } catch (error) {
        if (!(error instanceof KindredError)) throw error;
        refused++;
        io.stderr.write(describe(error, place));
      }
    }
  }
  if (refused > 0) throw new Exit(1);
  if (found.length === 0) throw new UsageError('there is no CustomResourceDefinition');
  return found;
}

function accepted(
  io: Io,
  value: unknown,
  place: string,
  validator: Validator,
  reservedDomain: string,
): DefinitionObject {
  const isDefinition =
    isRecord(value) && value.apiVersion === `${definitionGroup}/v1` && value.kind === 'CustomResourceDefinition';
  if (!isDefinition) throw new UsageError(`${place} is no CustomResourceDefinition of ${definitionGroup}/v1`);
  // Numbers beyond those of JSON in JavaScript are rounded, as the service rounds them.
  const plain = JSON.parse(JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? Number(one) : one)));
  const { status: _status, ...object } = plain as ExtensionObject & { status?: unknown };
  const { listed } = validator.validate(object);
  const mistakes = listed.filter(({ keyword }) => keyword !== 'additionalProperties');
  if (mistakes.length > 0) throw invalid(mistakes);
  for (const { pointer } of listed) io.stderr.write(`${place}: ${pointer} is unknown and left out\n`);
  const definition = withDefaults(object as unknown as DefinitionObject);
  atOnce(checkDefinition(definition, undefined, reservedDomain));
  return definition;
}
