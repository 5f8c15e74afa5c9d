/** A model whose next version has another hub, a unique index, and a function that changes stored objects. */
import type { Model, PluginContext } from 'kindred';
import { defineModel, definePlugin, Type } from 'kindred';

const gvk = { group: 'steps.example.com', version: 'v1', kind: 'Thing', singular: 'thing', plural: 'things' };
const first = Type.Object({ text: Type.String(), code: Type.Optional(Type.String()) });

export const First = defineModel({ gvk, spec: first });

export const Second = defineModel({
  gvk: { ...gvk, version: 'v2' },
  spec: Type.Object({
    parts: Type.Object({ head: Type.String(), tail: Type.Optional(Type.String()) }),
    code: Type.Optional(Type.String()),
  }),
  versions: {
    v1: {
      spec: first,
      toHub: ({ text, ...rest }) => ({ ...rest, parts: { head: text } }),
      fromHub: ({ parts, ...rest }) => ({ ...rest, text: parts.head }),
    },
  },
  indexes: (index) => [index.single('spec.code', String, (thing) => thing.spec.code, { unique: true })],
  evolution: {
    finalizeAfter: '1s',
    // Half of them.
    migrate: (thing) => {
      const { head } = thing.spec.parts;
      const at = head.indexOf('-');
      if (at < 0) return undefined;
      return { ...thing, spec: { ...thing.spec, parts: { head: head.slice(0, at), tail: head.slice(at + 1) } } };
    },
  },
});

export const pluginWith = (model: Model<any>) => ({
  name: 'things',
  plugin: definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(model) }),
});

export const statePath = '/apis/plugin.platform.run/v1alpha1/modelstates/things.steps.example.com';
