/** One object in the form that the client asked for. */
import { createRequire } from 'node:module';
import type { Stored } from '../resource/registered-model.ts';
import { readJson } from '../runtime/read-json.ts';
import { partialText, shownBytes } from './metadata.ts';
import type { KubeModel } from './models.ts';
import type { Form } from './negotiate.ts';
import type { IncludeObject } from './table.ts';
import { tableColumns, tableRow } from './table.ts';

/** For what few requests need. */
const require = createRequire(import.meta.url);

/** Bytes of JSON that are written anew as YAML. A larger one is answered as it is: JSON is YAML too. */
const rewritten = 4 * 1024;

export interface Shown {
  readonly form: Form;
  readonly includeObject: IncludeObject;
  /** Milliseconds since the epoch, for the age of objects. */
  readonly now: number;
}

export function objectBytes(model: KubeModel, stored: Stored, { form, includeObject, now }: Shown): Buffer {
  switch (form.shape) {
    case 'objects':
      return shownBytes(model, stored);
    case 'metadata':
      return Buffer.from(partialText(model, stored, form));
    case 'table': {
      const metadata = `"metadata":{"resourceVersion":"${stored.revision}"}`;
      const columns = JSON.stringify(tableColumns(model));
      const row = tableRow(model, stored, { includeObject, now, version: form.version });
      const head = `{"kind":"Table","apiVersion":"meta.k8s.io/${form.version}",${metadata},"columnDefinitions":${columns}`;
      return Buffer.concat([Buffer.from(`${head},"rows":[`), row, Buffer.from(']}')]);
    }
    default:
      return form.shape satisfies never;
  }
}

export function encoded(bytes: Buffer, { type }: Form): Buffer {
  if (type !== 'application/yaml' || bytes.length > rewritten) return bytes;
  const { stringify } = require('yaml') as typeof import('yaml');
  return Buffer.from(stringify(readJson(bytes.toString()), { aliasDuplicateObjects: false, lineWidth: 0 }));
}
