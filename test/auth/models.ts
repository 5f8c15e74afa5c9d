/** Two models for the tests of permissions. */
import { Type } from 'typebox';
import { defineModel } from '../../src/model/define.ts';

const spec = Type.Object({
  title: Type.String(),
  code: Type.Optional(Type.String()),
  tags: Type.Optional(Type.Array(Type.String())),
});

export const Book = defineModel({
  gvk: { group: 'library.example', version: 'v1alpha1', kind: 'Book', singular: 'book', plural: 'books' },
  spec,
  status: Type.Optional(Type.Object({ phase: Type.String() })),
  subresources: { status: true },
  indexes: (index) => [
    index.single('spec.title', String, (book: { spec: { title: string } }) => book.spec.title),
    index.single('spec.code', String, (book: { spec: { code?: string } }) => book.spec.code, { unique: true }),
    index.multi('spec.tags', String, (book: { spec: { tags?: string[] } }) => book.spec.tags),
  ],
});

export const Shelf = defineModel({
  gvk: { group: 'library.example', version: 'v1alpha1', kind: 'Shelf', singular: 'shelf', plural: 'shelves' },
  spec,
});

export const books = '/apis/library.example/v1alpha1/books';
export const shelves = '/apis/library.example/v1alpha1/shelves';
