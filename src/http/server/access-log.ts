/** The log of requests: method, path, status, time, request id, identity, with traces the ids of the span. Never a query string, a body or a token. */
import type { Logger } from 'pino';
import type { Exchange } from './exchange.ts';

/** Levels by outcome; `silent` leaves an outcome out. */
export interface AccessLogOptions {
  /** Answers below 400; default `debug`. */
  readonly success?: AccessLevel;
  /** 4xx; default `info`. */
  readonly refusal?: AccessLevel;
  /** 5xx; default `error`. */
  readonly failure?: AccessLevel;
}

export type AccessLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

export class AccessLog {
  readonly #logger: Logger;
  readonly #success: AccessLevel;
  readonly #refusal: AccessLevel;
  readonly #failure: AccessLevel;

  constructor(logger: Logger, { success, refusal, failure }: Required<AccessLogOptions>) {
    this.#logger = logger;
    this.#success = success;
    this.#refusal = refusal;
    this.#failure = failure;
  }

  /** @param ms milliseconds from the head of the request to its answer */
  finished(exchange: Exchange, status: number, ms: number): void {
    const level = status < 400 ? this.#success : status < 500 ? this.#refusal : this.#failure;
    if (level === 'silent' || !this.#logger.isLevelEnabled(level)) return;
    const { method, path, id: requestId, identity, span } = exchange;
    this.#logger[level](
      { method, path, status, ms: Math.round(ms * 1000) / 1000, requestId, identity: identity?.name, ...span?.ids },
      'request',
    );
  }

  /** The reason behind a 500. */
  unexpected(exchange: Exchange, error: unknown): void {
    const { method, path, id: requestId, span } = exchange;
    this.#logger.error({ err: error, method, path, requestId, ...span?.ids }, 'unexpected error');
  }
}
