/** The query parameters of writes. */
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { unknownParameter } from '../server/problem.ts';

/** Of a server-side apply. */
export interface ApplyParameters {
  readonly manager: string;
  readonly force: boolean;
  readonly dryRun: boolean;
}

const managerLimit = 128;

const texts = {
  flag: localized('"{parameter}" is true or false, given once, not "{value}"'),
  manager: localized('"fieldManager" is required: the name of who applies, 1 to {limit} printable characters'),
};

/** `dryRun`, the one parameter of most writes. @throws KindredError InvalidParameter */
export function isDryRun(query: string): boolean {
  return flagOf(parametersOf(query, ['dryRun']), 'dryRun');
}

/** @throws KindredError InvalidParameter */
export function applyParameters(query: string): ApplyParameters {
  const parameters = parametersOf(query, ['fieldManager', 'force', 'dryRun']);
  const [manager = '', ...more] = parameters.getAll('fieldManager');
  if (!isManager(manager) || more.length > 0) {
    throw new KindredError('InvalidParameter', texts.manager, {
      params: { limit: managerLimit },
      parameter: 'fieldManager',
    });
  }
  return { manager, force: flagOf(parameters, 'force'), dryRun: flagOf(parameters, 'dryRun') };
}

function isManager(text: string): boolean {
  return text.length > 0 && text.length <= managerLimit && !/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(text);
}

function parametersOf(query: string, known: readonly string[]): URLSearchParams {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) if (!known.includes(name)) throw unknownParameter(name, known);
  return parameters;
}

function flagOf(parameters: URLSearchParams, parameter: string): boolean {
  const [value = 'false', ...more] = parameters.getAll(parameter);
  if ((value === 'true' || value === 'false') && more.length === 0) return value === 'true';
  throw new KindredError('InvalidParameter', texts.flag, {
    params: { parameter, value: [value, ...more].join(', ') },
    parameter,
  });
}
