/** Role templates: for every registered model one Role to look at its objects and one to manage them (docs/reference/permissions.md). */
import { createHash } from 'node:crypto';
import { KindredError } from '../errors.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Scheme } from '../model/scheme.ts';
import type { ExtensionClient } from '../resource/extension-client.ts';
import type { Logger } from '../runtime/logger.ts';
import type { TaskQueue } from '../runtime/task-queue.ts';
import type { Timers } from '../runtime/timers.ts';
import type { RoleKeys } from './authorization/keys.ts';
import type { Rule } from './authorization/rule.ts';
import { Role } from './models.ts';
import { reportedTasks } from './outage-log.ts';

export interface TemplateDependencies {
  readonly keys: RoleKeys;
  readonly registry: SchemeRegistry;
  /** Acts as the service itself. */
  readonly client: ExtensionClient;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'warn'>;
}

/** `view`: get, list, watch; `manage`: everything that is done to the objects. */
export type TemplateKind = 'view' | 'manage';

const kinds: readonly TemplateKind[] = ['view', 'manage'];
const longestName = 253;

/** `<plural>-<group with - for .>-<kind>`; `distinct` for a name that is too long or taken: ended by 8 hex digits of SHA-256 of `plural.group`. */
export function templateName(plural: string, group: string, kind: TemplateKind, distinct = false): string {
  const base = group === '' ? plural : `${plural}-${group.replaceAll('.', '-')}`;
  const name = `${base}-${kind}`;
  if (!distinct && name.length <= longestName) return name;
  const digest = createHash('sha256').update(`${plural}.${group}`).digest('hex').slice(0, 8);
  const end = `-${kind}-${digest}`;
  return base.slice(0, longestName - end.length) + end;
}

const looking = ['get', 'list', 'watch'];
/** Everything but `impersonate`: whoever manages users need not be able to act as each of them. */
const managingUsers = [...looking, 'create', 'update', 'patch', 'delete', 'explain'];

function templateRules({ plural, subresources, groupVersionKind: { group } }: Scheme, kind: TemplateKind): Rule[] {
  const verbs = kind === 'view' ? looking : group === '' && plural === 'users' ? managingUsers : ['*'];
  const parts = [`${plural}/status`, ...(subresources.scale ? [`${plural}/scale`] : [])];
  return [{ apiGroups: [group], resources: [plural, ...parts], verbs }];
}

export class Templates {
  readonly #dependencies: TemplateDependencies;
  /** By model. */
  readonly #tasks: TaskQueue;
  readonly #stopListening: readonly (() => void)[];

  constructor(dependencies: TemplateDependencies) {
    this.#dependencies = dependencies;
    const { registry } = dependencies;
    this.#tasks = reportedTasks(dependencies, {
      begins: 'The role templates cannot be stored at the moment; trying until they can',
      over: 'The role templates are stored',
    });
    this.#stopListening = [
      registry.onRegister((scheme) => this.#tasks.add(modelKey(scheme), () => this.#put(scheme))),
      registry.onReplace((scheme) => this.#tasks.add(modelKey(scheme), () => this.#put(scheme))),
      registry.onUnregister((scheme) => this.#tasks.add(modelKey(scheme), () => this.#remove(scheme))),
    ];
    for (const scheme of registry.schemes()) this.#tasks.add(modelKey(scheme), () => this.#put(scheme));
  }

  /** Resolves when the templates of every model registered so far are stored; what failed is tried again. */
  tried(): Promise<void> {
    return this.#tasks.tried();
  }

  /** From now on models go because the process ends: their templates stay. */
  drain(): void {
    for (const stop of this.#stopListening) stop();
  }

  async stop(): Promise<void> {
    this.drain();
    await this.#tasks.stop();
  }

  async #put(scheme: Scheme): Promise<void> {
    await Promise.all(
      kinds.map(async (kind) => {
        const { plural } = scheme;
        const { group } = scheme.groupVersionKind;
        for (const distinct of [false, true]) {
          if (await this.#putAs(templateName(plural, group, kind, distinct), scheme, kind)) return;
        }
        throw new Error(`both names for the template "${kind}" of ${modelKey(scheme)} are taken`);
      }),
    );
  }

  /** False when the name belongs to something else. */
  async #putAs(name: string, scheme: Scheme, kind: TemplateKind): Promise<boolean> {
    const { keys, client } = this.#dependencies;
    const template = {
      metadata: {
        name,
        labels: { [keys.template]: 'true' },
        annotations: { [keys.templateOf]: modelKey(scheme) },
      },
      rules: templateRules(scheme, kind) as Role['rules'],
    };
    for (;;) {
      const stored = await client.fetch(Role, name);
      if (stored && stored.metadata.annotations?.[keys.templateOf] !== modelKey(scheme)) return false;
      try {
        if (!stored) await client.create(Role, template);
        else {
          // Labels of the operators' own stay: a template may be made to count in another role.
          const labels = { ...stored.metadata.labels, ...template.metadata.labels };
          await client.update(Role, { ...stored, metadata: { ...stored.metadata, labels }, rules: template.rules });
        }
        return true;
      } catch (error) {
        if (!isLostRace(error)) throw error;
      }
    }
  }

  async #remove(scheme: Scheme): Promise<void> {
    const { keys, client } = this.#dependencies;
    const names = kinds.flatMap((kind) =>
      [false, true].map((distinct) => templateName(scheme.plural, scheme.groupVersionKind.group, kind, distinct)),
    );
    for (const name of new Set(names)) {
      const stored = await client.fetch(Role, name);
      if (stored?.metadata.annotations?.[keys.templateOf] !== modelKey(scheme)) continue;
      try {
        await client.delete(Role, name);
      } catch (error) {
        if (!isLostRace(error)) throw error;
      }
    }
  }
}

/** `persons.demo.example.com`; `users.` in the empty group. */
function modelKey(scheme: Scheme): string {
  return `${scheme.plural}.${scheme.groupVersionKind.group}`;
}

/** Another replica, or another model that wants the same name, was quicker. */
function isLostRace(error: unknown): boolean {
  return error instanceof KindredError && ['AlreadyExists', 'VersionConflict', 'NotFound'].includes(error.code);
}
