/** The one error class, its codes (docs/reference/errors.md) and localised texts. Everything may import this file; it imports nothing of ours. */

/**
 * A message in every language of the service. `{name}` stands for the parameter `name`, `{name|item|items}` for the first
 * word when that parameter is 1 and for the second otherwise.
 */
export interface Text {
  readonly en: string;
  readonly zh: string;
}

export type Locale = keyof Text;

/** Every error code with its HTTP status and title. `InvalidModel` and `InvalidPlugin` are thrown in code only. */
export const errorCodes = {
  BadRequest: { status: 400, title: { en: 'Bad request', zh: '请求有误' } },
  InvalidParameter: { status: 400, title: { en: 'Invalid parameter', zh: '参数无效' } },
  InvalidSelector: { status: 400, title: { en: 'Invalid selector', zh: '选择器无效' } },
  Unauthenticated: { status: 401, title: { en: 'Not authenticated', zh: '未通过身份验证' } },
  Forbidden: { status: 403, title: { en: 'Not allowed', zh: '没有权限' } },
  NotFound: { status: 404, title: { en: 'Not found', zh: '未找到' } },
  MethodNotAllowed: { status: 405, title: { en: 'Method not allowed', zh: '不支持该方法' } },
  NotAcceptable: { status: 406, title: { en: 'Not acceptable', zh: '无法以所要求的格式回答' } },
  RequestTimeout: { status: 408, title: { en: 'Request timed out', zh: '请求超时' } },
  AlreadyExists: { status: 409, title: { en: 'Already exists', zh: '已存在' } },
  VersionConflict: { status: 409, title: { en: 'Version conflict', zh: '版本冲突' } },
  PatchTestFailed: { status: 409, title: { en: 'Patch test failed', zh: '补丁测试未通过' } },
  UniqueViolation: { status: 409, title: { en: 'Value already taken', zh: '值已被占用' } },
  FieldConflict: { status: 409, title: { en: 'Field conflict', zh: '字段冲突' } },
  Deleting: { status: 409, title: { en: 'Object is being deleted', zh: '对象正在删除' } },
  Expired: { status: 410, title: { en: 'Revision no longer available', zh: '修订号已不可用' } },
  PreconditionFailed: { status: 412, title: { en: 'Precondition failed', zh: '前提条件不满足' } },
  PayloadTooLarge: { status: 413, title: { en: 'Payload too large', zh: '请求体过大' } },
  UriTooLong: { status: 414, title: { en: 'URL too long', zh: 'URL 过长' } },
  UnsupportedMediaType: { status: 415, title: { en: 'Unsupported media type', zh: '不支持的媒体类型' } },
  MisdirectedRequest: { status: 421, title: { en: 'Misdirected request', zh: '请求发错了进程' } },
  Invalid: { status: 422, title: { en: 'Invalid object', zh: '对象无效' } },
  TooManyRequests: { status: 429, title: { en: 'Too many requests', zh: '请求过多' } },
  HeadersTooLarge: { status: 431, title: { en: 'Headers too large', zh: '请求头过大' } },
  InternalError: { status: 500, title: { en: 'Internal error', zh: '内部错误' } },
  NotReady: { status: 503, title: { en: 'Not ready', zh: '尚未就绪' } },
  IndexBuilding: { status: 503, title: { en: 'Index not ready', zh: '索引尚未就绪' } },
  ModelOutdated: { status: 503, title: { en: 'Model outdated', zh: '模型已过时' } },
  QueryLimit: { status: 503, title: { en: 'Query limit exceeded', zh: '查询超出限制' } },
  SlowConsumer: { status: 503, title: { en: 'Consumer too slow', zh: '消费者过慢' } },
  ShuttingDown: { status: 503, title: { en: 'Shutting down', zh: '正在关闭' } },
  UnknownOutcome: { status: 504, title: { en: 'Outcome unknown', zh: '结果未知' } },
  StorageFull: { status: 507, title: { en: 'Storage full', zh: '存储已满' } },
  InvalidModel: { status: 500, title: { en: 'Invalid model', zh: '模型无效' } },
  InvalidPlugin: { status: 500, title: { en: 'Invalid plugin', zh: '插件无效' } },
} as const satisfies Record<string, { status: number; title: Text }>;

export type ErrorCode = keyof typeof errorCodes;

export type Parameters = Readonly<Record<string, unknown>>;

/** One reason why an object is refused. `pointer` is an RFC 6901 pointer into the body, `field` the same as a dotted path. */
export interface Violation {
  pointer: string;
  field: string;
  keyword: string;
  /** In English; `problem` renders it in the language of the request. */
  message: string;
  params?: object;
}

/** A field that an apply sets, and that another manager owns with another value. */
export interface FieldConflict {
  manager: string;
  operation: 'Apply' | 'Update';
  apiVersion: string;
  subresource?: string;
  /** Such as `.spec.ports[name="http"].port`. */
  field: string;
  message: string;
}

