/**
 * What knowing the caller and asking the authoriser adds to a request, with few roles and with many.
 *
 * `node bench/auth.ts`
 */

import { Authenticator } from '../src/auth/authentication/authenticator.ts';
import { JwtAuthenticator } from '../src/auth/authentication/jwt.ts';
import { SessionCookie } from '../src/auth/authentication/session-cookie.ts';
import { digestOf, newToken, Tokens } from '../src/auth/authentication/tokens.ts';
import { roleKeys } from '../src/auth/authorization/keys.ts';
import { Rbac } from '../src/auth/authorization/rbac.ts';
import type { Access, Identity } from '../src/resource/access.ts';

const rounds = 300_000;

for (const roles of [10, 1_000, 10_000]) {
  const rbac: Rbac = new Rbac({
    keys: roleKeys('platform.run'),
    now: Date.now,
    timers: { after: () => () => {} },
    current: (principal) => tokens.current(principal),
    owned: () => [],
    logger: { warn: () => {} },
  });
  const tokens = new Tokens(() => rbac, Date.now);
  const object = (kind: string, name: string, rest: object) => ({
    apiVersion: 'v1alpha1',
    kind,
    metadata: { name },
    ...rest,
  });
  for (let i = 0; i < roles; i++) {
    const rules = [{ apiGroups: [`g${i % 50}.example`], resources: [`things${i}`], verbs: ['get', 'list', 'watch'] }];
    rbac.setRole(`role-${i}`, object('Role', `role-${i}`, { rules }));
    const subjects = [{ kind: 'User', name: 'ada' }];
    rbac.setBinding(
      `b-${i}`,
      object('RoleBinding', `b-${i}`, { roleRef: { kind: 'Role', name: `role-${i}` }, subjects }),
      1,
    );
  }
  const token = newToken();
  tokens.set(
    't',
    object('PersonalAccessToken', 't', {
      spec: { user: 'ada' },
      status: { hash: digestOf(token), maker: 'impersonator' },
    }),
    1,
  );
  const authenticator = new Authenticator({
    cookie: new SessionCookie({ scheme: 'http', insecure: false }),
    tokens,
    jwt: new JwtAuthenticator([], Date.now, () => false),
    current: () => undefined,
    logger: { error: () => {} },
  });
  const request = { method: 'GET', url: '/', headers: { authorization: `Bearer ${token}` } };
  const accesses = Array.from(
    { length: Math.min(roles, 50) },
    (_, i): Access => ({ verb: 'get', group: `g${i}.example`, resource: `things${i}`, name: 'x' }),
  );
  const both = (i: number) =>
    rbac.decide(authenticator.authenticate(request) as Identity, accesses[i % accesses.length]!).allowed;
  const identity = authenticator.authenticate(request) as Identity;
  const figures = {
    authenticate: nanoseconds(() => authenticator.authenticate(request) !== undefined),
    decide: nanoseconds((i) => rbac.decide(identity, accesses[i % accesses.length]!).allowed),
    together: nanoseconds(both),
  };
  console.log(`${roles} roles bound to the caller: ${JSON.stringify(figures)} ns for each request`);
}

/** Of one call, the median of five rounds. */
function nanoseconds(call: (i: number) => boolean): number {
  const measured: number[] = [];
  for (let round = 0; round < 6; round++) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < rounds; i++) if (!call(i)) throw new Error('must be allowed');
    measured.push(Number(process.hrtime.bigint() - start) / rounds);
  }
  return Math.round(measured.slice(1).sort((a, b) => a - b)[2]!);
}
