/** A model whose second version stores its objects otherwise. */
import type { Model, PluginContext } from 'kindred';
import { createService, defineModel, definePlugin, Type } from 'kindred';
import pino from 'pino';

const gvk = { group: 'notes.example.com', version: 'v2', kind: 'Note', singular: 'note', plural: 'notes' };
const firstSpec = Type.Object({ text: Type.String(), count: Type.Integer() });
const First = defineModel({ gvk: { ...gvk, version: 'v1' }, spec: firstSpec });
export const Second = defineModel({
  gvk,
  spec: Type.Object({ body: Type.Object({ lines: Type.Array(Type.String()) }), count: Type.Integer() }),
  versions: {
    v1: {
      spec: firstSpec,
      toHub: ({ text, count }) => ({ body: { lines: text.split('\n') }, count }),
      fromHub: ({ body, count }) => ({ text: body.lines.join('\n'), count }),
    },
  },
  indexes: (index) => [index.single('spec.count', Number, (note) => note.spec.count)],
});

/** @param rate objects that are rewritten in a second */
export function serviceWith(version: 'v1' | 'v2', database: string, rate: number) {
  const model: Model<any> = version === 'v1' ? First : Second;
  return createService({
    database,
    port: 0,
    auth: false,
    logger: pino({ level: 'silent' }),
    changeLog: { maxCount: 10_000_000 },
    modelRewrite: { rate },
    indexSnapshots: { enabled: false },
    plugins: [
      {
        name: 'notes',
        plugin: definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(model) }),
      },
    ],
  });
}
