/** Who acts, and what the one authoriser answers. The rules themselves live in `auth/`. */

/** Who acts. */
export interface Identity {
  /** Of a user, a plugin or the service itself. */
  readonly name: string;
  /** Names of roles; what these allow is looked up at each decision. */
  readonly roles: readonly string[];
}

/**
 * A write's origin decides about reserved label and annotation keys (docs/reference/objects.md): `http` a client,
 * `plugin` a plugin's own client, `host` the service itself.
 */
export interface Caller {
  readonly identity: Identity;
  readonly origin: 'http' | 'plugin' | 'host';
  /** Name of the plugin with origin `plugin`. */
  readonly plugin?: string;
  /** Whose fields the write sets, where that was said. */
  readonly manager?: string;
  /** With origin `http`: of the request, for the audit log. */
  readonly requestId?: string;
  /** With origin `http`: of the other end of the connection. */
  readonly address?: string;
}

/** What is about to be done: a verb on a resource (`resource` is the plural, `persons/status` with a sub-resource), or on a path. */
export type Access =
  | {
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      /** Of an object of a namespaced model, or of a collection; none: all of them. `someNamespace`: any one will do. */
      readonly namespace?: string;
      readonly name?: string;
    }
  | { readonly verb: string; readonly path: string };

/** Asks whether something is allowed in some namespace at least, to tell who is to know of a model at all. */
export const someNamespace = '*';

/** Whether the caller at hand may do something. */
export type MayUse = (access: Access) => boolean;

/** `names`: only these objects (a rule with `resourceNames`); a list holds and counts them alone. */
export type Decision =
  | { readonly allowed: true; readonly names?: ReadonlySet<string>; readonly reason: string }
  | { readonly allowed: false; readonly reason: string };

export interface Authorizer {
  decide(identity: Identity, access: Access): Decision;
  /** Called when what anybody may do could have changed (open watches look again). */
  onChange(listener: () => void): () => void;
}

/** Somebody who caused what goes on without them, as it is kept with it. */
export interface Author {
  readonly kind: 'User' | 'Plugin' | 'System';
  readonly name: string;
  /** creationTimestamp of the User, when there was one: another User of the name is somebody else. */
  readonly created?: string;
}

export interface Authors {
  of(caller: Caller): Author;
  /** What the author may do now, by the roles that are bound to the name: no credential is at hand. */
  decide(author: Author, access: Access): Decision;
}

export const system: Caller = { identity: { name: 'system', roles: ['super-role'] }, origin: 'host' };

/** Everything is allowed: the service without authentication. */
export const allowAll: Authorizer = {
  decide: () => ({ allowed: true, reason: 'authentication is off' }),
  onChange: () => () => {},
};
