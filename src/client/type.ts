import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import type { GVKAttributes, ModelType } from '../model/define.ts';

const notAModel: Text = {
  en: 'Expected a model (defineModel) or a class with @GVK, got {value}',
  zh: '需要模型（defineModel）或带有 @GVK 的类，实际为 {value}',
};

/** Group, version, kind and plural of a model or of a decorated class. */
export function gvkOf(type: ModelType): GVKAttributes {
  const gvk = (type as { gvk?: GVKAttributes }).gvk ?? (type as { [declared]?: { gvk: GVKAttributes } })[declared]?.gvk;
  if (!gvk)
    throw new KindredError('InvalidModel', notAModel, { value: String((type as { name?: string })?.name ?? type) });
  return gvk;
}
