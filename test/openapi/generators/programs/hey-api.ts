import { client } from './client/client.gen.js';
import type { Book } from './client/index.js';
import { createBook, deleteBook, getBook, listBook, updateBook } from './client/index.js';

client.setConfig({ baseUrl: process.argv[2]! });
const created = await createBook({ body: { metadata: { name: 'emma' }, spec: { title: 'Emma', year: 1815 } } });
const book: Book = created.data!;
const { data } = await listBook({ query: { fieldSelector: ['spec.year>1800'], sort: ['spec.year,desc'] } });
await updateBook({ path: { name: 'emma' }, body: { ...book, spec: { ...book.spec, year: 1816 } } });
const changed = await getBook({ path: { name: 'emma' } });
const gone = await deleteBook({ path: { name: 'emma' } });
const missing = await getBook({ path: { name: 'emma' } });
if (typeof data !== 'object' || !('total' in data)) throw new Error('no page');
console.log(data.total, changed.data!.spec.year, gone.data!.metadata.name, missing.error!.code);
