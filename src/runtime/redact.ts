/** Configuration for people to read: what is, or may be, a secret is left out. */
import { shownUrl } from './shown-url.ts';

/** Stands where a secret stood. */
export const hidden = '(hidden)';

const secretName =
  /pass(?:word|phrase|wd)?|secret|token|credential|cookie|salt|private|signature|auth(?:orization)?$|(?:api|access|account|signing|encryption|shared)[-_ ]?key|^key$|keys$|dsn/i;
/** A key in PEM, a token of this service, a JSON Web Token, and long texts that look like nothing but a key. */
const secretValue =
  /-----BEGIN|\bknd_|\bey[\w-]{8,}\.[\w-]+\.|^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w+/=-]{24,}$|^[0-9a-f]{32,}$/;
const secretParameter = /([?&][^=&#]*(?:pass|token|secret|key|sig)[^=&#]*=)[^&#]*/gi;
const most = { depth: 8, values: 1_000 };

/** What `JSON.stringify` can write: of members whose names say so, texts and numbers are hidden; so are texts that look like secrets. */
export function withoutSecrets(value: unknown): unknown {
  let left = most.values;
  const shown = (one: unknown, isSecret: boolean, depth: number): unknown => {
    if (--left < 0 || depth > most.depth) return '…';
    switch (typeof one) {
      case 'boolean':
      case 'undefined':
        return one;
      case 'string':
        return isSecret || secretValue.test(one) ? hidden : shownUrl(one).replace(secretParameter, '$1…');
      case 'number':
      case 'bigint':
        return isSecret ? hidden : typeof one === 'bigint' ? String(one) : one;
      case 'object': {
        if (one === null) return null;
        if (Array.isArray(one)) return one.slice(0, left + 1).map((item) => shown(item, isSecret, depth + 1));
        if (Object.getPrototypeOf(one) !== Object.prototype && Object.getPrototypeOf(one) !== null) return '(object)';
        const members: [string, unknown][] = [];
        for (const [name, member] of Object.entries(one)) {
          if (left <= 0) break;
          members.push([name, shown(member, isSecret || secretName.test(name), depth + 1)]);
        }
        return Object.fromEntries(members);
      }
      default:
        return `(${typeof one})`;
    }
  };
  return shown(value, false, 0);
}
