/** Checked by the compiler alone (`npm run typecheck`): what may be left out of an object to be created, and what a filter takes. */
import type { ExtensionClient, Model, ModelType, New, NewOf, ObjectOf } from 'kindred';
import { AbstractExtension, defineModel, GVK, Schema, Type } from 'kindred';
import type { KindredClient } from 'kindred/client';
import { modelOf } from 'kindred/client';
import { z } from 'zod';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_equal: Equal<A, B>): void => {};

declare const client: ExtensionClient;
declare const remote: KindredClient;
const gvk = { group: 'todo.example.com', version: 'v1', kind: 'Todo', singular: 'todo', plural: 'todos' };
const metadata = { name: 'milk' };

// TypeBox, at every depth.
const Todo = defineModel({
  gvk,
  spec: Type.Object({
    title: Type.String({ minLength: 1 }),
    done: Type.Boolean({ default: false }),
    priority: Type.Integer({ default: 3, minimum: 1 }),
    colour: Type.Enum(['red', 'green'], { default: 'red' }),
    by: Type.Object({ name: Type.String(), role: Type.String({ default: 'guest' }) }),
    steps: Type.Array(Type.Object({ text: Type.String(), done: Type.Boolean({ default: false }) }), { default: [] }),
    prices: Type.Optional(
      Type.Record(Type.String(), Type.Object({ amount: Type.Number(), currency: Type.String({ default: 'EUR' }) })),
    ),
    either: Type.Union([Type.Literal('a'), Type.Literal(1)], { default: 'a' }),
    note: Type.Optional(Type.String({ default: '' })),
    place: Type.Intersect([
      Type.Object({ city: Type.String() }),
      Type.Object({ country: Type.String({ default: 'FR' }) }),
    ]),
    until: Type.Union([Type.Object({ day: Type.String(), hour: Type.Integer({ default: 9 }) }), Type.Null()]),
  }),
  status: Type.Object({ phase: Type.String() }),
  indexes: (index) => [
    index.single('spec.priority', Number, (todo) => todo.spec.priority),
    index.single('spec.title', String, (todo) => todo.spec.title),
    index.single('spec.done', Boolean, (todo) => todo.spec.done),
    index.multi('spec.due', Date, () => []),
    index.single('spec.size', BigInt, () => 1n),
  ],
});
type Todo = ObjectOf<typeof Todo>;

// What is stored has everything.
same<
  Todo['spec'],
  {
    title: string;
    done: boolean;
    priority: number;
    colour: 'red' | 'green';
    by: { name: string; role: string };
    steps: { text: string; done: boolean }[];
    prices?: Record<string, { amount: number; currency: string }>;
    either: 'a' | 1;
    note?: string;
    place: { city: string } & { country: string };
    until: { day: string; hour: number } | null;
  }
>(true);
same<NewOf<typeof Todo>['status'], { phase: string } | undefined>(true);

const spec: NewOf<typeof Todo>['spec'] = {
  title: 'Milk',
  by: { name: 'ada' },
  place: { city: 'Lyon' },
  until: { day: 'Monday' },
};
await client.create(Todo, { metadata, spec });
await client.create(Todo, {
  metadata,
  spec: { ...spec, done: true, steps: [{ text: 'Go' }], prices: { milk: { amount: 1 } } },
});
const stored: Todo = await client.create(Todo, { metadata, spec: { ...spec, until: null } });
stored.spec.done satisfies boolean;
await remote.create(Todo, { metadata, spec });
await remote.for(Todo).create({ metadata, spec });
remote.for(Todo).import([{ metadata, spec }, '{}']);
// @ts-expect-error a title has no default
await client.create(Todo, { metadata, spec: { by: { name: 'ada' } } });
// @ts-expect-error nor has the name within
await client.create(Todo, { metadata, spec: { ...spec, by: {} } });
// @ts-expect-error nor the text of a step
await client.create(Todo, { metadata, spec: { ...spec, steps: [{ done: true }] } });
// @ts-expect-error nor the city
await client.create(Todo, { metadata, spec: { ...spec, place: {} } });
// @ts-expect-error nor the day
await client.create(Todo, { metadata, spec: { ...spec, until: {} } });
// @ts-expect-error a default is no licence for another type
await client.create(Todo, { metadata, spec: { ...spec, done: 'yes' } });
// @ts-expect-error nor for an unknown member
await client.create(Todo, { metadata, spec: { ...spec, doen: true } });
// @ts-expect-error spec has no default
await client.create(Todo, { metadata });
// @ts-expect-error nor has metadata
await client.create(Todo, { spec });
// @ts-expect-error the same over HTTP
await remote.for(Todo).create({ metadata, spec: { by: { name: 'ada' } } });

