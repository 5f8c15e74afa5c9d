/** Values as the source of TypeScript: two spaces, single quotes, lines of 120 characters where a value allows it. */

const width = 120;

/** Stands in the source as it is. */
export class Code {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Comments = ReadonlyMap<object, readonly string[]>;

/** @param comments lines above the members of an object, which is then never on one line */
export function print(value: unknown, comments: Comments = new Map(), indent = '', taken = 0): string {
  if (value instanceof Code) return value.text;
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const isList = Array.isArray(value);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const inner = `${indent}  `;
  const above = (comments.get(value) ?? []).map((line) => `// ${line}`);
  const members = Object.entries(value).map(([name, one]) => {
    const head = isList ? '' : `${keyOf(name)}: `;
    return head + print(one, comments, inner, head.length);
  });
  if (members.length === 0 && above.length === 0) return `${open}${close}`;
  const line = isList ? `[${members.join(', ')}]` : `{ ${members.join(', ')} }`;
  const fits = indent.length + taken + line.length < width && !line.includes('\n');
  if (above.length === 0 && fits) return line;
  const lines = [...above, ...members.map((member) => `${member},`)];
  return `${open}\n${lines.map((one) => `${inner}${one}\n`).join('')}${indent}${close}`;
}

function quoted(text: string): string {
  const json = JSON.stringify(text).replace(/[\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16)}`);
  if (text.includes("'") && !text.includes('"')) return json;
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

function keyOf(name: string): string {
  if (name === '__proto__') return `['${name}']`;
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name);
}
