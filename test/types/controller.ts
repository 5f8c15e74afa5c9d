// Compiled with the rest, never run: the builder of a controller knows the objects of its model.
import type { ControllerBuilder, Metadata } from 'kindred';
import { defineModel, Type } from 'kindred';

const Book = defineModel({
  gvk: { group: 'demo.example.com', version: 'v1', kind: 'Book', singular: 'book', plural: 'books' },
  spec: Type.Object({ pages: Type.Integer() }),
});

interface Shelved {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: { pages: number; shelf: string };
}

export function built(builder: ControllerBuilder) {
  return (
    builder
      .name('books')
      .extension(Book)
      .workerCount(2)
      .onAdd((book) => book.spec.pages > 0)
      .onUpdate((old, now) => old.spec.pages !== now.spec.pages)
      // An author's own, narrower type.
      .onDelete((book: Shelved) => book.spec.shelf !== '')
      // @ts-expect-error: a book has no chapters
      .onAdd((book) => book.spec.chapters > 0)
      .build()
  );
}
