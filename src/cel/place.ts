/** Rules where they stand: compiled, in the shape of the values that they are about. */
import type { Pattern } from '../schema/pattern.ts';
import type { Expression } from './expression.ts';
import type { CelType } from './types.ts';

export interface Rule {
  readonly source: string;
  readonly expression: Expression;
  /** Sees the stored value. */
  readonly isTransition: boolean;
  /** Runs for new values too, with an optional `oldSelf`. */
  readonly isOptional: boolean;
  readonly message: string | undefined;
  readonly messageExpression: Expression | undefined;
  readonly reason: string;
  /** Of the member that the violation is at, as a pointer. */
  readonly at: string;
  /** Of the value, in the words of its schema. */
  readonly typeName: string;
}

/** What a schema says of the rules of a value and of those below it. */
export interface Place {
  readonly type: CelType;
  readonly rules: Rule[];
  readonly properties: Map<string, Place>;
  /** Members that match a pattern, and those that neither a pattern nor the schema names. */
  others?: Others;
  /** Items from a position on. */
  items?: { readonly place: Place; readonly from: number };
  /** Of the list at this place, when stored items are found by them. */
  readonly keys: readonly string[] | undefined;
  /** Of schemas that hold for the same value. */
  readonly also: Place[];
}

export interface Others {
  readonly named: ReadonlySet<string>;
  readonly patterns: readonly { readonly pattern: Pattern; readonly place: Place | undefined }[];
  readonly place: Place | undefined;
}
