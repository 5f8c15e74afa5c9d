/** The forms in which a Kubernetes client takes its answer: the media types of an `Accept` with their parameters. */
import { KindredError } from '../errors.ts';
import { mediaType } from '../http/server/negotiate.ts';

/** One offer of an `Accept`. */
export interface MediaRange {
  /** In lower case. */
  readonly type: string;
  /** Parameters but `q`, in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
}

const json = 'application/json';
const yaml = 'application/yaml';

/** Objects as they are, as rows of a table, or their metadata alone. */
type Shape = 'objects' | 'table' | 'metadata';

export interface Form {
  readonly type: typeof json | typeof yaml;
  readonly shape: Shape;
  /** Of the group `meta.k8s.io`, where the shape is not the objects' own. */
  readonly version: 'v1' | 'v1beta1';
}

const plain: Form = { type: json, shape: 'objects', version: 'v1' };

const shapes: Readonly<Record<string, Shape>> = {
  Table: 'table',
  PartialObjectMetadata: 'metadata',
  PartialObjectMetadataList: 'metadata',
};

/** What an `Accept` offers, the best first; nothing for a header that is absent or empty. */
export function mediaRanges(accept: string | undefined): readonly MediaRange[] {
  if (accept === undefined) return [];
  const offers: (MediaRange & { readonly quality: number })[] = [];
  for (const part of accept.split(',')) {
    const [type = '', ...rest] = part.split(';').map((text) => text.trim());
    if (type === '') continue;
    const parameters = new Map<string, string>();
    for (const text of rest) {
      const at = text.indexOf('=');
      if (at > 0) parameters.set(text.slice(0, at).trim().toLowerCase(), unquoted(text.slice(at + 1).trim()));
    }
    const quality = Number(parameters.get('q') ?? 1);
    parameters.delete('q');
    if (quality > 0) offers.push({ type: type.toLowerCase(), parameters, quality });
  }
  return offers.sort((a, b) => b.quality - a.quality);
}

function unquoted(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}

/** @throws KindredError NotAcceptable */
export function formOf(accept: string | undefined): Form {
  if (accept === undefined || accept === '' || accept === json || accept === '*/*') return plain;
  for (const range of mediaRanges(accept)) {
    const form = formOfRange(range);
    if (form) return form;
  }
  throw notAcceptable([json, yaml]);
}

function formOfRange({ type, parameters }: MediaRange): Form | undefined {
  const answered = type === '*/*' || type === 'application/*' ? json : type;
  if (answered !== json && answered !== yaml) return undefined;
  const as = parameters.get('as');
  if (as === undefined) return { ...plain, type: answered };
  const shape = shapes[as];
  const version = parameters.get('v');
  if (shape === undefined || parameters.get('g') !== 'meta.k8s.io') return undefined;
  return version === 'v1' || version === 'v1beta1' ? { type: answered, shape, version } : undefined;
}

/** 406. */
export function notAcceptable(types: readonly string[]): KindredError {
  const text = `only the following media types are accepted: ${types.join(', ')}`;
  return new KindredError('NotAcceptable', text);
}

/** 415. */
export function unsupportedMediaType(given: string | undefined, types: readonly string[]): KindredError {
  const text = `the body of the request was in an unknown format${given === undefined ? '' : ` (${mediaType(given)})`} - accepted media types include: ${types.join(', ')}`;
  return new KindredError('UnsupportedMediaType', text);
}
