/** The token with which a list goes on: at the revision of its first page, behind the last name of the page before. */
import { badRequest } from './status.ts';

export interface ContinueToken {
  readonly revision: number;
  /** Name of the last object that was answered, as the store has it. */
  readonly after: string;
  /** Objects that are left; undefined where nobody counted. */
  readonly remaining: number | undefined;
}

/** Of the form of the token. */
const format = 1;

export function continueText({ revision, after, remaining }: ContinueToken): string {
  return Buffer.from(JSON.stringify([format, revision, after, remaining ?? -1])).toString('base64url');
}

/** @throws KindredError BadRequest */
export function continueToken(text: string): ContinueToken {
  const fields = parsed(text);
  if (!Array.isArray(fields) || fields.length !== 4) throw malformed();
  const [version, revision, after, remaining] = fields as unknown[];
  if (version !== format || typeof after !== 'string' || after === '') throw malformed();
  if (!isCount(revision) || !(isCount(remaining) || remaining === -1)) throw malformed();
  return { revision, after, remaining: remaining === -1 ? undefined : (remaining as number) };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function parsed(text: string): unknown {
  if (!/^[A-Za-z0-9_-]{1,2000}$/.test(text)) return undefined;
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function malformed() {
  return badRequest('continue key is not valid: it is the token of the page before, unchanged');
}
