/**
 * Bodies of `application/vnd.kubernetes.protobuf`, which typed clients send for the kinds of Kubernetes itself: turned into
 * what the same object is in JSON. A message is described by the numbers of its fields, which never change.
 */

import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { KindredError } from '../errors.ts';
import { setMember } from '../runtime/read-json.ts';

const protobufType = 'application/vnd.kubernetes.protobuf';

type Message = Readonly<Record<number, Field>>;

type Value = 'text' | 'bytes' | 'int' | 'flag' | 'time' | 'microTime' | (() => Message);

interface Field {
  readonly name: string;
  readonly value: Value;
  /** A list, or a map from texts. Default one value. */
  readonly many?: 'list' | 'map';
  /** Whether `''` and 0 are told from an absent value; otherwise these are what is sent for it. */
  readonly optional?: true;
}

const one = (name: string, value: Value = 'text'): Field => ({ name, value });
const optional = (name: string, value: Value = 'text'): Field => ({ name, value, optional: true });
const list = (name: string, value: Value = 'text'): Field => ({ name, value, many: 'list' });
const map = (name: string, value: Value = 'text'): Field => ({ name, value, many: 'map' });

const typeMeta: Message = { 1: one('apiVersion'), 2: one('kind') };

const ownerReference: Message = {
  1: one('kind'),
  3: one('name'),
  4: one('uid'),
  5: one('apiVersion'),
  6: optional('controller', 'flag'),
  7: optional('blockOwnerDeletion', 'flag'),
};

/** Without the fields themselves: the service keeps its own account of them. */
const managedFieldsEntry: Message = {
  1: one('manager'),
  2: one('operation'),
  3: one('apiVersion'),
  4: one('time', 'time'),
  6: one('fieldsType'),
  8: one('subresource'),
};

const objectMeta: Message = {
  1: one('name'),
  2: one('generateName'),
  3: one('namespace'),
  5: one('uid'),
  6: one('resourceVersion'),
  7: one('generation', 'int'),
  8: one('creationTimestamp', 'time'),
  9: one('deletionTimestamp', 'time'),
  10: optional('deletionGracePeriodSeconds', 'int'),
  11: map('labels'),
  12: map('annotations'),
  13: list('ownerReferences', () => ownerReference),
  14: list('finalizers'),
  17: list('managedFields', () => managedFieldsEntry),
};

const metadata = one('metadata', () => objectMeta);

const objectReference: Message = {
  1: one('kind'),
  2: one('namespace'),
  3: one('name'),
  4: one('uid'),
  5: one('apiVersion'),
  6: one('resourceVersion'),
  7: one('fieldPath'),
};

const namespaceSpec: Message = { 1: list('finalizers') };
const namespaceStatus: Message = { 1: one('phase') };

const leaseSpec: Message = {
  1: optional('holderIdentity'),
  2: optional('leaseDurationSeconds', 'int'),
  3: one('acquireTime', 'microTime'),
  4: one('renewTime', 'microTime'),
  5: optional('leaseTransitions', 'int'),
  6: optional('strategy'),
  7: optional('preferredHolder'),
};

const eventSource: Message = { 1: one('component'), 2: one('host') };
const eventSeries: Message = { 1: one('count', 'int'), 2: one('lastObservedTime', 'microTime') };

const resourceAttributes: Message = {
  1: one('namespace'),
  2: one('verb'),
  3: one('group'),
  4: one('version'),
  5: one('resource'),
  6: one('subresource'),
  7: one('name'),
};
const nonResourceAttributes: Message = { 1: one('path'), 2: one('verb') };
const accessReviewSpec: Message = {
  1: one('resourceAttributes', () => resourceAttributes),
  2: one('nonResourceAttributes', () => nonResourceAttributes),
};
const rulesReviewSpec: Message = { 1: one('namespace') };
const preconditions: Message = { 1: optional('uid'), 2: optional('resourceVersion') };

