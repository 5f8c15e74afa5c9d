/** Who sets which field, on the write path (docs/decisions/server-side-apply.md). */
import type { Applied, Applying, Conflict, Fields } from '../apply/apply.ts';
import { apply, contentOf, managedFields, update } from '../apply/apply.ts';
import type { Owner } from '../apply/managers.ts';
import { sentEntries, shownManager } from '../apply/managers.ts';
import { Pace } from '../apply/pace.ts';
import { invalid, KindredError, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { ExtensionObject, ManagedFieldsEntry, Metadata } from '../model/object.ts';
import { andThen } from '../runtime/and-then.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';
import { isEqual } from '../schema/json-value.ts';
import type { MaybePromise } from '../store/store.ts';
import type { RegisteredModel } from './registered-model.ts';
import type { Rules } from './rules.ts';
import type { WriteOptions } from './write.ts';

/** Of writes that name no manager, on objects that have managers. */
const nativeManager = 'kindred';

const ambiguous = localized('is not told apart from the other items: its keys are missing, or those of another');

/** Characters of a field's path that an error shows. */
const shownPath = 1_000;

/** What an apply makes of an object. */
export type AppliedFields = Extract<Applied, { readonly content: Fields }>;

/** Which manager writes, by which sub-resource, and what it says of all managers. */
export type FieldWriter = Pick<WriteOptions, 'manager' | 'subresource' | 'managedFields'>;

export interface FieldManagersOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Bytes of one object. */
  readonly objectBytes: number;
}

export class FieldManagers {
  readonly #model: RegisteredModel;
  readonly #options: FieldManagersOptions;

  constructor(model: RegisteredModel, options: FieldManagersOptions) {
    this.#model = model;
    this.#options = options;
  }

  /**
   * What the object becomes, as far as its fields go, and their owners.
   * @param rules whose schema says how lists and objects are merged
   * @param live undefined: there is none
   * @throws FieldConflict, Invalid, PayloadTooLarge
   */
  async applied(
    rules: Rules,
    live: { readonly content: Fields; readonly entries: readonly ManagedFieldsEntry[] } | undefined,
    body: ExtensionObject,
    applying: Pick<Applying, 'manager' | 'conflicts' | 'written' | 'adopts'> & Pick<FieldWriter, 'subresource'>,
    slice: TimeSlice,
  ): Promise<AppliedFields> {
    const { apiVersion } = this.#model;
    const work = apply(
      live?.content,
      live?.entries ?? [],
      fieldsOf(body, rules, applying),
      rules.jsonSchema as Fields,
      {
        ...applying,
        apiVersion,
        // Beside the fields of the body, those that it changes and those that the object had are looked at.
        limit: 4 * this.#options.objectBytes,
      },
    );
    const applied = await slice.run(work);
    if (applied.ambiguous !== undefined)
      throw invalid([violation(applied.ambiguous, 'x-kubernetes-list-type', ambiguous)]);
    if (applied.conflicts) throw fieldConflict(applied.conflicts, applied.omitted);
    return applied;
  }

  /**
   * The managers after a write: those that are there when nothing changes.
   * @param before undefined: the object is new
   * @param owners after an apply; otherwise the write is an update
   */
  entries(
    rules: Rules,
    before: ExtensionObject | undefined,
    after: ExtensionObject,
    isSame: boolean,
    owners: readonly Owner[] | undefined,
    { manager, subresource, managedFields: sent = [] }: FieldWriter,
    slice: TimeSlice,
  ): MaybePromise<readonly ManagedFieldsEntry[]> {
    const stored = before?.metadata.managedFields ?? [];
    const made = (entries: readonly ManagedFieldsEntry[]): MaybePromise<readonly ManagedFieldsEntry[]> => {
      if (!owners && (isSame || (entries.length === 0 && manager === undefined))) return entries;
      const writer = {
        manager: manager ?? nativeManager,
        operation: 'Update',
        apiVersion: rules.apiVersion,
        ...(subresource && { subresource }),
      } as const;
      const fields = rules.jsonSchema as Fields;
      const now = owners ?? slice.run(update(before && contentOf(before), contentOf(after), entries, fields, writer));
      return andThen(now, (now) => slice.run(managedFields(entries, now, !isSame, this.#options.now())));
    };
    if (isEqual(sent, stored)) return made(stored);
    return slice.run(sentEntries(sent, new Pace())).then((given) => made(given ?? stored));
  }
}

/** What of a body an apply may set: the status by its own routes alone, where it has some. */
function fieldsOf(
  body: ExtensionObject,
  { hasStatus }: Rules,
  { subresource }: Pick<FieldWriter, 'subresource'>,
): Fields {
  if (subresource === 'status') return body.status === undefined ? {} : { status: body.status };
  const { status: _status, ...rest } = body;
  return contentOf(hasStatus ? rest : body);
}

/** The object with these managers. */
export function managedBy(object: ExtensionObject, entries: readonly ManagedFieldsEntry[]): ExtensionObject {
  const before = object.metadata.managedFields;
  if (before === entries || (entries.length === 0 && before === undefined)) return object;
  const { managedFields: _before, ...rest } = object.metadata;
  const metadata: Metadata = entries.length === 0 ? rest : { ...rest, managedFields: [...entries] };
  return { ...object, metadata };
}

function fieldConflict(conflicts: readonly Conflict[], omitted: number): KindredError {
  const named = conflicts.map(({ owner, field }) => {
    const { manager, operation, apiVersion, subresource } = owner;
    const path = field.length <= shownPath ? field : `${field.slice(0, shownPath).toWellFormed()}…`;
    return {
      manager,
      operation,
      apiVersion,
      ...(subresource !== undefined && { subresource }),
      field: path,
      message: `conflict with ${shownManager(owner)}`,
    };
  });
  const count = conflicts.length + omitted;
  const [first] = named;
  const inEnglish = count === 1 ? `${first!.message}: ${first!.field}` : byManager(named);
  const text = {
    en: `Apply failed with ${count} ${count === 1 ? 'conflict' : 'conflicts'}: ${inEnglish}`,
    zh: `应用失败，有 ${count} 处冲突：${inEnglish}`,
  };
  return new KindredError('FieldConflict', text, { conflicts: named, ...(omitted > 0 && { omitted }) });
}

/** The fields of each manager below its name. */
function byManager(conflicts: readonly { readonly message: string; readonly field: string }[]): string {
  const groups = Object.groupBy(conflicts, ({ message }) => message.replace('conflict with', 'conflicts with'));
  return Object.entries(groups)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([manager, own = []]) => [`${manager}:`, ...own.map(({ field }) => `- ${field}`)].join('\n'))
    .join('\n');
}
