/**
 * What is left of a deleted user goes too: its tokens, and its place in role bindings. Until that is stored, the
 * authoriser ignores what is older than the deletion, so that no grant comes back to life with a new user of the name.
 */
import { ifFound, KindredError } from '../errors.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Timers } from '../runtime/timers.ts';
import type { Tokens } from './authentication/tokens.ts';
import type { Rbac } from './authorization/rbac.ts';
import { PersonalAccessToken, RoleBinding } from './models.ts';
import { OutageLog } from './outage-log.ts';

export interface DepartedParts {
  readonly rbac: Rbac;
  readonly tokens: Tokens;
  /** Acts as the service itself. */
  readonly client: ExtensionClient;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'warn'>;
}

const retryDelay = 1_000;
const unknownMakers =
  'Some tokens are from before it was kept who made them; revoke those that nobody knows, and make the others anew';

export class Departed {
  readonly #parts: DepartedParts;
  readonly #running = new Set<Promise<void>>();
  readonly #waiting = new Set<() => void>();
  readonly #outage: OutageLog;
  #stopped = false;

  constructor(parts: DepartedParts) {
    this.#parts = parts;
    this.#outage = new OutageLog(parts.logger, {
      begins: 'What a deleted user was granted cannot be removed at the moment; trying until it can',
      over: 'What deleted users were granted is removed',
    });
  }

  /** A user was deleted, with this revision. */
  left(user: string, revision: number): void {
    this.#run(async () => {
      for (const binding of this.#parts.rbac.bindingsOf('User', user)) await this.#unbind(binding, user, revision);
      for (const token of this.#parts.tokens.ofUser(user)) {
        if (!this.#parts.tokens.isAlive(token.hash)) await this.#delete(token.name);
      }
      this.#parts.rbac.forgetDeparted(user, revision);
    });
  }

  /**
   * A user of this name exists now. Tokens that somebody made who could impersonate the name belong to it from here on; those
   * that somebody of the same name made for themselves, known by a JWT then, go.
   */
  came(user: string): void {
    const created = this.#parts.rbac.user(user)?.created;
    for (const token of this.#parts.tokens.ofUser(user)) {
      if (token.userCreated !== undefined) continue;
      if (token.maker !== 'impersonator') this.#run(() => this.#delete(token.name));
      else if (this.#parts.tokens.isAlive(token.hash)) {
        const bind = { status: { userCreated: created } };
        this.#run(() => ifFound(() => this.#parts.client.patch(PersonalAccessToken, token.name, bind)));
      }
    }
  }

  /** After a start: what a process that died left undone, and tokens from before it was known who made them. */
  resume(): void {
    const { rbac, tokens, logger } = this.#parts;
    const users = new Set<string>();
    const unknown: string[] = [];
    for (const token of tokens.all()) {
      if (token.userCreated === undefined && token.maker !== undefined) users.add(token.user);
      else if (token.userCreated === undefined || rbac.user(token.user)?.created !== token.userCreated) {
        this.#run(() => this.#delete(token.name));
      } else if (token.maker === undefined) unknown.push(token.name);
    }
    for (const user of users) if (rbac.user(user)) this.came(user);
    if (unknown.length > 0) logger.warn({ count: unknown.length, tokens: unknown.slice(0, 20) }, unknownMakers);
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#waiting) cancel();
    this.#waiting.clear();
    await this.settled();
  }

  #run(task: () => Promise<unknown>): void {
    if (this.#stopped) return;
    const running: Promise<void> = Promise.resolve()
      .then(task)
      .then(() => this.#outage.succeeded(task))
      .catch((error: unknown) => {
        if (this.#stopped) return;
        this.#outage.failed(task, error);
        const cancel = this.#parts.timers.after(retryDelay, () => {
          this.#waiting.delete(cancel);
          this.#run(task);
        });
        this.#waiting.add(cancel);
      })
      .then(() => {
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  async #unbind(name: string, user: string, revision: number): Promise<void> {
    for (;;) {
      const binding = await this.#parts.client.fetch(RoleBinding, name);
      if (!binding) return;
      if (!this.#parts.rbac.isBoundSince(name, user, revision)) return;
      const subjects = binding.subjects?.filter((one) => !(one.kind === 'User' && one.name === user)) ?? [];
      try {
        await this.#parts.client.update(RoleBinding, { ...binding, subjects });
        return;
      } catch (error) {
        if (!(error instanceof KindredError && ['VersionConflict', 'NotFound'].includes(error.code))) throw error;
      }
    }
  }

  async #delete(token: string): Promise<void> {
    await ifFound(() => this.#parts.client.delete(PersonalAccessToken, token));
  }
}
