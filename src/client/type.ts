import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import type { GVKAttributes } from '../model/gvk.ts';
import type { ModelType } from '../model/model-type.ts';

const notAModel: Text = {
  en: 'Expected a model (defineModel) or a class with @GVK, got {value}',
  zh: '需要模型（defineModel）或带有 @GVK 的类，实际为 {value}',
};

/** Where `@GVK` leaves its attributes in the metadata of the class; a browser's bundle holds no code of the model's side. */
const gvkKey = Symbol.for('kindred.gvk');
const metadataKey = (Symbol as { metadata?: symbol }).metadata ?? Symbol.for('Symbol.metadata');

/** Group, version, kind and plural of a model or of a decorated class. */
export function gvkOf(type: ModelType): GVKAttributes {
  const declared = type as unknown as { gvk?: GVKAttributes; name?: string } & Record<
    symbol,
    Record<symbol, GVKAttributes>
  >;
  const gvk = declared?.gvk ?? declared?.[metadataKey]?.[gvkKey];
  if (!gvk) throw new KindredError('InvalidModel', notAModel, { params: { value: String(declared?.name ?? type) } });
  return gvk;
}