// What is known by the object's type alone stays as it was.
const known: New<Todo> = { metadata, spec: stored.spec };
await client.create<Todo>(Todo, known);
export const generic = <T>(type: ModelType<T>, object: New<T>): Promise<T> => client.create(type, object);
export const models: Model<any>[] = [Todo];
export const typed: ModelType<Todo> = Todo;
// @ts-expect-error another model's objects
export const wrong: ModelType<{ metadata: { name: number } }> = Todo;

// A spec with a default as a whole.
const Settings = defineModel({ gvk, spec: Type.Object({ dark: Type.Boolean({ default: false }) }, { default: {} }) });
await client.create(Settings, { metadata });
same<ObjectOf<typeof Settings>['spec'], { dark: boolean }>(true);

// Without the spec wrapper.
const Post = defineModel({ gvk, schema: Type.Object({ title: Type.String(), views: Type.Integer({ default: 0 }) }) });
await client.create(Post, { metadata, title: 'One' });
// @ts-expect-error a title has no default
await client.create(Post, { metadata, views: 1 });

// Plain JSON Schema.
const Plain = defineModel({
  gvk,
  spec: {
    type: 'object',
    properties: { name: { type: 'string' }, level: { enum: ['low', 'high'], default: 'low' } },
    required: ['name', 'level'],
  },
});
await client.create(Plain, { metadata, spec: { name: 'x' } });
// @ts-expect-error a name has no default
await client.create(Plain, { metadata, spec: { level: 'low' } });

// Zod: stored as its output, sent as its input.
const Note = defineModel({
  gvk,
  spec: z.object({ text: z.string(), pinned: z.boolean().default(false), tags: z.array(z.string()).optional() }),
  status: z.object({ seen: z.boolean() }),
  indexes: (index) => [index.single('spec.text', String, (note) => note.spec.text)],
});
type Note = ObjectOf<typeof Note>;
same<Note['spec'], { text: string; pinned: boolean; tags?: string[] | undefined }>(true);
same<Note['status'], { seen: boolean } | undefined>(true);
await client.create(Note, { metadata, spec: { text: 'x' } });
// @ts-expect-error a text has no default
await client.create(Note, { metadata, spec: { pinned: true } });
const Loose = defineModel({ gvk, spec: z.object({ text: z.string() }).optional() });
await client.create(Loose, { metadata });

// The class form: a field that may be absent.
@GVK(gvk)
class Task extends AbstractExtension {
  @Schema({ type: 'boolean', default: false }) done?: boolean;
}
await client.create(Task, { metadata });
same<NewOf<typeof Task>, New<Task>>(true);

// Filters take values of the index.
const todos = remote.for(Todo);
await todos.list({ fields: { 'spec.priority': 1, 'spec.title': ['a', 'b'], 'spec.done': true } });
await todos.list({ fields: { 'spec.priority': { '>=': 1, '!=': [2, 3] }, 'spec.title': { '^=': 'a' }, name: 'milk' } });
await todos.list({ fields: { 'spec.due': { '<': new Date() }, 'spec.size': [1, 2n], 'spec.priority': null } });
await todos.count({ fields: { 'metadata.creationTimestamp': { '>': '2026-01-01T00:00:00Z' } } });
// @ts-expect-error a priority is a number
await todos.list({ fields: { 'spec.priority': 'x' } });
// @ts-expect-error in a list too
await todos.list({ fields: { 'spec.priority': [1, 'x'] } });
// @ts-expect-error and in a comparison
await todos.count({ fields: { 'spec.priority': { '>': '1' } } });
// @ts-expect-error a title is a text
todos.watch({ select: { fields: { 'spec.title': 1 } } });

// Without the module of the model, as in a browser.
const city = modelOf<typeof Todo>(gvk);
same<typeof city, typeof Todo>(true);
const byName = remote.for(city);
(await byName.get('milk')).spec.title satisfies string;
// @ts-expect-error a priority is a number
await byName.list({ fields: { 'spec.priority': 'x' } });
(await remote.get(modelOf<typeof Task>(gvk), 'a')).done satisfies boolean | undefined;
(await remote.get(modelOf(gvk), 'a')).spec satisfies unknown;
