/**
 * The OpenAPI 2.0 description as the protobuf message `openapi.v2.Document` of gnostic, which kubectl before 1.27 asks for. A
 * document is messages in a row: protobuf merges what belongs to one field, so each model is encoded by itself.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { OpenApiSchema } from './openapi-schema.ts';
import type { Parameter } from './openapi-shared.ts';

export interface PathItem {
  readonly parameters: readonly Parameter[];
  readonly operations: readonly PathOperation[];
}

export interface PathOperation {
  readonly method: 'get' | 'put' | 'post' | 'delete' | 'patch';
  readonly description: string;
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  /** By name, `x-…`. */
  readonly extensions: Readonly<Record<string, unknown>>;
}

/** What stands before the models. */
export function encodeHead(title: string, version: string): Buffer {
  const writer = new BinaryWriter();
  text(writer, 1, '2.0');
  message(writer, 2, () => {
    text(writer, 1, title);
    text(writer, 2, version);
  });
  return bytesOf(writer);
}

/** Paths and definitions of one model, or of what models have in common. */
export function encodePart(
  paths: Readonly<Record<string, PathItem>>,
  definitions: Readonly<Record<string, OpenApiSchema>>,
): Buffer {
  const writer = new BinaryWriter();
  message(writer, 8, () => {
    for (const [path, item] of Object.entries(paths)) named(writer, 2, path, () => writePath(writer, item));
  });
  message(writer, 9, () => writeSchemas(writer, definitions));
  return bytesOf(writer);
}

function bytesOf(writer: BinaryWriter): Buffer {
  const { buffer, byteOffset, byteLength } = writer.finish();
  return Buffer.from(buffer, byteOffset, byteLength);
}

function message(writer: BinaryWriter, field: number, write: () => void): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write();
  writer.join();
}

/** An entry of what is a map in JSON. */
function named(writer: BinaryWriter, field: number, name: string, write: () => void): void {
  message(writer, field, () => {
    text(writer, 1, name);
    message(writer, 2, write);
  });
}

function text(writer: BinaryWriter, field: number, value: unknown): void {
  if (typeof value === 'string') writer.tag(field, WireType.LengthDelimited).string(value);
}

function flag(writer: BinaryWriter, field: number, value: unknown): void {
  if (value === true) writer.tag(field, WireType.Varint).bool(true);
}

function real(writer: BinaryWriter, field: number, value: unknown): void {
  if (typeof value === 'number') writer.tag(field, WireType.Bit64).double(value);
}

function whole(writer: BinaryWriter, field: number, value: unknown): void {
  if (Number.isSafeInteger(value)) writer.tag(field, WireType.Varint).int64(value as number);
}

/** Any value, as the text that it is in JSON, which is YAML too. */
function any(writer: BinaryWriter, field: number, value: unknown): void {
  message(writer, field, () => text(writer, 2, JSON.stringify(value)));
}

function extensions(writer: BinaryWriter, field: number, all: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(all)) {
    if (!name.startsWith('x-')) continue;
    message(writer, field, () => {
      text(writer, 1, name);
      any(writer, 2, value);
    });
  }
}

const methodFields = { get: 2, put: 3, post: 4, delete: 5, patch: 8 } as const;

function writePath(writer: BinaryWriter, { operations, parameters }: PathItem): void {
  for (const { method, ...operation } of operations) {
    message(writer, methodFields[method], () => {
      text(writer, 3, operation.description);
      text(writer, 5, operation.operationId);
      for (const parameter of operation.parameters) writeParameter(writer, 8, parameter);
      message(writer, 9, () => {
        named(writer, 1, '200', () => message(writer, 1, () => text(writer, 1, 'OK')));
      });
      extensions(writer, 13, operation.extensions);
    });
  }
  for (const parameter of parameters) writeParameter(writer, 9, parameter);
}

/** ParametersItem → Parameter → NonBodyParameter → the kind of parameter. */
function writeParameter(writer: BinaryWriter, field: number, parameter: Parameter): void {
  const isPath = parameter.in === 'path';
  message(writer, field, () =>
    message(writer, 1, () =>
      message(writer, 2, () =>
        message(writer, isPath ? 4 : 3, () => {
          flag(writer, 1, isPath);
          text(writer, 2, parameter.in);
          text(writer, 3, parameter.description);
          text(writer, 4, parameter.name);
          text(writer, isPath ? 5 : 6, parameter.type);
        }),
      ),
    ),
  );
}

function writeSchemas(writer: BinaryWriter, schemas: Readonly<Record<string, OpenApiSchema>>): void {
  for (const [name, schema] of Object.entries(schemas)) named(writer, 1, name, () => writeSchema(writer, schema));
}

function writeSchema(writer: BinaryWriter, schema: OpenApiSchema): void {
  text(writer, 1, schema.$ref);
  text(writer, 2, schema.format);
  text(writer, 3, schema.title);
  text(writer, 4, schema.description);
  real(writer, 7, schema.maximum);
  flag(writer, 8, schema.exclusiveMaximum);
  real(writer, 9, schema.minimum);
  flag(writer, 10, schema.exclusiveMinimum);
  whole(writer, 11, schema.maxLength);
  whole(writer, 12, schema.minLength);
  text(writer, 13, schema.pattern);
  whole(writer, 14, schema.maxItems);
  whole(writer, 15, schema.minItems);
  flag(writer, 16, schema.uniqueItems);
  whole(writer, 17, schema.maxProperties);
  whole(writer, 18, schema.minProperties);
  for (const name of (schema.required ?? []) as string[]) text(writer, 19, name);
  for (const value of (schema.enum ?? []) as unknown[]) any(writer, 20, value);
  const { additionalProperties, items, properties } = schema as Record<string, OpenApiSchema | boolean | undefined>;
  if (additionalProperties !== undefined) {
    message(writer, 21, () => {
      if (typeof additionalProperties === 'boolean') writer.tag(2, WireType.Varint).bool(additionalProperties);
      else message(writer, 1, () => writeSchema(writer, additionalProperties));
    });
  }
  if (typeof schema.type === 'string') message(writer, 22, () => text(writer, 1, schema.type));
  if (typeof items === 'object') message(writer, 23, () => message(writer, 1, () => writeSchema(writer, items)));
  if (typeof properties === 'object') {
    message(writer, 25, () => writeSchemas(writer, properties as Record<string, OpenApiSchema>));
  }
  extensions(writer, 31, schema);
}
