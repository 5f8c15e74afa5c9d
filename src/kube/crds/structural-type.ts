import type { SchemaObject } from '../../schema/keywords.ts';

/** One schema and those below it. */
export interface Structural {
  /** As it was declared. */
  readonly schema: SchemaObject;
  readonly type: string | undefined;
  readonly nullable: boolean;
  readonly isIntOrString: boolean;
  /** Members that are not declared are kept. */
  readonly preserves: boolean;
  /** The value is an object of Kubernetes itself. */
  readonly isEmbedded: boolean;
  readonly properties: ReadonlyMap<string, Structural>;
  /** Of the members that are not declared. */
  readonly additional: Structural | true | undefined;
  readonly items: Structural | undefined;
  /** As JSON. */
  readonly defaultText: string | undefined;
}
