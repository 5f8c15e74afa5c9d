import type { Model } from 'kindred';
import { defineModel, Type } from 'kindred';
import type { Timers } from '../../src/runtime/timers.ts';

const gvk = { group: 'evolving.example.com', version: 'v1', kind: 'Item', singular: 'item', plural: 'items' };
const common = { value: Type.String(), code: Type.Optional(Type.String()) };
const evolution = { onInvalid: 'degrade' } as const;

const version = (own: object, unique: boolean): Model<any> =>
  defineModel({
    gvk,
    evolution,
    spec: Type.Object({ ...common, ...own }),
    // Without the index, a version could not serve beside one in which it is unique.
    indexes: (index) => [index.single('spec.code', String, (item) => item.spec.code, { unique })],
  });

/** A code as v2 has it: the same function of an index gives another value there. */
export const inV2 = (code: string) => `#${code}`;
export const inV1 = (code: string) => code.slice(1);
const withCode = (code: string | undefined) => (code === undefined ? {} : { code });

/** Its hub has a part that v1 cannot say, and other codes. It is finalized soon, in 3 seconds of the quick clock. */
const split: Model<any> = defineModel({
  gvk: { ...gvk, version: 'v2' },
  evolution: { ...evolution, finalizeAfter: '30s' },
  spec: Type.Object({
    text: Type.Object({ value: Type.String(), extra: Type.Optional(Type.String()) }),
    code: Type.Optional(Type.String()),
  }),
  versions: {
    v1: {
      spec: Type.Object(common),
      toHub: ({ value, code }) => ({ ...withCode(code && inV2(code)), text: { value } }),
      fromHub: ({ text: { value }, code }) => ({ ...withCode(code && inV1(code)), value }),
    },
  },
  indexes: (index) => [index.single('spec.code', String, (item) => item.spec.code, { unique: false })],
});

/**
 * The versions of one plugin: each has a member that no other has, one of them lets no two objects share a code, and one
 * has another hub.
 */
export const versions: Readonly<Record<string, Model<any>>> = {
  plain: version({}, false),
  note: version({ note: Type.Optional(Type.String()) }, true),
  rank: version({ rank: Type.Optional(Type.String()) }, false),
  split,
};

/** The member that a version alone has. */
export const ownMembers = ['note', 'rank'] as const;

export const itemsPath = (apiVersion: string): string => `/apis/evolving.example.com/${apiVersion}/items`;
export const statePath = '/apis/plugin.platform.run/v1alpha1/modelstates/items.evolving.example.com';

/** The clock of the replicas goes this much faster, so that what a dead one said runs out in a second. */
const speed = 10;

export const quickTimers: Timers = {
  now: () => Date.now() * speed,
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds / speed);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