/** The members that a problem document carries besides the standard ones (docs/reference/errors.md). */
export interface ProblemMembers {
  errors?: readonly Violation[];
  /** Violations beside those in `errors`, or conflicts beside those in `conflicts`. */
  omitted?: number;
  parameter?: string;
  term?: string;
  column?: number;
  expected?: string;
  index?: string;
  value?: unknown;
  currentVersion?: number;
  allowed?: readonly string[];
  operation?: number;
  /** Fields of an apply that other managers own with other values. */
  conflicts?: readonly FieldConflict[];
  position?: number;
  line?: number;
  /** Of the last answer to a bulk request that ended early: its line and those behind it were not read. */
  unread?: true;
  progress?: number;
  models?: readonly unknown[];
  plugins?: readonly unknown[];
}

const brand = Symbol.for('kindred.error');

const placeholder = /\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}/g;
/** Characters of a value that a message or `params` shows; what a caller sent does not come back in full. */
const shownCharacters = 500;
/** Characters of the pointer of a violation; a place with a longer one is told by the pointer of what it is in. */
export const pointerLimit = 1_000;

export function formatText(text: Text, params: Parameters, locale: Locale = 'en'): string {
  return text[locale].replace(placeholder, (whole, name: string, one?: string, many?: string) => {
    if (!(name in params)) return whole;
    if (one === undefined) return printed(params[name]);
    return params[name] === 1 ? one : many!;
  });
}

function printed(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
}

/** Small values as they are, large ones as the beginning of their text. */
function shortened(params: Parameters): Parameters {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, shortenedValue(value)]));
}

function shortenedValue(value: unknown): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value !== 'object' || value === null) return value;
  const text = jsonStart(value);
  return text.length > shownCharacters ? cut(text) : value;
}

