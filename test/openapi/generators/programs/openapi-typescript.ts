import createClient from 'openapi-fetch';
import type { components, paths } from './client.js';

const client = createClient<paths>({ baseUrl: process.argv[2]! });
const created = await client.POST('/apis/library.example.com/v1/books', {
  body: { metadata: { name: 'emma' }, spec: { title: 'Emma', year: 1815 } },
});
const book: components['schemas']['Book'] = created.data!;
const { data } = await client.GET('/apis/library.example.com/v1/books', {
  params: { query: { fieldSelector: ['spec.year>1800'], sort: ['spec.year,desc'] } },
});
await client.PUT('/apis/library.example.com/v1/books/{name}', {
  params: { path: { name: 'emma' } },
  body: { ...book, spec: { ...book.spec, year: 1816 } },
});
const changed = await client.GET('/apis/library.example.com/v1/books/{name}', { params: { path: { name: 'emma' } } });
const gone = await client.DELETE('/apis/library.example.com/v1/books/{name}', { params: { path: { name: 'emma' } } });
const missing = await client.GET('/apis/library.example.com/v1/books/{name}', { params: { path: { name: 'emma' } } });
console.log(data!.total, changed.data!.spec.year, gone.data!.metadata.name, missing.error!.code);
