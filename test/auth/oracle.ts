/**
 * Permissions written a second time, from docs/reference/permissions.md alone and as plainly as possible: every question walks all
 * stored objects again. Shares nothing with src/auth.
 */

export interface OracleRule {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  verbs?: string[];
  nonResourceURLs?: string[];
}

export interface OracleRole {
  name: string;
  rules: OracleRule[];
  dependencies: string[];
  aggregatesTo: string[];
}

export interface OracleBinding {
  role: string;
  subjects: { kind: 'User' | 'Plugin'; name: string }[];
}

export interface OracleState {
  roles: OracleRole[];
  bindings: OracleBinding[];
  disabled: string[];
}

export interface Somebody {
  kind: 'User' | 'Plugin';
  name: string;
  /** Roles that come with the credential. */
  claimed: string[];
  /** A personal access token's roles. */
  tokenRoles: string[];
}

export type Question =
  | { verb: string; group: string; resource: string; name?: string }
  | { verb: string; path: string };

/** 'no', 'yes', or the names for which the answer is yes, sorted. */
export function answer(state: OracleState, who: Somebody, question: Question): 'no' | 'yes' | string[] {
  if (who.kind === 'User' && state.disabled.includes(who.name)) return 'no';
  const bound = state.bindings
    .filter((binding) => binding.subjects.some((one) => one.kind === who.kind && one.name === who.name))
    .map((binding) => binding.role);
  const mine = ask(state, [...bound, ...who.claimed], question);
  if (who.tokenRoles.length === 0) return mine;
  return both(mine, ask(state, [...who.tokenRoles, 'authenticated'], question));
}

function both(a: 'no' | 'yes' | string[], b: 'no' | 'yes' | string[]): 'no' | 'yes' | string[] {
  if (a === 'no' || b === 'no') return 'no';
  if (a === 'yes') return b;
  if (b === 'yes') return a;
  const common = a.filter((name) => b.includes(name));
  return common.length > 0 ? common : 'no';
}

function ask(state: OracleState, names: string[], question: Question): 'no' | 'yes' | string[] {
  const all = new Set(names);
  for (let before = -1; before !== all.size; ) {
    before = all.size;
    for (const role of state.roles) {
      if (all.has(role.name)) for (const one of role.dependencies) all.add(one);
      if (role.aggregatesTo.some((target) => all.has(target))) all.add(role.name);
    }
  }
  if (all.has('super-role')) return 'yes';
  const rules = state.roles.filter((role) => all.has(role.name)).flatMap((role) => role.rules);
  const named = new Set<string>();
  for (const rule of rules) {
    if (!rule.verbs?.some((verb) => verb === '*' || verb === question.verb)) continue;
    if ('path' in question) {
      if (rule.nonResourceURLs?.some((url) => glob(url, question.path))) return 'yes';
      continue;
    }
    if (!rule.apiGroups?.some((group) => group === '*' || group === question.group)) continue;
    if (!rule.resources?.some((resource) => resourceMatches(resource, question.resource))) continue;
    if (!rule.resourceNames || rule.resourceNames.length === 0) return 'yes';
    for (const name of rule.resourceNames) named.add(name);
  }
  if ('path' in question) return 'no';
  if (question.name !== undefined) return named.has(question.name) ? 'yes' : 'no';
  if (question.verb === 'create' || named.size === 0) return 'no';
  return [...named].sort();
}

function glob(pattern: string, path: string): boolean {
  if (!pattern.endsWith('*')) return pattern === path;
  return path.substring(0, pattern.length - 1) === pattern.substring(0, pattern.length - 1);
}

function resourceMatches(rule: string, asked: string): boolean {
  const [plural, sub] = asked.split('/');
  if (rule === '*') return true;
  if (sub === undefined) return rule === plural;
  // The third part, from a seventh path segment, belongs to the sub-resource.
  return rule === asked || rule === `${plural}/${sub}` || rule === `*/${sub}` || rule === asked.replace(plural!, '*');
}
