/** What the built-in models do at a write and how they are shown (docs/reference/permissions.md). */
import { LRUCache } from 'lru-cache';
import type { ExtensionObject } from '../model/object.ts';
import type { Caller } from '../resource/access.ts';
import { withoutValues } from '../resource/hidden.ts';
import type { ModelHooks } from '../resource/hooks.ts';
import type { TokenSpec, TokenStatus } from './authentication/tokens.ts';
import { digestOf, newToken } from './authentication/tokens.ts';
import type { WriteCheck, WriteChecks } from './authorization/escalation.ts';
import { isOwn } from './authorization/escalation.ts';
import type { Rbac } from './authorization/rbac.ts';

export interface HookDependencies {
  readonly rbac: Rbac;
  readonly checks: WriteChecks;
  /** Resolves once what was acknowledged anywhere is known here; undefined when it already is. */
  readonly current: () => Promise<void> | undefined;
  readonly random: (size: number) => Uint8Array;
}

/** By `<kind>.<group>`. */
export function builtInHooks(dependencies: HookDependencies): ReadonlyMap<string, ModelHooks> {
  const checked = (check: WriteCheck): ModelHooks => ({
    async prepareWrite(object, before, caller) {
      await dependencies.current();
      check(caller, before, object);
      return object;
    },
  });
  return new Map<string, ModelHooks>([
    ['User.', checked(dependencies.checks.user)],
    ['Role.', checked(dependencies.checks.role)],
    ['RoleBinding.', checked(dependencies.checks.binding)],
    ['PersonalAccessToken.', tokenHooks(dependencies)],
    ['Secret.', secretHooks],
  ]);
}

/** Tokens between their making and the answer that tells them; an answer that never comes leaves none behind for long. */
const untold = { max: 1_000, ttl: 60_000 };

function tokenHooks({ rbac, checks, current, random }: HookDependencies): ModelHooks {
  const told = new LRUCache<string, string>(untold);

  function created(object: ExtensionObject, caller: Caller): ExtensionObject {
    if (caller.origin === 'host' && (object.status as TokenStatus | undefined)?.session) return object;
    const token = newToken(random);
    const hash = digestOf(token);
    told.set(hash, token);
    const name = (object.spec as TokenSpec).user;
    const user = rbac.user(name);
    const maker = isOwn(caller, name) ? 'user' : 'impersonator';
    const status: TokenStatus = { hash, ...(user && { userCreated: user.created }), maker };
    return { ...object, status };
  }

  /** The hash stays whatever the update carries; the service alone binds a token to a User that came later. */
  function updated(object: ExtensionObject, before: ExtensionObject, caller: Caller): ExtensionObject {
    const status = before.status as TokenStatus;
    const next = object.status as TokenStatus | undefined;
    const binds = caller.origin === 'host' && status.userCreated === undefined && next?.userCreated !== undefined;
    return { ...object, status: binds ? { ...status, userCreated: next.userCreated } : status };
  }

  return {
    async prepareWrite(object, before, caller) {
      await current();
      checks.token(caller, before, object);
      return before ? updated(object, before, caller) : created(object, caller);
    },
    show(object, how) {
      const { status, ...rest } = object;
      const hash = (status as TokenStatus | undefined)?.hash;
      const token = how === 'created' && hash !== undefined ? told.get(hash) : undefined;
      if (token === undefined) return rest;
      told.delete(hash!);
      return { ...rest, status: { token } };
    },
  };
}

type Texts = Readonly<Record<string, string>>;

const secretHooks: ModelHooks = {
  hidesValues: true,
  prepareWrite(object) {
    const { stringData, ...rest } = object as ExtensionObject & { stringData?: Texts };
    if (stringData === undefined) return object;
    const encoded = Object.entries(stringData).map(
      ([key, text]) => [key, Buffer.from(text).toString('base64')] as const,
    );
    const data = Object.fromEntries([...Object.entries((rest.data as Texts | undefined) ?? {}), ...encoded]);
    return { ...rest, data };
  },
  show: (object, how) => (how === 'list' ? withoutValues(object) : object),
};
