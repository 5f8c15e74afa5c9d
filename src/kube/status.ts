/**
 * A *Status* is how Kubernetes tells the outcome of a request that has no object to tell: of every failure, and of a
 * deletion. Clients branch on `reason` and `code`; messages are English.
 */
import type { ErrorCode, Violation } from '../errors.ts';
import { KindredError } from '../errors.ts';
import type { ErrorAnswer, HeaderList } from '../http/server/exchange.ts';
import { json } from '../http/server/exchange.ts';
import type { Access, Identity } from '../resource/access.ts';
import type { Cause } from './cause.ts';
import { causeOf } from './cause.ts';
import { qualified } from './path.ts';
import type { ResourceTarget } from './target.ts';

type ResourceAccess = Extract<Access, { resource: string }>;

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The plural, with `Invalid` the kind. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
}

export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string };
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

/** What a request is about, as far as it is known. */
export interface Subject {
  readonly group: string;
  readonly storedGroup: string;
  readonly plural: string;
  readonly kind: string;
  readonly name?: string | undefined;
  /** Where the value of a violation is looked for. */
  readonly object?: unknown;
}

/** Of an error that only the façade knows. */
interface StatusMembers {
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly continue?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What a problem document says of it. */
  readonly errors?: readonly Violation[];
}

/** An error with what a Status has and a problem document has not. */
export class StatusError extends KindredError {
  readonly members: StatusMembers;

  constructor(code: ErrorCode, message: string, { headers, errors, ...members }: StatusMembers = {}) {
    super(code, message, { ...(headers && { headers }), ...(errors && { errors }) });
    this.members = members;
  }
}

export function badRequest(message: string): StatusError {
  return new StatusError('BadRequest', message);
}

/** 404 for a path that leads to nothing. */
export function noResource(): StatusError {
  return new StatusError('NotFound', 'the server could not find the requested resource', { details: {} });
}

/** 405. */
export function notAllowed(allow: readonly string[]): StatusError {
  return new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {
    details: {},
    headers: { Allow: allow.join(', ') },
  });
}

/** 403. */
export function forbidden({ name: user }: Identity, target: ResourceTarget, access: ResourceAccess): StatusError {
  const { model, name, namespace } = target;
  const { group, plural } = model;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const what = `${qualified(plural, group)}${name === undefined ? '' : ` ${JSON.stringify(name)}`} is forbidden`;
  const message = `${what}: User ${JSON.stringify(user)} cannot ${access.verb} resource ${JSON.stringify(access.resource)} in API group ${JSON.stringify(group)} ${where}`;
  const details = { ...(name !== undefined && { name }), group, kind: plural };
  return new StatusError('Forbidden', message, { details });
}

/** 403. @param user undefined where no user is named, such as with a group alone */
export function cannotImpersonate(identity: Identity, user: string | string[] | undefined): StatusError {
  const name = user === undefined ? undefined : String(user);
  const what = `users${name === undefined ? '' : ` ${JSON.stringify(name)}`} is forbidden`;
  const message = `${what}: User ${JSON.stringify(identity.name)} cannot impersonate resource "users" in API group "" at the cluster scope`;
  return new StatusError('Forbidden', message, { details: { ...(name !== undefined && { name }), kind: 'users' } });
}

/** 422 with these causes; the message names the object. */
export function invalidFields(causes: readonly Cause[]): StatusError {
  return new StatusError('Invalid', causes.map(({ message }) => message).join(', '), { details: { causes } });
}

/** Code and reason of an error; clients know these alone. */
const answers: Readonly<Record<ErrorCode, readonly [number, string]>> = {
  BadRequest: [400, 'BadRequest'],
  InvalidParameter: [400, 'BadRequest'],
  InvalidSelector: [400, 'BadRequest'],
  Unauthenticated: [401, 'Unauthorized'],
  Forbidden: [403, 'Forbidden'],
  NotFound: [404, 'NotFound'],
  MethodNotAllowed: [405, 'MethodNotAllowed'],
  NotAcceptable: [406, 'NotAcceptable'],
  RequestTimeout: [408, 'Timeout'],
  AlreadyExists: [409, 'AlreadyExists'],
  VersionConflict: [409, 'Conflict'],
  PatchTestFailed: [422, 'Invalid'],
  UniqueViolation: [422, 'Invalid'],
  FieldConflict: [409, 'Conflict'],
  Deleting: [409, 'Conflict'],
  Expired: [410, 'Expired'],
  PreconditionFailed: [409, 'Conflict'],
  PayloadTooLarge: [413, 'RequestEntityTooLarge'],
  UriTooLong: [414, 'BadRequest'],
  UnsupportedMediaType: [415, 'UnsupportedMediaType'],
  MisdirectedRequest: [421, 'MisdirectedRequest'],
  Invalid: [422, 'Invalid'],
  TooManyRequests: [429, 'TooManyRequests'],
  HeadersTooLarge: [431, 'BadRequest'],
  InternalError: [500, 'InternalError'],
  NotReady: [503, 'ServiceUnavailable'],
  IndexBuilding: [503, 'ServiceUnavailable'],
  ModelOutdated: [503, 'ServiceUnavailable'],
  QueryLimit: [503, 'ServiceUnavailable'],
  SlowConsumer: [410, 'Expired'],
  ShuttingDown: [503, 'ServiceUnavailable'],
  UnknownOutcome: [504, 'Timeout'],
  StorageFull: [503, 'ServiceUnavailable'],
  InvalidModel: [500, 'InternalError'],
  InvalidPlugin: [500, 'InternalError'],
};

