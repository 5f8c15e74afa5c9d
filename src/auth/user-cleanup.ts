/**
 * What is left of a deleted user goes too: its tokens, and its place in role bindings. Until that is stored, the
 * authoriser ignores what is older than the deletion, so that no grant comes back to life with a new user of the name.
 */
import { ifFound, KindredError } from '../errors.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { Logger } from '../runtime/logger.ts';
import type { TaskQueue } from '../runtime/task-queue.ts';
import type { Timers } from '../runtime/timers.ts';
import type { Tokens } from './authentication/tokens.ts';
import type { Rbac } from './authorization/rbac.ts';
import { PersonalAccessToken, RoleBinding } from './models.ts';
import { reportedTasks } from './outage-log.ts';

export interface UserCleanupDependencies {
  readonly rbac: Rbac;
  readonly tokens: Tokens;
  /** Acts as the service itself. */
  readonly client: ExtensionClient;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'warn'>;
}

const unknownMakers =
  'Some tokens are from before it was kept who made them; revoke those that nobody knows, and make the others anew';

export class UserCleanup {
  readonly #dependencies: UserCleanupDependencies;
  /** By user and by token. */
  readonly #tasks: TaskQueue;

  constructor(dependencies: UserCleanupDependencies) {
    this.#dependencies = dependencies;
    this.#tasks = reportedTasks(dependencies, {
      begins: 'What a deleted user was granted cannot be removed at the moment; trying until it can',
      over: 'What deleted users were granted is removed',
    });
  }

  /** A user was deleted, with this revision. */
  onDeleted(user: string, revision: number): void {
    this.#tasks.add(`user ${user}`, async () => {
      for (const binding of this.#dependencies.rbac.bindingsOf('User', user))
        await this.#unbind(binding, user, revision);
      for (const token of this.#dependencies.tokens.ofUser(user)) {
        if (!this.#dependencies.tokens.isAlive(token.hash)) await this.#delete(token.name);
      }
      this.#dependencies.rbac.forgetDeparted(user, revision);
    });
  }

  /**
   * A user of this name exists now. Tokens that somebody made who could impersonate the name belong to it from here on; those
   * that somebody of the same name made for themselves, known by a JWT then, go.
   */
  onCreated(user: string): void {
    const created = this.#dependencies.rbac.user(user)?.created;
    for (const token of this.#dependencies.tokens.ofUser(user)) {
      if (token.userCreated !== undefined) continue;
      if (token.maker !== 'impersonator') this.#revoke(token.name);
      else if (this.#dependencies.tokens.isAlive(token.hash)) {
        const bind = { status: { userCreated: created } };
        this.#tasks.add(`token ${token.name}`, () =>
          ifFound(() => this.#dependencies.client.patch(PersonalAccessToken, token.name, bind)),
        );
      }
    }
  }

  /** After a start: what a process that died left undone, and tokens from before it was known who made them. */
  resume(): void {
    const { rbac, tokens, logger } = this.#dependencies;
    const users = new Set<string>();
    const unknown: string[] = [];
    for (const token of tokens.all()) {
      if (token.userCreated === undefined && token.maker !== undefined) users.add(token.user);
      else if (token.userCreated === undefined || rbac.user(token.user)?.created !== token.userCreated) {
        this.#revoke(token.name);
      } else if (token.maker === undefined) unknown.push(token.name);
    }
    for (const user of users) if (rbac.user(user)) this.onCreated(user);
    if (unknown.length > 0) logger.warn({ count: unknown.length, tokens: unknown.slice(0, 20) }, unknownMakers);
  }

  /** Resolves when everything was tried; what failed is tried again. */
  tried(): Promise<void> {
    return this.#tasks.tried();
  }

  stop(): Promise<void> {
    return this.#tasks.stop();
  }

  #revoke(token: string): void {
    this.#tasks.add(`token ${token}`, () => this.#delete(token));
  }

  async #unbind(name: string, user: string, revision: number): Promise<void> {
    for (;;) {
      const binding = await this.#dependencies.client.fetch(RoleBinding, name);
      if (!binding) return;
      if (!this.#dependencies.rbac.isBoundSince(name, user, revision)) return;
      const subjects = binding.subjects?.filter((one) => !(one.kind === 'User' && one.name === user)) ?? [];
      try {
        await this.#dependencies.client.update(RoleBinding, { ...binding, subjects });
        return;
      } catch (error) {
        if (!(error instanceof KindredError && ['VersionConflict', 'NotFound'].includes(error.code))) throw error;
      }
    }
  }

  async #delete(token: string): Promise<void> {
    await ifFound(() => this.#dependencies.client.delete(PersonalAccessToken, token));
  }
}
