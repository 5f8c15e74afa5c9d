/** The OpenAPI 3.1 documents (contract section 11), built model by model. */
import type { SchemeRegistry } from '../model/registry.ts';
import type { Access } from '../resource/access.ts';
import type { CustomRoutes } from './custom.ts';

/** Whether the caller may do this; without a predicate everything is shown. */
export type MayUse = (access: Access) => boolean;

export interface DocumentGroup {
  /** `apis_aggregated.api_v1alpha1` */
  readonly name: string;
  /** `Aggregated API V1alpha1` */
  readonly displayName: string;
  /** `/v3/api-docs/apis_aggregated.api_v1alpha1` */
  readonly url: string;
}

export interface ApiDocument {
  readonly json: Buffer;
  /** Entity tag with quotes. */
  readonly etag: string;
}

export interface ApiDocumentsOptions {
  registry: SchemeRegistry;
  custom: CustomRoutes;
  /** Version of the product, for `info.version`. */
  version: string;
  /** Security requirement of all operations; false without authentication. */
  authentication: boolean;
}

export declare class ApiDocuments {
  constructor(options: ApiDocumentsOptions);
  /** The five groups, for `GET /v3/api-docs`: `{ groups }`. */
  groups(): readonly DocumentGroup[];
  /** Undefined for an unknown group. Always current: rebuilt, as far as something changed, when asked for. */
  document(group: string, mayUse?: MayUse): ApiDocument | undefined;
  close(): void;
}