function cut(text: string): string {
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters).toWellFormed()}…`;
}

/** JSON, of a large value no more than what is shown of it. */
function jsonStart(value: object): string {
  let text = '';
  const write = (one: unknown): void => {
    if (text.length > shownCharacters) return;
    if (Array.isArray(one)) {
      text += '[';
      for (let i = 0; i < one.length && text.length <= shownCharacters; i++) {
        if (i > 0) text += ',';
        write(one[i]);
      }
      text += ']';
    } else if (typeof one === 'object' && one !== null && !('toJSON' in one)) {
      let separator = '{';
      for (const name in one) {
        if (text.length > shownCharacters) break;
        text += `${separator}${JSON.stringify(cut(name))}:`;
        separator = ',';
        write((one as Record<string, unknown>)[name]);
      }
      text += separator === '{' ? '{}' : '}';
    } else {
      text += JSON.stringify(typeof one === 'string' ? cut(one) : one) ?? String(one);
    }
  };
  write(value);
  return text;
}

const violationTexts = new WeakMap<Violation, Text>();

/** A violation whose message can be shown in every language. */
export function violation(pointer: string, keyword: string, text: Text, params: Parameters = {}): Violation {
  const place = pointer.length <= pointerLimit ? pointer : pointer.slice(0, pointer.lastIndexOf('/', pointerLimit));
  const shown = shortened(params);
  const message = formatText(text, shown);
  const result: Violation = { pointer: place, field: fieldOf(place), keyword, message, params: shown };
  violationTexts.set(result, text);
  return result;
}

/** `/spec/tags/0` as `spec.tags.0`. */
function fieldOf(pointer: string): string {
  return pointer.split('/').slice(1).map(unescapeToken).join('.');
}

/** One RFC 6901 reference token, escaped. */
export function escapeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}

export function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** What an error carries besides its text: members of the problem document, and what is not part of that. */
interface ErrorDetails extends ProblemMembers {
  /** What stands for `{name}` in the text. */
  params?: Parameters;
  cause?: unknown;
  /** Store revision that the answer reflects, for the header `Kindred-Revision`. */
  revision?: number;
  /** Headers that belong to the answer, such as `Retry-After` or `Allow`. */
  headers?: Readonly<Record<string, string>>;
}

/** The members of its problem document that an error has. */
export interface KindredError extends Readonly<ProblemMembers> {}

/**
 * The error of the whole service: the code decides the status (docs/reference/errors.md); members such as `errors`,
 * `parameter`, `index` or `currentVersion` stand on the error itself.
 *
 * @example
 * ```ts
 * throw new KindredError('NotFound', 'There is no shelf "{shelf}"', { params: { shelf: 'poetry' } });
 * ```
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns the members, and not every error has all.
export class KindredError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  /** Store revision that the answer reflects, for the header `Kindred-Revision`; not part of the body. */
  declare revision?: number;
  /** Headers that belong to the answer, such as `Retry-After` or `Allow`; not part of the body. */
  declare headers?: Readonly<Record<string, string>>;
  readonly #text: Text;
  readonly #params: Parameters;
  readonly #members: ProblemMembers;

  /**
   * @param text in every language, or one text for all of them
   * @param details parameters of the text, members of the problem document, the cause and what the answer's head carries
   */
  constructor(code: ErrorCode, text: Text | string, details: ErrorDetails = {}) {
    const { params = {}, cause, revision, headers, ...members } = details;
    const texts = typeof text === 'string' ? { en: text, zh: text } : text;
    // What a developer or an operator did is told in full.
    const shown = errorCodes[code].status < 500 ? shortened(params) : params;
    super(formatText(texts, shown), cause === undefined ? undefined : { cause });
    this.name = 'KindredError';
    this.code = code;
    this.status = errorCodes[code].status;
    this.#text = texts;
    this.#params = shown;
    this.#members = members;
    Object.assign(this, members);
    if (revision !== undefined) this.revision = revision;
    if (headers) this.headers = headers;
    Object.defineProperty(this, brand, { value: true });
  }

  /** True for errors of another copy of this module too (plugins may bring one under a test runner). */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a subclass inherits this function
    if (this !== KindredError) return super[Symbol.hasInstance](value);
    return typeof value === 'object' && value !== null && brand in value;
  }

  /** The members of the problem document that depend on the error: title, status, detail, code and the additional ones. */
  problem(locale: Locale = 'en'): Record<string, unknown> {
    const { errors, ...members } = this.#members;
    return {
      type: 'about:blank',
      title: errorCodes[this.code].title[locale],
      status: this.status,
      detail: formatText(this.#text, this.#params, locale),
      code: this.code,
      ...members,
      ...(errors && { errors: errors.map((one) => localised(one, locale)) }),
    };
  }
}

function localised(one: Violation, locale: Locale): Violation {
  const text = violationTexts.get(one);
  return text && locale !== 'en' ? { ...one, message: formatText(text, one.params as Parameters, locale) } : one;
}

/** The message of a violation in every language; one that was not made by `violation` has but its own. */
export function violationText(one: Violation): Text {
  return { en: one.message, zh: localised(one, 'zh').message };
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The database was away for a moment: the same may succeed later. */
export function isPassing(error: unknown): boolean {
  return error instanceof KindredError && (error.code === 'NotReady' || error.code === 'UnknownOutcome');
}

export function isNotFound(error: unknown): boolean {
  return error instanceof KindredError && error.code === 'NotFound';
}

/** What `find` gives; undefined when it fails with `NotFound`. */
export async function ifFound<T>(find: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Violations that an answer lists. */
export const listedViolations = 100;
/** Violations that are counted: when there are so many, the rest of an object is not looked at. */
export const countedViolations = 1_000;

/** What is wrong with one object: the first violations, each once, and how many there are. */
export class Violations {
  readonly #listed: Violation[] = [];
  readonly #seen = new Set<string>();
  readonly #mostListed: number;
  readonly #mostCounted: number;

  /**
   * @param mostListed those after them are counted alone
   * @param mostCounted when there are so many, the rest of an object is not looked at
   */
  constructor(mostListed = listedViolations, mostCounted = Math.max(mostListed, countedViolations)) {
    this.#mostListed = mostListed;
    this.#mostCounted = mostCounted;
  }

  /** In the order in which they were found. */
  get listed(): readonly Violation[] {
    return this.#listed;
  }

  /** As many as are counted at most: there may be more. */
  get count(): number {
    return this.#seen.size;
  }

  /** True when there is no use in looking for more. */
  get isFull(): boolean {
    return this.count >= this.#mostCounted;
  }

  add(pointer: string, keyword: string, text: Text, params?: Parameters): void {
    if (!this.isFull) this.take(violation(pointer, keyword, text, params));
  }

  /** Adds one that was made already. */
  take(one: Violation): void {
    const key = `${one.pointer}\n${one.keyword}\n${one.message}`;
    if (this.isFull || this.#seen.has(key)) return;
    this.#seen.add(key);
    if (this.#listed.length < this.#mostListed) this.#listed.push(one);
  }

  /** @throws Invalid with what was found, when anything was */
  refuse(): void {
    if (this.count > 0) throw invalid(this);
  }
}

const invalidText: Text = {
  en: 'The object does not satisfy the model: {count}{more} {count|violation|violations}, the first at "{pointer}": {en}',
  zh: '对象不符合模型：共 {count}{more} 处问题，第一处位于 "{pointer}"：{zh}',
};

/** 422 with the violations: the first hundred listed, the others counted. */
export function invalid(errors: readonly Violation[] | Violations, text = invalidText): KindredError {
  const found = errors instanceof Violations ? errors : violationsOf(errors);
  const { listed, count } = found;
  const [first] = listed;
  const params = {
    count,
    more: found.isFull ? '+' : '',
    pointer: first?.pointer ?? '',
    ...(first && violationText(first)),
  };
  const members = { errors: listed, ...(count > listed.length && { omitted: count - listed.length }) };
  return new KindredError('Invalid', text, { params, ...members });
}

function violationsOf(errors: readonly Violation[]): Violations {
  const found = new Violations();
  for (let i = 0; i < errors.length && !found.isFull; i++) found.take(errors[i]!);
  return found;
}