const conflictText = 'the object has been modified; please apply your changes to the latest version and try again';

export function failure(error: KindredError, subject?: Subject): Status & { readonly code: number } {
  const [code, reason] = answers[error.code];
  const { members } = error as Partial<StatusError>;
  const retryAfter = retryAfterOf(error, code);
  const { message, details } = told(error, members, subject);
  const all = { ...details, ...(retryAfter !== undefined && { retryAfterSeconds: retryAfter }) };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: members?.continue === undefined ? {} : { continue: members.continue },
    status: 'Failure',
    message,
    reason: members?.reason ?? reason,
    ...(Object.keys(all).length > 0 && { details: all }),
    code,
  };
}

/** The answer of an exchange that fails. */
export function failureAnswer(error: KindredError, subject?: Subject): ErrorAnswer {
  const status = failure(error, subject);
  const headers: HeaderList = ['Content-Type', json, 'Cache-Control', 'no-cache, private'];
  for (const [name, value] of Object.entries(error.headers ?? {})) headers.push(name, value);
  const { retryAfterSeconds } = status.details ?? {};
  const named = Object.keys(error.headers ?? {}).some((name) => name.toLowerCase() === 'retry-after');
  if (retryAfterSeconds !== undefined && !named) headers.push('Retry-After', String(retryAfterSeconds));
  return { status: status.code, headers, body: Buffer.from(JSON.stringify(status)) };
}

/** Seconds after which clients try again by themselves. */
function retryAfterOf({ headers }: KindredError, code: number): number | undefined {
  const [, given] = Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'retry-after') ?? [];
  if (given !== undefined && /^\d+$/.test(given)) return Number(given);
  return code === 503 || code === 429 ? 1 : undefined;
}

function told(
  error: KindredError,
  members: StatusMembers | undefined,
  subject: Subject | undefined,
): { message: string; details: StatusDetails } {
  const { code } = error;
  if (code === 'Unauthenticated') return { message: 'Unauthorized', details: {} };
  if (!subject) return { message: error.message, details: members?.details ?? {} };
  const { name, group, storedGroup, plural, kind } = subject;
  const details = { ...(name !== undefined && { name }), group, kind: plural };
  const object = `${qualified(plural, group)} "${name ?? ''}"`;
  switch (code) {
    case 'NotFound':
      if (members || name === undefined) break;
      return { message: `${object} not found`, details };
    case 'Forbidden': {
      // The rights that are missing name the object.
      if (members?.details?.kind !== undefined) break;
      const subjected = name === undefined ? qualified(plural, group) : object;
      return {
        message: `${subjected} is forbidden: ${error.message}`,
        details: { ...details, ...members?.details },
      };
    }
    case 'AlreadyExists':
      return { message: `${object} already exists`, details };
    case 'VersionConflict':
    case 'PreconditionFailed':
    case 'Deleting': {
      const text = members || code === 'Deleting' ? error.message : conflictText;
      return {
        message: `Operation cannot be fulfilled on ${object}: ${text}`,
        details: { ...details, ...members?.details },
      };
    }
    case 'FieldConflict': {
      const reason = 'FieldManagerConflict';
      // Managers of the core group are recorded with the group that it has in the store.
      const shown = (text: string): string =>
        storedGroup === group ? text : text.replaceAll(`using ${storedGroup}/`, 'using ');
      const causes = (error.conflicts ?? []).map(({ message, field }) => ({ reason, message: shown(message), field }));
      return { message: shown(error.message), details: { ...details, causes } };
    }
    case 'Invalid':
    case 'PatchTestFailed':
    case 'UniqueViolation': {
      const causes = members?.details?.causes ?? causesOf(error, subject);
      const texts = causes.map(({ field, message }) => (field ? `${field}: ${message}` : message));
      const text = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
      const message = `${qualified(kind, group)} "${name ?? ''}" is invalid: ${text}`;
      return { message, details: { ...details, kind, causes } };
    }
    default:
  }
  return { message: error.message, details: members?.details ?? {} };
}

function causesOf(error: KindredError, { object }: Subject): readonly Cause[] {
  const { errors, index, value } = error as KindredError & {
    errors?: readonly Violation[];
    index?: string;
    value?: unknown;
  };
  if (error.code === 'UniqueViolation') {
    const message = `Duplicate value: ${JSON.stringify(value)}`;
    return [{ reason: 'FieldValueDuplicate', message, ...(index !== undefined && { field: index }) }];
  }
  if (!errors || errors.length === 0) return [{ reason: 'FieldValueInvalid', message: error.message }];
  return errors.map((one) => causeOf(one, object));
}

/** Of what was done, where there is no object to answer. */
export function success(details: StatusDetails): Status {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
