/** `ModelState`: what the service keeps of each model of a plugin, as an object that is listed, watched and permitted like any other. */
import type { Contract } from '../model/contract.ts';
import { defineModel } from '../model/define.ts';
import type { Model } from '../model/model-type.ts';
import type { Metadata } from '../model/object.ts';
import { Type } from '../model/type.ts';
import { modelStateKind } from './kind.ts';
import type { ServingReplica } from './replicas.ts';

export interface Sample {
  names: readonly string[];
  pointer: string;
  keyword: string;
  message: string;
}

/** Stored objects that something is wrong with, and the first of them. */
interface Found {
  failing: number;
  samples: readonly Sample[];
}

/** The rewrite of stored objects to the storage version. */
export interface Migration extends Found {
  /** Objects that are as they should be, of how many there were when it began. */
  done: number;
  total: number;
  /** Objects up to this one are done: the revision of its creation. */
  after: number;
  /** Whose revisions these are; absent: the default store. */
  store?: string;
  /** From here on, neither an object nor the change log has another version; absent before all objects are rewritten. */
  revision?: number;
}

/** What `evolution.migrate` of the active declaration does with stored objects; `failing` are those that it leaves. */
export interface ContentMigration extends Found {
  /** Objects that are as they should be, of how many there were when it began. */
  done: number;
  total: number;
  /** Those of them that were changed. */
  changed: number;
  /** Objects up to this one are done: the revision of its creation. */
  after: number;
  /** Whose revisions these are; absent: the default store. */
  store?: string;
  /** Absent before the end. */
  isOver?: boolean;
}

export type Finalize = 'auto' | 'hold' | 'now' | 'rollback';

export interface ModelStateObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: { onInvalid?: 'refuse' | 'degrade'; finalize?: Finalize };
  status?: {
    model: { group: string; kind: string; plural: string };
    /** The model generation. */
    generation: number;
    contractHash: string;
    contract: Contract;
    storageVersion: string;
    /** Versions that objects, or what the change log has of them, may be in. */
    storedVersions?: readonly string[];
    /** The storage version before this one, to which a rollback goes. */
    formerVersion?: string;
    /** When the hub becomes the storage version, RFC 3339. */
    finalizesAt?: string;
    migration?: Migration;
    contentMigration?: ContentMigration;
    /** Why the last rollback was refused. */
    rollback?: Found;
    /** Stored objects that the active contract refuses. */
    degraded?: Found;
    /** Those that serve the model, on a store that several share. A moment late. */
    replicas?: readonly ServingReplica[];
    /** Its unique indexes: of one that is being claimed, older objects may share a value. */
    indexes?: readonly { name: string; state: 'building' | 'claiming' | 'enforced' }[];
    /** A declaration that was refused, or waits for replicas with another one. */
    pending?: Found & {
      hash: string;
      class: string;
      waitsFor?: readonly string[];
    };
  };
}

export type Status = NonNullable<ModelStateObject['status']>;

const finalizeText = `Whether the hub becomes the storage version: auto (default), when the time of the declaration is over; hold: not; now: at once, then auto; rollback: the storage version of before becomes the one again, then hold.`;

/** `modelstates` in `plugin.<reserved domain>/v1alpha1`. */
export function modelStateModel(reservedDomain: string): Model<ModelStateObject> {
  const sample = Type.Object({
    names: Type.Array(Type.String()),
    pointer: Type.String(),
    keyword: Type.String(),
    message: Type.String(),
  });
  const found = { failing: Type.Integer({ minimum: 0 }), samples: Type.Array(sample) };
  const store = Type.Optional(
    Type.String({ description: 'The store to which the revisions belong; absent: the default one.' }),
  );
  const count = (description: string) => Type.Integer({ minimum: 0, description });
  return defineModel({
    gvk: modelStateKind(reservedDomain),
    naming: 'kubernetes',
    subresources: { status: true },
    spec: Type.Object({
      onInvalid: Type.Optional(
        Type.Enum(['refuse', 'degrade'], {
          description: 'Wins over the declaration: whether a plugin starts when stored objects would become invalid.',
        }),
      ),
      finalize: Type.Optional(Type.Enum(['auto', 'hold', 'now', 'rollback'], { description: finalizeText })),
    }),
    status: Type.Object({
      model: Type.Object({ group: Type.String(), kind: Type.String(), plural: Type.String() }),
      generation: Type.Integer({
        minimum: 1,
        description: 'Grows with each contract that becomes active, and each other storage version.',
      }),
      contractHash: Type.String({ description: 'SHA-256 of the contract as canonical JSON.' }),
      contract: { description: 'The declaration that is active.' } as never,
      storageVersion: Type.String({ description: 'The version in which objects are written.' }),
      storedVersions: Type.Optional(
        Type.Array(Type.String(), {
          description: 'Versions that stored objects, or what the change log has of them, may be in.',
        }),
      ),
      formerVersion: Type.Optional(
        Type.String({ description: 'The storage version of before, to which a rollback goes.' }),
      ),
      finalizesAt: Type.Optional(
        Type.String({ format: 'date-time', description: 'When the hub becomes the storage version.' }),
      ),
      migration: Type.Optional(
        Type.Object(
          {
            done: count('Objects that are in the storage version.'),
            total: count('Objects that there were when it began.'),
            after: count('Objects are done up to this one: the revision of its creation.'),
            store,
            ...found,
            revision: Type.Optional(
              count('From here on, neither objects nor the change log have another version; absent before the end.'),
            ),
          },
          { description: 'The rewrite of stored objects to the storage version, and objects that it left.' },
        ),
      ),
      contentMigration: Type.Optional(
        Type.Object(
          {
            done: count('Objects that are as they should be.'),
            total: count('Objects that there were when it began.'),
            changed: count('Those of them that were changed.'),
            after: count('Objects are done up to this one: the revision of its creation.'),
            store,
            ...found,
            isOver: Type.Optional(Type.Boolean({ description: 'Absent before the end.' })),
          },
          { description: 'What evolution.migrate changes in stored objects, and objects that it left.' },
        ),
      ),
      rollback: Type.Optional(
        Type.Object(found, { description: 'Objects for which the last rollback was refused: it would lose content.' }),
      ),
      replicas: Type.Optional(
        Type.Array(
          Type.Object({
            name: Type.String(),
            supports: Type.String({ description: 'Hash of the contract that it declares.' }),
            since: Type.Optional(Type.String({ format: 'date-time' })),
          }),
          { description: 'Replicas that serve the model; absent on a store with one process.' },
        ),
      ),
      indexes: Type.Optional(
        Type.Array(Type.Object({ name: Type.String(), state: Type.Enum(['building', 'claiming', 'enforced']) }), {
          description: 'The unique indexes, those of the pending declaration among them.',
        }),
      ),
      degraded: Type.Optional(Type.Object(found, { description: 'Stored objects that the active contract refuses.' })),
      pending: Type.Optional(
        Type.Object(
          {
            hash: Type.String(),
            class: Type.String(),
            ...found,
            waitsFor: Type.Optional(
              Type.Array(Type.String(), { description: 'Replicas that declare another contract.' }),
            ),
          },
          { description: 'A declaration that was refused or waits, and why.' },
        ),
      ),
    }),
  }) as unknown as Model<ModelStateObject>;
}
