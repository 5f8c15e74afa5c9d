/** The buttons of a model in the console: custom routes that are described as actions (docs/reference/custom-routes.md). */
import type { DisplayText } from '../../model/presentation.ts';
import type { Scheme } from '../../model/scheme.ts';
import type { MayUse } from '../../resource/access.ts';
import type { CustomRoute } from './routes.ts';
import { jsonSchemaOf } from './schema.ts';

export interface ModelAction {
  readonly title: DisplayText;
  readonly on: 'object' | 'list';
  readonly confirm?: DisplayText;
  readonly method: string;
  /** With `{name}` where that of the object stands. */
  readonly path: string;
  /** JSON Schema of the body, when there is one. */
  readonly body?: object;
}

/** Those that the caller may use, perhaps on some objects only. */
export function actionsOf(routes: readonly CustomRoute[], scheme: Scheme, mayUse: MayUse): ModelAction[] {
  return routes.flatMap((route) => {
    const { action, body } = route.operation;
    if (!action || !isAbout(route, scheme) || !mayUse(route.access)) return [];
    const { method, path } = route;
    const schema = body && jsonSchemaOf(`${method} ${path}`, body.schema);
    const { title, on, confirm } = action;
    return [{ title, on, ...(confirm !== undefined && { confirm }), method, path, ...(schema && { body: schema }) }];
  });
}

/** By the path, and by the group without what says for whom the API is. */
function isAbout({ group, path }: CustomRoute, { groupVersionKind, plural }: Scheme): boolean {
  const [, , , , resource] = path.split('/');
  return (
    resource === plural && [group, group.replace(/^(?:console\.|uc\.)?api\./, '')].includes(groupVersionKind.group)
  );
}
