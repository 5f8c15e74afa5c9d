import type { Text } from '../errors.ts';
import { zh } from './zh.ts';

/** An English text that has a line in every catalogue of this folder. */
export type English = keyof typeof zh;

/** The text in every language of the service. `{name}` in it stands for the parameter `name`. */
export function localized(en: English): Text {
  return { en, zh: zh[en] };
}
