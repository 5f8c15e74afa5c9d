/**
 * The JSONPath of columns and of scales: `.spec.replicas`, `['a.b']`, `\.`, `[0]`, `[*]`,
 * `.status.conditions[?(@.type=="Ready")].status`.
 */
type Values = readonly unknown[];
type Step = (value: unknown) => Values;

const patterns = {
  member: /\.((?:[^.[\]\\{}()\s"']|\\.)+)/y,
  quotedMember: /\[(?:'([^']*)'|"([^"]*)")\]/y,
  index: /\[(-?\d+)\]/y,
  all: /\[\*\]/y,
  filter:
    /\[\?\(\s*@((?:\.(?:[^.[\]\\=!<>\s()]|\\.)+)+)\s*(==|!=)\s*("[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false)\s*\)\]/y,
};

export class JsonPath {
  readonly #steps: readonly Step[];

  private constructor(steps: readonly Step[]) {
    this.#steps = steps;
  }

  /** Undefined when it is none of these. Braces around it count for nothing. */
  static parse(text: string): JsonPath | undefined {
    const path = /^\{(.*)\}$/s.exec(text)?.[1] ?? text;
    const steps: Step[] = [];
    for (let at = 0; at < path.length; ) {
      const step = stepAt(path, at);
      if (!step) return undefined;
      steps.push(step.step);
      at = step.end;
    }
    return steps.length > 0 ? new JsonPath(steps) : undefined;
  }

  /** All that it leads to. */
  values(value: unknown): Values {
    let values: Values = [value];
    for (const step of this.#steps) values = values.flatMap(step);
    return values;
  }

  /** The first that it leads to. */
  value(value: unknown): unknown {
    return this.values(value)[0];
  }
}

function stepAt(path: string, at: number): { step: Step; end: number } | undefined {
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(path);
  };
  const step = (found: RegExpExecArray, step: Step) => ({ step, end: at + found[0].length });
  const member = take(patterns.member);
  if (member) return step(member, memberStep(member[1]!.replace(/\\(.)/g, '$1')));
  const quoted = take(patterns.quotedMember);
  if (quoted) return step(quoted, memberStep(quoted[1] ?? quoted[2]!));
  const index = take(patterns.index);
  if (index) return step(index, (value) => (Array.isArray(value) ? itemAt(value, Number(index[1])) : []));
  const all = take(patterns.all);
  if (all) return step(all, (value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  const filter = take(patterns.filter);
  return filter ? step(filter, filterStep(filter[1]!, filter[2]!, filter[3]!)) : undefined;
}

function memberStep(name: string): Step {
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return [];
    return [(value as Record<string, unknown>)[name]];
  };
}

function itemAt(list: Values, index: number): Values {
  return list.slice(index, index === -1 ? undefined : index + 1);
}

function filterStep(left: string, sign: string, right: string): Step {
  const path = JsonPath.parse(left)!;
  const expected: unknown = right.startsWith("'") ? right.slice(1, -1) : JSON.parse(right);
  return (value) => {
    if (!Array.isArray(value)) return [];
    return value.filter((item) => (path.value(item) === expected) === (sign === '=='));
  };
}
