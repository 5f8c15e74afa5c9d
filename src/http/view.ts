/** The built-in model of list views that people share in the console (docs/reference/console.md). */

import { defineModel } from '../model/define.ts';
import type { ModelType } from '../model/model-type.ts';
import { Type } from '../model/type.ts';

const path = Type.String({ minLength: 1, maxLength: 500 });
const selector = (description: string) => Type.Optional(Type.String({ maxLength: 4_096, description }));

/** `views` in `console.<reserved domain>/v1alpha1`. */
export function viewModel(reservedDomain: string): ModelType {
  return defineModel({
    gvk: {
      group: `console.${reservedDomain}`,
      version: 'v1alpha1',
      kind: 'View',
      singular: 'view',
      plural: 'views',
    },
    spec: Type.Object({
      type: Type.String({
        minLength: 1,
        maxLength: 317,
        description: 'Of the objects: `plural.group`; the plural alone for the empty group.',
      }),
      title: Type.String({ minLength: 1, maxLength: 200 }),
      fieldSelector: selector('As in a list.'),
      labelSelector: selector('As in a list.'),
      sort: Type.Optional(
        Type.Array(path, { maxItems: 20, description: 'Each as in a list: `<field>` or `<field>,desc`.' }),
      ),
      columns: Type.Optional(
        Type.Array(path, { maxItems: 100, uniqueItems: true, description: 'Paths of members, in their order.' }),
      ),
      size: Type.Optional(Type.Integer({ minimum: 1, description: 'Objects on a page.' })),
    }),
    presentation: {
      title: { en: 'View', 'zh-CN': '视图' },
      columns: ['spec.type', 'spec.title'],
      summary: 'spec.title',
    },
    indexes: (index) => [
      index.single('spec.type', String, (view: { spec: { type: string } }) => view.spec.type),
      index.single('spec.title', String, (view: { spec: { title: string } }) => view.spec.title),
    ],
  }) as unknown as ModelType;
}