/** By `<apiVersion>/<kind>`. */
const kinds: Readonly<Record<string, Message>> = {
  'v1/Namespace': { 1: metadata, 2: one('spec', () => namespaceSpec), 3: one('status', () => namespaceStatus) },
  'v1/ConfigMap': { 1: metadata, 2: map('data'), 3: map('binaryData', 'bytes'), 4: optional('immutable', 'flag') },
  'v1/Secret': {
    1: metadata,
    2: map('data', 'bytes'),
    3: one('type'),
    4: map('stringData'),
    5: optional('immutable', 'flag'),
  },
  'coordination.k8s.io/v1/Lease': { 1: metadata, 2: one('spec', () => leaseSpec) },
  'v1/Event': {
    1: metadata,
    2: one('involvedObject', () => objectReference),
    3: one('reason'),
    4: one('message'),
    5: one('source', () => eventSource),
    6: one('firstTimestamp', 'time'),
    7: one('lastTimestamp', 'time'),
    8: one('count', 'int'),
    9: one('type'),
    10: one('eventTime', 'microTime'),
    11: one('series', () => eventSeries),
    12: one('action'),
    13: one('related', () => objectReference),
    14: one('reportingComponent'),
    15: one('reportingInstance'),
  },
  'events.k8s.io/v1/Event': {
    1: metadata,
    2: one('eventTime', 'microTime'),
    3: one('series', () => eventSeries),
    4: one('reportingController'),
    5: one('reportingInstance'),
    6: one('action'),
    7: one('reason'),
    8: one('regarding', () => objectReference),
    9: one('related', () => objectReference),
    10: one('note'),
    11: one('type'),
    12: one('deprecatedSource', () => eventSource),
    13: one('deprecatedFirstTimestamp', 'time'),
    14: one('deprecatedLastTimestamp', 'time'),
    15: one('deprecatedCount', 'int'),
  },
  'authorization.k8s.io/v1/SelfSubjectAccessReview': { 1: metadata, 2: one('spec', () => accessReviewSpec) },
  'authorization.k8s.io/v1/SelfSubjectRulesReview': { 1: metadata, 2: one('spec', () => rulesReviewSpec) },
  'authentication.k8s.io/v1/SelfSubjectReview': { 1: metadata },
};

/** Clients write it in the group and version of what they delete. */
const deleteOptions: Message = {
  1: optional('gracePeriodSeconds', 'int'),
  2: one('preconditions', () => preconditions),
  3: optional('orphanDependents', 'flag'),
  4: optional('propagationPolicy'),
  5: list('dryRun'),
};

/** Fields and items of one body together: so many are read in some 20 ms. */
const mostMembers = 50_000;

/** Slower for short texts than a Buffer, which puts U+FFFD for bytes that are no UTF-8. */
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const magic = Buffer.from('k8s\0');

/**
 * The object that a body holds.
 * @throws KindredError BadRequest, Invalid for a number that is not held exactly, PayloadTooLarge, UnsupportedMediaType for a
 * kind that comes in no protobuf
 */
export function decodeProtobuf(body: Uint8Array): Record<string, unknown> {
  if (body.length < magic.length || !magic.equals(body.subarray(0, magic.length))) {
    throw malformed('it does not begin as one of Kubernetes');
  }
  try {
    return new Decoder().whole(body.subarray(magic.length));
  } catch (error) {
    throw error instanceof KindredError ? error : malformed((error as Error).message);
  }
}

class Decoder {
  #left = mostMembers;

  whole(body: Uint8Array): Record<string, unknown> {
    const { type = {}, raw = new Uint8Array() } = this.#envelope(body);
    const { apiVersion = '', kind = '' } = type;
    const message = kind === 'DeleteOptions' ? deleteOptions : kinds[`${apiVersion}/${kind}`];
    if (!message) {
      const text = `the body of the request was in an unknown format - ${kind || 'an object without a kind'} (${apiVersion}) is not accepted as ${protobufType}, send application/json`;
      throw new KindredError('UnsupportedMediaType', text);
    }
    return { apiVersion, kind, ...this.#message(raw, message) };
  }

  #envelope(body: Uint8Array): { type?: { apiVersion?: string; kind?: string }; raw?: Uint8Array } {
    const reader = new BinaryReader(body);
    const envelope: { type?: object; raw?: Uint8Array } = {};
    while (reader.pos < reader.len) {
      const [field, wire] = this.#tag(reader);
      if (field === 1 && wire === WireType.LengthDelimited) envelope.type = this.#message(reader.bytes(), typeMeta);
      else if (field === 2 && wire === WireType.LengthDelimited) envelope.raw = reader.bytes();
      else reader.skip(wire, field);
    }
    return envelope;
  }

