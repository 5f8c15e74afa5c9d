import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roleKeys } from '../authorization/keys.ts';
import { Rbac } from '../authorization/rbac.ts';
import { digestOf, newToken, Tokens } from './tokens.ts';

const created = '2026-01-01T00:00:00.000Z';
const later = '2026-02-01T00:00:00.000Z';

interface Case {
  readonly name: string;
  readonly status: object;
  /** When the User of the name was made; none: there is none. */
  readonly user?: string;
  readonly disabled?: boolean;
  readonly counts: boolean;
}

const cases: readonly Case[] = [
  {
    name: 'made by its user, who is a User',
    status: { maker: 'user', userCreated: created },
    user: created,
    counts: true,
  },
  {
    name: 'of a User who is disabled',
    status: { maker: 'user', userCreated: created },
    user: created,
    disabled: true,
    counts: false,
  },
  { name: 'of a User who is gone', status: { maker: 'user', userCreated: created }, counts: false },
  {
    name: 'of an earlier User of the name',
    status: { maker: 'user', userCreated: created },
    user: later,
    counts: false,
  },
  { name: 'made by its user, who has no User', status: { maker: 'user' }, counts: true },
  {
    name: 'made by somebody of the name before there was a User',
    status: { maker: 'user' },
    user: later,
    counts: false,
  },
  { name: 'made by an impersonator, for a name without a User', status: { maker: 'impersonator' }, counts: true },
  {
    name: 'made by an impersonator before there was a User',
    status: { maker: 'impersonator' },
    user: later,
    counts: true,
  },
  { name: 'made by nobody known, for a User', status: { userCreated: created }, user: created, counts: true },
  { name: 'made by nobody known, for a name without a User', status: {}, counts: false },
  { name: 'made by nobody known before there was a User', status: {}, user: later, counts: false },
];

for (const { name, status, user, disabled, counts } of cases) {
  test(`permissions: a token ${name} ${counts ? 'counts' : 'does not count'}`, () => {
    const rbac: Rbac = new Rbac({
      keys: roleKeys('platform.run'),
      now: () => 0,
      timers: { after: () => () => {} },
      current: (principal) => tokens.current(principal),
      owned: () => [],
      logger: { warn: () => {} },
    });
    const tokens = new Tokens(
      () => rbac,
      () => 0,
    );
    const head = { apiVersion: 'v1alpha1', metadata: { name: 'ada', creationTimestamp: user } };
    if (user !== undefined) rbac.setUser('ada', { ...head, kind: 'User', spec: { disabled } }, 1);
    const token = newToken();
    const object = { spec: { user: 'ada' }, status: { hash: digestOf(token), ...status } };
    tokens.set('t', { ...head, kind: 'PersonalAccessToken', ...object }, 2);
    assert.equal(tokens.find(token) !== undefined, counts);
    assert.equal(tokens.isAlive(digestOf(token)), counts);
  });
}
