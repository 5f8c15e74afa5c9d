/** Views that people share: objects of the service's own model `View`. */
import type { ApiObject } from '../api/object.ts';
import type { View } from './views.ts';

export interface SharedView extends ApiObject {
  readonly spec: {
    readonly type: string;
    readonly title: string;
    readonly fieldSelector?: string;
    readonly labelSelector?: string;
    readonly sort?: readonly string[];
    readonly columns?: readonly string[];
    readonly size?: number;
  };
}

/** As the address of a list. */
export function viewOf({ spec }: SharedView): View {
  const query = new URLSearchParams();
  for (const name of ['fieldSelector', 'labelSelector'] as const) {
    if (spec[name]) query.set(name, spec[name]);
  }
  for (const key of spec.sort ?? []) query.append('sort', key);
  if (spec.columns?.length) query.set('columns', spec.columns.join(','));
  if (spec.size) query.set('size', String(spec.size));
  return { name: spec.title, query: query.toString() };
}

/** The other way. */
export function specOf(type: string, { name, query }: View): SharedView['spec'] {
  const parameters = new URLSearchParams(query);
  const text = (key: 'fieldSelector' | 'labelSelector') => {
    const value = parameters.getAll(key).join(',');
    return value === '' ? {} : { [key]: value };
  };
  const sort = parameters.getAll('sort');
  const columns = parameters.getAll('columns').flatMap((one) => one.split(','));
  const size = Number(parameters.get('size'));
  return {
    type,
    title: name,
    ...text('fieldSelector'),
    ...text('labelSelector'),
    ...(sort.length > 0 && { sort }),
    ...(columns.length > 0 && { columns }),
    ...(size > 0 && { size }),
  };
}
