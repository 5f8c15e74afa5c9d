/** `/apis`, `/apis/<group>`, `/apis/<group>/<version>`, `/api/<version>` (contract section 11). */
import type { SchemeRegistry } from '../model/registry.ts';
import type { MayUse } from './openapi.ts';

export interface ApiGroup {
  name: string;
  versions: { groupVersion: string; version: string }[];
}

export interface ApiResource {
  /** The plural; `persons/status` for the sub-resource. */
  name: string;
  singularName: string;
  kind: string;
  verbs: string[];
}

/** Body for this path (without query), undefined when the path is no discovery path or the caller may use nothing there: 404. */
export declare function discover(registry: SchemeRegistry, path: string, mayUse?: MayUse):
  | { groups: ApiGroup[] }
  | ApiGroup
  | { groupVersion: string; resources: ApiResource[] }
  | undefined;
