import { Command } from 'commander';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';
import type { Format } from './output.ts';
import { formatOption, print } from './output.ts';
import { wholePage } from './print-objects.ts';
import { lines, widthsOf } from './table.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

type ResourceFormat = Format | 'wide' | 'name';
const formats: readonly ResourceFormat[] = ['json', 'yaml', 'table', 'wide', 'name'];

interface Flags extends ConnectionFlags {
  output: ResourceFormat;
  headers: boolean;
  apiGroup?: string;
  verbs?: string;
}

export function apiResourcesCommand(io: Io): Command {
  const command = new Command('api-resources')
    .description('print the types that you may use')
    .option('--api-group <group>', 'only those of this group; "" is that of the service itself')
    .option('--verbs <verbs>', 'only those on which you may do all of these, such as list,watch')
    .option('--no-headers', 'a table without its line of heads')
    .addOption(formatOption(formats, 'table'))
    .addHelpText('after', '\nFor example: kindred api-resources --verbs=create -o name')
    .action(async ({ output, apiGroup, verbs, headers, ...flags }: Flags) => {
      const wanted = verbs?.split(',').filter((verb) => verb !== '') ?? [];
      const types = (await new Types(connect(flags, io)).all()).filter(
        (type) =>
          (apiGroup === undefined || type.model.gvk.group === apiGroup) &&
          wanted.every((verb) => type.verbs.includes(verb)),
      );
      if (output === 'name') return write(io.stdout, types.map(({ label }) => `${label}\n`).join(''));
      if (output === 'json' || output === 'yaml') {
        return print(io, output, { items: types.map(described), ...wholePage(types.length) }, () => '');
      }
      const isWide = output === 'wide';
      const rows = types.map((type) => rowOf(type, isWide));
      if (headers)
        rows.unshift([
          'NAME',
          'SHORTNAMES',
          'APIVERSION',
          'NAMESPACED',
          'KIND',
          ...(isWide ? ['SINGULAR', 'VERBS'] : []),
        ]);
      return write(io.stdout, lines(rows, widthsOf(rows)));
    });
  return withConnection(command, io);
}

function apiVersionOf({ model: { gvk } }: ResourceType): string {
  return gvk.group === '' ? gvk.version : `${gvk.group}/${gvk.version}`;
}

function rowOf(type: ResourceType, isWide: boolean): string[] {
  const { plural, kind, singular, scope, shortNames = [] } = type.model.gvk;
  return [
    plural,
    shortNames.join(','),
    apiVersionOf(type),
    String(scope === 'Namespaced'),
    kind,
    ...(isWide ? [singular, type.verbs.join(',')] : []),
  ];
}

function described(type: ResourceType): object {
  const { plural, kind, singular, scope, shortNames } = type.model.gvk;
  return {
    name: plural,
    ...(shortNames && { shortNames }),
    apiVersion: apiVersionOf(type),
    namespaced: scope === 'Namespaced',
    kind,
    singularName: singular,
    verbs: type.verbs,
  };
}
