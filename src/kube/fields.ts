/** Schemas of the members that several kinds of Kubernetes have. All of them are optional. */
import { Type } from '../model/type.ts';

export const text = (description: string) => Type.Optional(Type.String({ description }));
export const count = (description: string) => Type.Optional(Type.Integer({ description }));
/** Clients in Go send null for none. */
export const nullable = (schema: { type: string; [keyword: string]: unknown }) =>
  Type.Optional({ ...schema, type: [schema.type, 'null'] } as any);
export const moment = (description: string) => nullable({ type: 'string', format: 'date-time', description });
