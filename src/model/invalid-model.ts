/** Every error of a declaration goes through here: code `InvalidModel`, the rule and the value in the message. */
import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';

/** Throws KindredError `InvalidModel`. */
export function invalidModel(text: Text, params: Readonly<Record<string, unknown>> = {}): never {
  throw new KindredError('InvalidModel', text, params);
}
