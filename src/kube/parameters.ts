/** Query parameters as Kubernetes clients send them. Unknown ones are ignored: clients send some that mean nothing here. */
import { badRequest, invalidFields, StatusError } from './status.ts';

export type Parameters = URLSearchParams;

const truths: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
]);

/** What the clients' own language takes for a boolean; an empty value is as none. @throws KindredError BadRequest */
export function flag(parameters: Parameters, name: string): boolean | undefined {
  const text = parameters.get(name);
  if (text === null || text === '') return undefined;
  const value = truths.get(text);
  if (value === undefined) throw badRequest(`invalid value for the parameter "${name}": ${quoted(text)} is no boolean`);
  return value;
}

/** @throws KindredError BadRequest */
export function count(parameters: Parameters, name: string): number | undefined {
  const text = parameters.get(name);
  if (text === null || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw badRequest(`invalid value for the parameter "${name}": ${quoted(text)} is no whole number`);
  return Number(text);
}

/** A `resourceVersion`; undefined when there is none. @throws KindredError BadRequest */
export function revision(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || text === '') return undefined;
  if (!/^\d{1,20}$/.test(text)) throw badRequest(`invalid resource version ${quoted(text)}: it is a decimal number`);
  return Number(text);
}

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface WriteParameters {
  readonly dryRun: boolean;
  readonly manager: string;
  readonly fieldValidation: FieldValidation;
}

const longestManager = 128;

/** @throws KindredError Invalid */
export function writeParameters(parameters: Parameters, userAgent: string | undefined): WriteParameters {
  const dryRun = isDryRun(parameters.getAll('dryRun'));
  const given = parameters.get('fieldManager') ?? '';
  const known = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(given) && given.length <= longestManager;
  if (!known) {
    const message = `Invalid value: ${quoted(given)}: at most ${longestManager} printable characters`;
    throw invalidFields([{ reason: 'FieldValueInvalid', message, field: 'fieldManager' }]);
  }
  const validation = parameters.get('fieldValidation') || 'Warn';
  if (validation !== 'Strict' && validation !== 'Warn' && validation !== 'Ignore') {
    const message = `Unsupported value: ${quoted(validation)}: supported values: "Ignore", "Strict", "Warn"`;
    throw invalidFields([{ reason: 'FieldValueNotSupported', message, field: 'fieldValidation' }]);
  }
  return { dryRun, manager: given || managerOf(userAgent), fieldValidation: validation };
}

/** `dryRun=All` or none. @throws KindredError Invalid */
export function isDryRun(values: readonly unknown[]): boolean {
  const wrong = values.find((one) => one !== 'All' && one !== '');
  if (wrong !== undefined) {
    const message = `Unsupported value: ${quoted(String(wrong))}: supported values: "All"`;
    throw invalidFields([{ reason: 'FieldValueNotSupported', message, field: 'dryRun' }]);
  }
  return values.includes('All');
}

/** Of who names no manager: the program's name. */
function managerOf(userAgent = ''): string {
  return userAgent.split('/')[0]!.slice(0, longestManager) || 'unknown';
}

/** For messages: the beginning of what was sent. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text);
}

/** 504: the client knows a newer state than there is. */
export function tooLarge(wanted: number, newest: number): StatusError {
  return new StatusError('UnknownOutcome', `Too large resource version: ${wanted}, current: ${newest}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });
}
