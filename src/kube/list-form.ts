/** A list in the form that the client asked for, piece by piece. */
import type { Stored } from '../resource/registered-model.ts';
import type { Shown } from './form.ts';
import { partialText, shownBytes } from './metadata.ts';
import type { KubeModel } from './models.ts';
import { tableColumns, tableRow } from './table.ts';

export interface ListMetadata {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export class ListForm {
  readonly #model: KubeModel;
  readonly #shown: Shown;
  /** Kind and version, without the closing brace. */
  readonly #head: string;
  readonly #items: string;
  #isFirst = true;

  constructor(model: KubeModel, shown: Shown) {
    const { shape, version } = shown.form;
    this.#model = model;
    this.#shown = shown;
    const listKind = model.scheme.definition?.listKind ?? `${model.kind}List`;
    const meta = `"apiVersion":"meta.k8s.io/${version}"`;
    this.#head =
      shape === 'objects'
        ? `{"kind":"${listKind}","apiVersion":"${model.apiVersion}"`
        : `{"kind":"${shape === 'table' ? 'Table' : 'PartialObjectMetadataList'}",${meta}`;
    this.#items =
      shape === 'table' ? `,"columnDefinitions":${JSON.stringify(tableColumns(model))},"rows":[` : ',"items":[';
  }

  /** One object, with the comma that divides it from the one before. */
  item(stored: Stored): Buffer {
    const bytes = this.#bytes(stored);
    if (!this.#isFirst) return Buffer.concat([comma, bytes]);
    this.#isFirst = false;
    return bytes;
  }

  whole(metadata: ListMetadata, items: readonly Buffer[]): Buffer {
    const head = Buffer.from(`${this.#head},"metadata":${JSON.stringify(metadata)}${this.#items}`);
    return Buffer.concat([head, ...items, Buffer.from(']}')]);
  }

  start(): Buffer {
    return Buffer.from(`${this.#head}${this.#items}`);
  }

  end(metadata: ListMetadata): Buffer {
    return Buffer.from(`],"metadata":${JSON.stringify(metadata)}}`);
  }

  #bytes(stored: Stored): Buffer {
    const { form, includeObject, now } = this.#shown;
    switch (form.shape) {
      case 'objects':
        return shownBytes(this.#model, stored);
      case 'metadata':
        return Buffer.from(partialText(this.#model, stored, form));
      case 'table':
        return tableRow(this.#model, stored, { includeObject, now, version: form.version });
      default:
        return form.shape satisfies never;
    }
  }
}

const comma = Buffer.from(',');
