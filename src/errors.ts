/** The one error class, its codes (contract section 5) and localised texts. Everything may import this file; it imports nothing of ours. */

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
  RequestTimeout: { status: 408, title: { en: 'Request timed out', zh: '请求超时' } },
  AlreadyExists: { status: 409, title: { en: 'Already exists', zh: '已存在' } },
  VersionConflict: { status: 409, title: { en: 'Version conflict', zh: '版本冲突' } },
  PatchTestFailed: { status: 409, title: { en: 'Patch test failed', zh: '补丁测试未通过' } },
  UniqueViolation: { status: 409, title: { en: 'Value already taken', zh: '值已被占用' } },
  Deleting: { status: 409, title: { en: 'Object is being deleted', zh: '对象正在删除' } },
  Expired: { status: 410, title: { en: 'Revision no longer available', zh: '修订号已不可用' } },
  PreconditionFailed: { status: 412, title: { en: 'Precondition failed', zh: '前提条件不满足' } },
  PayloadTooLarge: { status: 413, title: { en: 'Payload too large', zh: '请求体过大' } },
  UriTooLong: { status: 414, title: { en: 'URL too long', zh: 'URL 过长' } },
  UnsupportedMediaType: { status: 415, title: { en: 'Unsupported media type', zh: '不支持的媒体类型' } },
  Invalid: { status: 422, title: { en: 'Invalid object', zh: '对象无效' } },
  TooManyRequests: { status: 429, title: { en: 'Too many requests', zh: '请求过多' } },
  HeadersTooLarge: { status: 431, title: { en: 'Headers too large', zh: '请求头过大' } },
  InternalError: { status: 500, title: { en: 'Internal error', zh: '内部错误' } },
  NotReady: { status: 503, title: { en: 'Not ready', zh: '尚未就绪' } },
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

/** The members that a problem document carries besides the standard ones (contract section 5). */
export interface ProblemMembers {
  errors?: readonly Violation[];
  parameter?: string;
  term?: string;
  column?: number;
  expected?: string;
  index?: string;
  value?: unknown;
  currentVersion?: number;
  allowed?: readonly string[];
  operation?: number;
  position?: number;
  line?: number;
  progress?: number;
  models?: readonly unknown[];
  plugins?: readonly unknown[];
}

const violationTexts = new WeakMap<Violation, Text>();
const brand = Symbol.for('kindred.error');

const placeholder = /\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}/g;

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

/** A violation whose message can be shown in every language. */
export function violation(pointer: string, keyword: string, text: Text, params: Parameters = {}): Violation {
  const result: Violation = { pointer, field: fieldOf(pointer), keyword, message: formatText(text, params), params };
  violationTexts.set(result, { en: formatText(text, params, 'en'), zh: formatText(text, params, 'zh') });
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

/**
 * The error of the whole service: the code decides the status (contract section 5); members such as `errors`,
 * `parameter`, `index` or `currentVersion` stand on the error itself.
 */
export class KindredError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  declare readonly errors?: readonly Violation[];
  declare readonly parameter?: string;
  declare readonly term?: string;
  declare readonly column?: number;
  declare readonly expected?: string;
  declare readonly index?: string;
  declare readonly value?: unknown;
  declare readonly currentVersion?: number;
  declare readonly allowed?: readonly string[];
  declare readonly operation?: number;
  declare readonly progress?: number;
  /** Store revision that the answer reflects, for the header `Kindred-Revision`; not part of the body. */
  declare revision?: number;
  /** Headers that belong to the answer, such as `Retry-After` or `Allow`; not part of the body. */
  declare headers?: Readonly<Record<string, string>>;
  readonly #text: Text;
  readonly #params: Parameters;
  readonly #members: ProblemMembers;

  /**
   * @param text in every language, or one text for all of them
   * @param params what stands for `{name}` in it
   */
  constructor(
    code: ErrorCode,
    text: Text | string,
    params: Parameters = {},
    members: ProblemMembers = {},
    options?: { cause?: unknown; revision?: number; headers?: Readonly<Record<string, string>> },
  ) {
    const texts = typeof text === 'string' ? { en: text, zh: text } : text;
    super(formatText(texts, params), options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'KindredError';
    this.code = code;
    this.status = errorCodes[code].status;
    this.#text = texts;
    this.#params = params;
    this.#members = members;
    Object.assign(this, members);
    if (options?.revision !== undefined) this.revision = options.revision;
    if (options?.headers) this.headers = options.headers;
    Object.defineProperty(this, brand, { value: true });
  }

  /** True for errors of another copy of this module too (plugins may bring one under a test runner). */
  static override [Symbol.hasInstance](value: unknown): boolean {
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
  return { ...one, message: messageOf(one)[locale] };
}

/** The message of a violation in every language; one that was not made by `violation` has but its own. */
export function messageOf(one: Violation): Text {
  return violationTexts.get(one) ?? { en: one.message, zh: one.message };
}

const invalidText: Text = {
  en: 'The object does not satisfy the model: {count} {count|violation|violations}, the first at "{pointer}": {en}',
  zh: '对象不符合模型：共 {count} 处问题，第一处位于 "{pointer}"：{zh}',
};

/** 422 with every violation. */
export function invalid(errors: readonly Violation[]): KindredError {
  return new KindredError('Invalid', invalidText, countedParams(errors), { errors });
}

/** For a text that counts violations and says the first: `count`, `pointer`, and its message as `en` and `zh`. */
export function countedParams(errors: readonly Violation[]): Parameters {
  const [first] = errors;
  return { count: errors.length, pointer: first?.pointer ?? '', ...(first && messageOf(first)) };
}
