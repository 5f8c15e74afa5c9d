import type { Book } from './client/api.js';
import { Api } from './client/api.js';

const { apis } = new Api({ baseUrl: process.argv[2]! });
const created = await apis.createBook({ metadata: { name: 'emma' }, spec: { title: 'Emma', year: 1815 } });
const book: Book = created.data;
const { data } = await apis.listBook({ fieldSelector: ['spec.year>1800'], sort: ['spec.year,desc'] });
await apis.updateBook('emma', { ...book, spec: { ...book.spec, year: 1816 } });
const changed = await apis.getBook('emma');
const gone = await apis.deleteBook('emma');
const missing = await apis.getBook('emma').catch((answer: { error: { code: string } }) => answer.error.code);
console.log(data.total, changed.data.spec.year, gone.data.metadata.name, missing);
