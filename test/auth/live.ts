/** A running service with its administrator, and people who send requests to it. */
import type { ServiceOptions } from '../../src/options.ts';
import type { Service } from '../../src/service.ts';
import { createService } from '../../src/service.ts';
import { until as untilTrue } from '../../src/testing/until.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when there is none. */
  readonly body: any;
}

/** Sends one request as somebody; `body` as JSON unless `type` says otherwise. */
export type Send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>;

export interface Live {
  readonly service: Service;
  readonly url: string;
  /** The administrator's. */
  readonly token: string | undefined;
  readonly admin: Send;
  readonly anonymous: Send;
  as(token: string): Send;
  /** Creates the user when absent, binds the roles, and gives a new token. */
  person(
    name: string,
    roles: readonly string[],
    token?: { roles?: string[]; expiresAt?: string },
  ): Promise<{ token: string; send: Send }>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function live(options: ServiceOptions = {}, register?: (service: Service) => void): Promise<Live> {
  const service = await createService({ database: 'sqlite::memory:', port: 0, ...options });
  register?.(service);
  const { url, administratorToken } = await service.start();
  const as = (token: string | undefined): Send => sender(url, token);
  const admin = as(administratorToken);
  return {
    service,
    url,
    token: administratorToken,
    admin,
    anonymous: as(undefined),
    as,
    async person(name, roles, token = {}) {
      await admin('POST', '/api/v1alpha1/users', { metadata: { name } });
      for (const role of roles) await expect(201, admin('POST', '/api/v1alpha1/rolebindings', bindingOf(role, name)));
      const path = '/api/v1alpha1/personalaccesstokens';
      const made = await expect(
        201,
        admin('POST', path, { metadata: { generateName: `${name}-` }, spec: { user: name, ...token } }),
      );
      return { token: made.body.status.token, send: as(made.body.status.token) };
    },
    [Symbol.asyncDispose]: () => service.stop(),
  };
}

export function bindingOf(role: string, user: string): object {
  return {
    metadata: { generateName: `${user}-` },
    roleRef: { kind: 'Role', name: role },
    subjects: [{ kind: 'User', name: user }],
  };
}

export function sender(url: string, token: string | undefined): Send {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
      // A watch that should be refused, and is not, has no end.
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    const json =
      response.headers.get('content-type')?.includes('json') &&
      !response.headers.get('content-type')!.includes('ndjson');
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text !== '' && json ? JSON.parse(text) : undefined,
    };
  };
}

export async function expect(status: number, answer: Promise<Answer>): Promise<Answer> {
  const known = await answer;
  if (known.status !== status) throw new Error(`expected ${status}, got ${known.status}: ${known.text}`);
  return known;
}

/** Waits for a state; fails after ten seconds. */
export async function until(condition: () => Promise<boolean> | boolean, what: string): Promise<void> {
  await untilTrue(condition, { what });
}
