/** The built-in model of plugins (docs/reference/plugins.md). */
import { defineModel } from '../model/define.ts';
import type { Model } from '../model/model-type.ts';
import type { Metadata } from '../model/object.ts';
import { Type } from '../model/type.ts';
import { pluginKind } from './kind.ts';

/** `STARTING` lasts while indexes are built: the specification's "not started". */
export type PluginState = 'RESOLVED' | 'STARTING' | 'STARTED' | 'STOPPING' | 'STOPPED' | 'FAILED';

export interface PluginObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: { enabled?: boolean; displayName?: string; version?: string };
  status?: { state: PluginState; reason?: string; message?: string };
}

/** `plugins` in `plugin.<reserved domain>/v1alpha1`. */
export function pluginModel(reservedDomain: string): Model<PluginObject> {
  return defineModel({
    gvk: pluginKind(reservedDomain),
    subresources: { status: true },
    spec: Type.Object({
      enabled: Type.Optional(
        Type.Boolean({ default: true, description: 'Whether the plugin runs; a change starts or stops it.' }),
      ),
      displayName: Type.Optional(Type.String({ description: 'Written by the service, from the package.' })),
      version: Type.Optional(Type.String({ description: 'Written by the service, from the package.' })),
    }),
    status: Type.Optional(
      Type.Object({
        state: Type.Enum(['RESOLVED', 'STARTING', 'STARTED', 'STOPPING', 'STOPPED', 'FAILED']),
        reason: Type.Optional(Type.String({ description: 'What is wrong, in one word.' })),
        message: Type.Optional(Type.String({ description: 'What is wrong, in full.' })),
      }),
    ),
    indexes: (index) => [
      index.single('spec.enabled', Boolean, (plugin: PluginObject) => plugin.spec.enabled ?? true),
      index.single('status.state', String, (plugin: PluginObject) => plugin.status?.state),
    ],
  }) as unknown as Model<PluginObject>;
}
