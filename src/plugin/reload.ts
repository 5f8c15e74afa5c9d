/** `POST /apis/console.api.plugin.<reserved domain>/v1alpha1/plugins/{name}/reload`: a plugin's code is loaded anew. */
import type { CustomEndpoint } from '../http/custom/routes.ts';
import type { Model } from '../model/model-type.ts';
import type { PluginObject } from './model.ts';

export function reloadEndpoint(
  reservedDomain: string,
  model: Model<PluginObject>,
  reload: (name: string) => Promise<PluginObject>,
): CustomEndpoint {
  const groupVersion = `console.api.plugin.${reservedDomain}/v1alpha1`;
  return {
    groupVersion: () => groupVersion as unknown as ReturnType<CustomEndpoint['groupVersion']>,
    endpoint: () => ({
      routes: [
        {
          method: 'POST',
          path: '/plugins/{name}/reload',
          handler: (request) => reload(request.params.name!),
          operation: {
            operationId: 'ReloadPlugin',
            description:
              'Loads the code of the plugin anew, stops the plugin, and starts it with the new code if it is enabled; answers when that is done. Its models go on serving meanwhile.',
            tags: ['PluginV1alpha1Console'],
            parameters: [],
            responses: [{ status: 200, schema: model, description: 'The plugin as it is now.' }],
          },
        },
      ],
    }),
  };
}
