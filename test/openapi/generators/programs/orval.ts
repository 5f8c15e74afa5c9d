import { createBook, deleteBook, getBook, listBook, updateBook } from './client/api.js';
import type { Book } from './client/api.schemas.js';

const created = await createBook({ metadata: { name: 'emma' }, spec: { title: 'Emma', year: 1815 } });
if (created.status !== 201) throw new Error(created.data.code);
const book: Book = created.data;
const page = await listBook({ fieldSelector: ['spec.year>1800'], sort: ['spec.year,desc'] });
if (page.status !== 200 || typeof page.data !== 'object' || !('total' in page.data)) throw new Error('no page');
await updateBook('emma', { ...book, spec: { ...book.spec, year: 1816 } });
const changed = await getBook('emma');
if (changed.status !== 200) throw new Error('no book');
const gone = await deleteBook('emma');
if (gone.status !== 200) throw new Error(gone.data.code);
const missing = await getBook('emma');
if (missing.status !== 404) throw new Error('it is still there');
console.log(page.data.total, changed.data.spec.year, gone.data.metadata.name, missing.data.code);
