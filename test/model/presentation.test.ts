/** What a model says about its looks, in both forms of declaration, and the routes that are actions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AbstractExtension,
  defineModel,
  definePlugin,
  GroupVersion,
  GVK,
  KindredError,
  route,
  Schema,
  Scheme,
  Type,
} from 'kindred';
import { expect, live } from '../auth/live.ts';

const gvk = { group: 'library.example.com', version: 'v1alpha1', kind: 'Book', singular: 'book', plural: 'books' };
const presentation = {
  title: { en: 'Book', 'zh-CN': '图书' },
  description: 'What is read.',
  icon: 'book',
  columns: ['spec.title', 'spec.author.name', 'metadata.creationTimestamp', 'metadata.labels.shelf'],
  summary: 'spec.title',
};
const Author = Type.Object({ name: Type.String() });
const Book = (presented: unknown, extra: object = {}) =>
  defineModel({
    gvk,
    presentation: presented as typeof presentation,
    spec: Type.Object({
      title: Type.String(),
      author: Type.Optional(Type.Union([Author, Type.Object({ alias: Type.String() })])),
      prices: Type.Optional(Type.Record(Type.String(), Type.Number())),
      anything: Type.Optional(Type.Unknown()),
      ...extra,
    }),
    indexes: (index) => [index.single('initial', String, (book: any) => book.spec.title[0])],
  });

@GVK({ ...gvk, presentation: { title: 'Book', columns: ['spec.title'] } })
class ClassBook extends AbstractExtension {
  @Schema({
    type: {
      type: 'object',
      properties: { title: { type: 'string', 'x-multiline': true } },
    },
  })
  spec!: { title?: string };
  @Schema({
    type: 'string',
    title: 'Shelf',
    'x-titles': { 'zh-CN': '书架' },
    'x-reference': 'shelves.library.example.com',
  })
  shelf?: string;
}

test('a model in either form says what people see; the paths are those of indexes and members', () => {
  assert.deepEqual(Scheme.buildFromType(Book(presentation)).presentation, presentation);
  assert.equal(Scheme.buildFromType(Book(undefined)).presentation, undefined);
  const columns = ['initial', 'spec.author.alias', 'spec.prices.eur', 'spec.anything', 'metadata.name'];
  assert.deepEqual(Scheme.buildFromType(Book({ columns })).presentation, { columns });
  const scheme = Scheme.buildFromType(ClassBook);
  assert.deepEqual(scheme.presentation, { title: 'Book', columns: ['spec.title'] });
  const { shelf } = (scheme.jsonSchema as any).properties;
  assert.deepEqual(
    [shelf.title, shelf['x-titles'], shelf['x-reference']],
    ['Shelf', { 'zh-CN': '书架' }, 'shelves.library.example.com'],
  );
  assert.ok(!Scheme.buildFromType(Book(presentation)).sameAs(Scheme.buildFromType(Book(undefined))));
});

for (const [title, wrong, message] of [
  ['no object', 'Book', /"presentation" must be an object/],
  ['an unknown member', { colour: 'red' }, /knows no member "colour"/],
  ['a title that is none', { title: 1 }, /presentation\.title/],
  ['no language', { title: { english_: 'Book' } }, /presentation\.title/],
  ['no text in a language', { description: { en: '' } }, /presentation\.description/],
  ['columns that are no list', { columns: 'spec.title' }, /presentation\.columns/],
  ['a path to nothing', { columns: ['spec.title', 'spec.pages'] }, /presentation\.columns\[1\]" names "spec\.pages"/],
  ['a path below a text', { summary: 'spec.title.first' }, /presentation\.summary/],
  ['a member of every object', { summary: 'toString' }, /presentation\.summary/],
  ['several mistakes', { summary: 'no', icon: 1 }, /2 mistakes/],
] as const) {
  test(`registration refuses ${title}`, () => {
    assert.throws(
      () => Scheme.buildFromType(Book(wrong)),
      (error) => error instanceof KindredError && error.code === 'InvalidModel' && message.test(error.message),
    );
  });
}

for (const [keyword, right, wrong] of [
  ['x-multiline', true, 'yes'],
  ['x-reference', 'users', 'Users'],
  ['x-reference', 'cities.atlas.example.com', 'cities..com'],
  ['x-titles', { 'zh-CN': '题' }, { en: 1 }],
  ['x-descriptions', { en: 'Words' }, 'Words'],
] as const) {
  test(`the annotation ${keyword} is taken as ${JSON.stringify(right)}, and not as ${JSON.stringify(wrong)}`, () => {
    const { jsonSchema } = Scheme.buildFromType(
      Book(undefined, { more: Type.Optional(Type.String({ [keyword]: right })) }),
    );
    assert.deepEqual((jsonSchema as any).properties.spec.properties.more[keyword], right);
    assert.throws(
      () => Scheme.buildFromType(Book(undefined, { more: Type.String({ [keyword]: wrong }) })),
      (error) => error instanceof KindredError && error.code === 'InvalidModel' && error.message.includes(keyword),
    );
  });
}

function library(action: object, path = '/books/{name}/lend') {
  return definePlugin({
    name: 'library',
    start({ schemeManager, registerEndpoint }) {
      schemeManager.register(Book(presentation));
      registerEndpoint({
        groupVersion: () => GroupVersion.parse('console.api.library.example.com/v1alpha1'),
        endpoint: () =>
          route()
            .POST(
              path,
              ({ params, body }) => ({ lent: params.name, to: body.to }),
              (d) =>
                d.action(action as { title: string; on: 'object' }).requestBody(Type.Object({ to: Type.String() })),
            )
            .build(),
      });
    },
  });
}

test('a route that is an action is listed with its model for those who may use it, and runs as they are', async () => {
  const action = { title: { en: 'Lend' }, on: 'object', confirm: 'Lend it?' };
  await using at = await live({ plugins: [library(action)] });
  const type = '/v3/models/books.library.example.com';
  const { body } = await expect(200, at.admin('GET', type));
  assert.deepEqual(body.presentation, presentation);
  assert.equal(body.plugin, 'library');
  const path = '/apis/console.api.library.example.com/v1alpha1/books/{name}/lend';
  const [listed, ...more] = body.actions;
  assert.deepEqual({ ...listed, body: undefined }, { ...action, method: 'POST', path, body: undefined });
  assert.deepEqual(listed.body.properties, { to: { type: 'string' } });
  assert.deepEqual(more, []);
  const { lent } = (await expect(200, at.admin('POST', path.replace('{name}', 'emma'), { to: 'ada' }))).body;
  assert.equal(lent, 'emma');
  const reader = await at.person('reader', ['books-library-example-com-view']);
  assert.deepEqual((await expect(200, reader.send('GET', type))).body.actions, []);
  const { paths } = (await expect(200, at.admin('GET', '/v3/api-docs/apis_console.api_v1alpha1'))).body;
  assert.deepEqual(paths[path].post['x-action'], action);
});

for (const [title, action, path] of [
  ['a title that is none', { title: '', on: 'object' }, undefined],
  ['no place', { title: 'Lend' }, undefined],
  ['an object without its name in the path', { title: 'Lend', on: 'object' }, '/books/lend'],
  ['a list with a name in the path', { title: 'Lend', on: 'list' }, undefined],
] as const) {
  test(`an action with ${title} keeps its plugin from starting`, async () => {
    await using at = await live({ plugins: [library(action, path)] });
    const [plugin] = at.service.readiness().plugins;
    assert.equal(plugin!.state, 'FAILED');
    assert.match(plugin!.message ?? '', /action/);
  });
}