  #message(bytes: Uint8Array, message: Message): Record<string, unknown> {
    const reader = new BinaryReader(bytes);
    const members: Record<string, unknown> = {};
    while (reader.pos < reader.len) {
      const [number, wire] = this.#tag(reader);
      const field = message[number];
      if (!field) {
        reader.skip(wire, number);
        continue;
      }
      const { name, many, value } = field;
      if (many === 'map') {
        members[name] ??= {};
        this.#entry(reader, wire, value, members[name] as Record<string, unknown>);
        continue;
      }
      const read = this.#value(reader, wire, value);
      if (many === 'list') {
        const items = members[name] as unknown[] | undefined;
        if (items) items.push(read);
        else members[name] = [read];
      } else if (read !== undefined && (field.optional || (read !== '' && read !== 0))) members[name] = read;
    }
    return members;
  }

  /** A message with the key in field 1 and the value in field 2; either is left out when it is empty. */
  #entry(reader: BinaryReader, wire: WireType, value: Value, entries: Record<string, unknown>): void {
    expect(wire, WireType.LengthDelimited);
    const length = reader.uint32();
    const end = reader.pos + length;
    let key = '';
    let held: unknown = '';
    while (reader.pos < end) {
      const [number, innerWire] = this.#tag(reader);
      if (number === 1) key = this.#value(reader, innerWire, 'text') as string;
      else if (number === 2) held = this.#value(reader, innerWire, value);
      else reader.skip(innerWire, number);
    }
    if (reader.pos > end) throw malformed('an entry ends behind its length');
    setMember(entries, key, held);
  }

  #value(reader: BinaryReader, wire: WireType, value: Value): unknown {
    expect(wire, value === 'int' || value === 'flag' ? WireType.Varint : WireType.LengthDelimited);
    switch (value) {
      case 'text':
        return text(reader.bytes());
      case 'bytes':
        return Buffer.from(reader.bytes()).toString('base64');
      case 'int':
        return exact(reader.int64());
      case 'flag':
        return reader.bool();
      case 'time':
      case 'microTime':
        return this.#time(reader.bytes(), value === 'microTime');
      default:
        return this.#message(reader.bytes(), value());
    }
  }

  /** Undefined for the time that stands for none. */
  #time(bytes: Uint8Array, isMicro: boolean): string | undefined {
    if (bytes.length === 0) return undefined;
    const reader = new BinaryReader(bytes);
    let seconds = 0;
    let nanos = 0;
    while (reader.pos < reader.len) {
      const [number, wire] = this.#tag(reader);
      if (number === 1) seconds = exact(reader.int64());
      else if (number === 2) nanos = exact(reader.int64());
      else reader.skip(wire, number);
    }
    const date = new Date(seconds * 1_000);
    if (Number.isNaN(date.getTime()) || nanos < 0 || nanos > 999_999_999) throw malformed('a time is out of range');
    const micros = isMicro ? `.${String(Math.floor(nanos / 1_000)).padStart(6, '0')}` : '';
    return `${date.toISOString().slice(0, -'.000Z'.length)}${micros}Z`;
  }

  #tag(reader: BinaryReader): [number, WireType] {
    if (--this.#left < 0) {
      throw new KindredError('PayloadTooLarge', `the body has more than ${mostMembers} fields and items`);
    }
    return reader.tag();
  }
}

/** @throws TypeError for bytes that are no UTF-8 */
function text(bytes: Uint8Array): string {
  const read = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  return read.includes('\ufffd') ? strict.decode(bytes) : read;
}

function expect(wire: WireType, wanted: WireType): void {
  if (wire !== wanted) throw malformed('a field is of another type than its message says');
}

/** @throws KindredError Invalid */
function exact(value: bigint | string): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new KindredError('Invalid', `the number ${value} cannot be held exactly`);
}

function malformed(why: string): KindredError {
  return new KindredError('BadRequest', `the body of the request is no valid protobuf: ${why}`);
}
