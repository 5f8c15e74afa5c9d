/**
 * Standard Schema (https://standardschema.dev), the common face of Zod, Valibot, ArkType and others: a validator, its types,
 * and with Standard JSON Schema what it checks as JSON Schema. The service needs none of these packages for it.
 */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
  /** Zod's. */
  readonly code?: unknown;
  /** Zod's, of `unrecognized_keys`. */
  readonly keys?: unknown;
}

type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** What comes in, or what it becomes: they differ where a schema transforms. */
export type Direction = 'input' | 'output';

export interface StandardSchema {
  readonly '~standard': {
    readonly vendor?: string;
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>;
    /** Standard JSON Schema, where the library has it. */
    readonly jsonSchema?: Record<Direction, (options: { target: string; libraryOptions?: object }) => object>;
  };
}

/** The types of a Standard Schema. */
export interface StandardTypes<I = unknown, O = unknown> {
  readonly '~standard': { readonly types?: { readonly input: I; readonly output: O } | undefined };
}

/** Those of some libraries are functions. */
export function isStandard(schema: unknown): schema is StandardSchema {
  return ((typeof schema === 'object' && schema !== null) || typeof schema === 'function') && '~standard' in schema;
}

/** Whether it takes undefined: then the member that it describes is optional. */
export function takesNothing(schema: unknown): boolean {
  if (!isStandard(schema)) return false;
  const result = schema['~standard'].validate(undefined);
  return !(result instanceof Promise) && result.issues === undefined;
}

const texts = {
  none: localized(
    'is a Standard Schema of {vendor} that provides no JSON Schema: convert it, with Zod by z.toJSONSchema(…)',
  ),
  cannot: localized(
    'is a schema of {vendor} that cannot be written as JSON Schema, so the service cannot enforce it: {reason}',
  ),
  function: localized(
    'is a schema of {vendor} with a function of its own (refine, check, trim and the like), which JSON Schema cannot say, so the service cannot enforce it',
  ),
} satisfies Record<string, Text>;

/** Calls `refuse` for what JSON Schema cannot say. */
export function exactJsonSchema(
  schema: StandardSchema,
  refuse: (text: Text, params: Readonly<Record<string, unknown>>) => never,
): object {
  const { jsonSchema, vendor = 'another library' } = schema['~standard'];
  if (!jsonSchema) return refuse(texts.none, { vendor });
  let hasFunctions = false;
  // Zod writes its checks by a function as nothing at all, and tells this of each schema.
  const override = ({ zodSchema }: { zodSchema?: ZodSchema }) => {
    const kinds = zodSchema?._zod?.def?.checks?.map((check) => check._zod?.def?.check) ?? [];
    hasFunctions ||= kinds.some((kind) => kind === 'custom' || kind === 'overwrite');
  };
  let written: object;
  try {
    written = jsonSchema.output({ target: 'draft-2020-12', libraryOptions: { override } });
  } catch (error) {
    return refuse(texts.cannot, { vendor, reason: (error as Error).message });
  }
  return hasFunctions ? refuse(texts.function, { vendor }) : written;
}

/** What Zod shows to other libraries of its schemas. */
interface ZodSchema {
  readonly _zod?: {
    readonly def?: { readonly checks?: readonly { readonly _zod?: { readonly def?: { readonly check?: string } } }[] };
  };
}
