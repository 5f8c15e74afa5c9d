import type { Context } from './context.ts';
import type { SchemaObject } from './keywords.ts';
import { isContainer } from './keywords.ts';
import type { Marks } from './marks.ts';
import { messages } from './messages.ts';

/** False, with a violation each, when the value has members that no schema of their place knows. */
export function refuseUnknown(value: object, context: Context, marks: Marks): boolean {
  let ok = true;
  if (marks.closed && !Array.isArray(value)) {
    for (const name in value) {
      if (marks.names.has(name) || (value as SchemaObject)[name] === undefined) continue;
      if (context.silent) return false;
      ok = context.reportAt(name, 'additionalProperties', messages.additionalProperties, { allowed: marks.known() });
    }
  }
  for (const [token, child] of marks.children ?? []) {
    const below = (value as SchemaObject)[token];
    if (!isContainer(below)) continue;
    if (!context.at(token, () => refuseUnknown(below, context, child))) {
      if (context.silent) return false;
      ok = false;
    }
  }
  return ok;
}
