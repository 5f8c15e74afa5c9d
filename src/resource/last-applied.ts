/**
 * The annotation in which kubectl keeps what it applied last. What it says, and what still is so, is kubectl's own for a
 * server-side apply, which keeps the annotation as well: so both ways of applying can take turns.
 */
import type { Fields } from '../apply/apply.ts';
import { contentOf } from '../apply/apply.ts';
import { annotationsLimit } from '../model/metadata.ts';
import type { ExtensionObject } from '../model/object.ts';
import { isRecord } from '../model/object.ts';
import { readJson } from '../runtime/read-json.ts';

export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

export interface LastApplied {
  /** Of what is applied, as clients see it: an object that was applied in another version says nothing of this one. */
  readonly apiVersion: string;
  /** What is applied. */
  readonly body: Fields;
}

/** Undefined when the object has no such annotation, or one that says nothing. */
export function lastAppliedOf({ metadata }: ExtensionObject, { apiVersion }: LastApplied): Fields | undefined {
  const text = metadata.annotations?.[lastAppliedAnnotation];
  if (text === undefined) return undefined;
  try {
    const applied = readJson(text);
    return isRecord(applied) && applied.apiVersion === apiVersion ? contentOf(applied) : undefined;
  } catch {
    return undefined;
  }
}

/** The object with the annotation, if it has one: without it when there is no room for it. */
export function withLastApplied(object: ExtensionObject, { body }: LastApplied): ExtensionObject {
  const { [lastAppliedAnnotation]: before, ...others } = object.metadata.annotations ?? {};
  if (before === undefined) return object;
  const metadata = isRecord(body.metadata) ? body.metadata : {};
  const { [lastAppliedAnnotation]: _own, ...annotations } = isRecord(metadata.annotations) ? metadata.annotations : {};
  const applied = { ...body, metadata: { ...metadata, annotations } };
  const kept = { ...others, [lastAppliedAnnotation]: `${JSON.stringify(applied)}\n` };
  const bytes = Object.entries(kept).reduce((sum, texts) => sum + Buffer.byteLength(texts.join('')), 0);
  return { ...object, metadata: { ...object.metadata, annotations: bytes > annotationsLimit ? others : kept } };
}
