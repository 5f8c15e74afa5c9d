/**
 * What one identity may do. A *layer* is the rules of several roles, of which one has to allow; a *policy* is one layer, or
 * two that both have to allow (a user's rights, narrowed by a token's roles). Answers are remembered, so that the cost of a
 * decision does not depend on the number of rules.
 */
import type { Access, Decision } from '../../resource/access.ts';
import { someNamespace } from '../../resource/access.ts';
import { Budget, Comparison } from './coverage.ts';
import type { CompiledRule, Grant, Rule } from './rule.ts';
import { entriesFor, firstGrant, gives, inWords } from './rule.ts';
import type { RuleSet } from './rule-set.ts';

/** A role with the way on which it came to somebody. */
export interface Source {
  readonly rules: RuleSet;
  readonly role: string;
  /** Led here through a dependency or an aggregation. */
  readonly via?: Source;
  /** The RoleBinding that gave the first role on the way; none for roles that come with the credential. */
  readonly binding?: string;
  /** It gives something in these namespaces alone: neither paths nor what belongs to none. */
  readonly namespaces?: ReadonlySet<string>;
}

/** A rule with the way on which it came to somebody. */
export interface SourcedRule {
  readonly rule: Rule;
  /** From the role that was given to the role that holds the rule, through dependencies and aggregation. */
  readonly roles: readonly string[];
  /** The RoleBinding that gave the first of the roles; none for roles that come with the credential. */
  readonly binding?: string;
  /** That the RoleBinding is for. */
  readonly namespaces?: readonly string[];
}

/** The answer to "why": a decision with the rules that made it. */
export interface Explanation {
  readonly allowed: boolean;
  readonly reason: string;
  /** Only these objects. */
  readonly names?: readonly string[];
  /** Of the rules that allow it for some objects alone, the first twenty. */
  readonly because: readonly SourcedRule[];
}

/** A rule that gives something of an access. */
interface Found {
  readonly rule: CompiledRule;
  readonly source: Source;
  /** Only for the rule's names. */
  readonly isNamed: boolean;
}

/** What the rules of a layer give on one resource or path, by verb: one rule that gives all of it, or those that give it for some names. */
type ByVerb = Map<string, Found[]>;

type ResourceAccess = Exclude<Access, { path: string }>;

/** Asked one after the other about one resource, for the API description and discovery. */
const usualVerbs = new Set(['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'explain', '*']);

interface LastFound {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly byVerb: ByVerb;
}

export class Layer {
  /** Without a limit to namespaces. */
  readonly #sources: readonly Source[];
  readonly #limited: readonly Source[];
  /** What was found last, for the usual verbs. */
  #last: LastFound | undefined;

  constructor(sources: readonly Source[]) {
    const { limited = [], others = [] } = Object.groupBy(sources, (one) => (one.namespaces ? 'limited' : 'others'));
    this.#sources = others;
    this.#limited = limited;
  }

  /** Something is given in some namespaces alone. */
  get isLimited(): boolean {
    return this.#limited.length > 0;
  }

  /** One rule that allows the access for every name, or else all that allow it for some names. */
  judge(access: Access): readonly Found[] {
    if ('path' in access) return this.#judgePath(access.verb, access.path);
    const byVerb = this.#judge(access);
    const one = byVerb.get(access.verb) ?? [];
    const any = byVerb.get('*') ?? [];
    if (isForAll(one)) return one;
    if (isForAll(any) || one.length === 0) return any;
    return any.length === 0 ? one : [...one, ...any.filter(({ rule }) => !rule.verbs.has(access.verb))];
  }

  #judgePath(verb: string, path: string): readonly Found[] {
    for (const source of this.#sources) {
      const rule = source.rules.forPath(verb, path);
      if (rule) return [{ rule, source, isNamed: false }];
    }
    return [];
  }

  #judge(access: ResourceAccess): ByVerb {
    const { verb, group, resource } = access;
    const namespace = this.isLimited ? access.namespace : undefined;
    const sources = this.#sourcesIn(namespace);
    if (!usualVerbs.has(verb)) return give(sources, group, resource, [verb, '*']);
    const last = this.#last;
    if (last?.group !== group || last.resource !== resource || last.namespace !== namespace) {
      this.#last = { group, resource, namespace, byVerb: give(sources, group, resource, usualVerbs) };
    }
    return this.#last!.byVerb;
  }

  #sourcesIn(namespace: string | undefined): readonly Source[] {
    if (namespace === undefined) return this.#sources;
    const isIn = ({ namespaces }: Source) => namespace === someNamespace || namespaces!.has(namespace);
    return [...this.#sources, ...this.#limited.filter(isIn)];
  }

  /** The first grant of `other` that this layer lacks. @throws TooMuchToCompare */
  lacks(other: Layer, budget: Budget): Grant | undefined {
    if (other === this) return undefined;
    const missing = new Comparison(this.#rules(), budget).lacks(other.#rules());
    if (missing) return missing;
    for (const namespace of new Set(other.#limited.flatMap(({ namespaces }) => [...namespaces!]))) {
      const theirs = other.#limited.filter(({ namespaces }) => namespaces!.has(namespace));
      budget.spend(other.#limited.length + this.#limited.length);
      const comparison = new Comparison(rulesOf(this.#sourcesIn(namespace)), budget);
      const lacking = comparison.lacks(rulesOf(theirs), false);
      if (lacking) return 'path' in lacking ? lacking : { ...lacking, namespace };
    }
    return undefined;
  }

  firstGrant(): Grant | undefined {
    const [first] = [...this.#rules(), ...rulesOf(this.#limited)].flatMap((set) => set.rules);
    return first && firstGrant(first.rule);
  }

  #rules(): RuleSet[] {
    return rulesOf(this.#sources);
  }
}

function rulesOf(sources: readonly Source[]): RuleSet[] {
  return sources.map((source) => source.rules);
}

function give(sources: readonly Source[], group: string, resource: string, verbs: Iterable<string>): ByVerb {
  const byVerb: ByVerb = new Map([...verbs].map((verb) => [verb, []]));
  const entries = entriesFor(resource);
  for (const source of sources) {
    // A rule for some names counts once, whatever entries it has.
    const known = new Set<CompiledRule>();
    for (const entry of entries) {
      for (const rule of source.rules.withResource(entry)) {
        const { isNamed } = rule;
        if (!gives(rule.groups, group) || (isNamed && known.has(rule))) continue;
        if (isNamed) known.add(rule);
        take(byVerb, rule, source);
      }
    }
  }
  return byVerb;
}

function take(byVerb: ByVerb, rule: CompiledRule, source: Source): void {
  const { verbs, isNamed } = rule;
  let found: Found | undefined;
  for (const verb of verbs) {
    const known = byVerb.get(verb);
    if (!known || isForAll(known)) continue;
    if (!isNamed) known.length = 0;
    found ??= { rule, source, isNamed };
    known.push(found);
  }
}

function isForAll([first]: readonly Found[]): boolean {
  return first !== undefined && !first.isNamed;
}

/** Names that one decision can hold: as many as one role can have. */
const namesLimit = 10_000;
const tooManyNames = `the roles name more than ${namesLimit} objects, which a list cannot be limited to`;

/** What was found out for a verb on a resource, for all names at once. */
class Answer {
  /** When only some names are allowed: of each layer that says so, the rules with these. */
  readonly #named: readonly (readonly Found[])[];
  readonly #allowed: Decision;
  readonly #refused: Decision;
  readonly #together = new Map<readonly Found[], ReadonlySet<string> | undefined>();
  /** Of an access without a name. */
  #general: Decision | undefined;

  constructor(access: Access, found: readonly (readonly Found[])[], refusal: string) {
    const isAllowed = found.length > 0 && found.every((rules) => rules.length > 0);
    this.#refused = { allowed: false, reason: refusal };
    this.#allowed = isAllowed ? { allowed: true, reason: described(found) } : this.#refused;
    this.#named = isAllowed ? found.filter((rules) => !isForAll(rules)) : [];
    if (this.#named.length === 0) this.#general = this.#allowed;
    // The name of an object to be created may not be known yet, so a rule for names alone cannot allow it (as in Kubernetes).
    else if (access.verb === 'create') this.#general = this.#refused;
  }

  of(name: string | undefined): Decision {
    if (this.#named.length === 0) return this.#general!;
    if (name === undefined) {
      this.#general ??= this.#limited();
      return this.#general;
    }
    return this.#named.every((rules) => this.#names(rules)?.has(name) ?? hasName(rules, name))
      ? this.#allowed
      : this.#refused;
  }

  /** Allowed for the names that every layer has. */
  #limited(): Decision {
    const all = this.#named.map((rules) => this.#names(rules));
    if (all.includes(undefined)) return { allowed: false, reason: tooManyNames };
    const names = (all as ReadonlySet<string>[]).reduce((some, others) => some.intersection(others));
    return names.size > 0 ? { allowed: true, names, reason: this.#allowed.reason } : this.#refused;
  }

  /** The names that the rules have together; undefined when they are too many. */
  #names(rules: readonly Found[]): ReadonlySet<string> | undefined {
    if (!this.#together.has(rules)) this.#together.set(rules, unionOf(rules));
    return this.#together.get(rules);
  }
}

function unionOf(rules: readonly Found[]): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const { rule } of rules) {
    for (const name of rule.names) names.add(name);
    if (names.size > namesLimit) return undefined;
  }
  return names;
}

function hasName(rules: readonly Found[], name: string): boolean {
  return rules.some(({ rule }) => rule.names.includes(name));
}

/** Answers that one policy remembers; the number of resources that exist is far below, unknown ones come and go. */
const rememberedAnswers = 1_000;
/** Rules that an explanation shows. */
const shownRules = 20;

export class Policy {
  readonly layers: readonly Layer[];
  readonly #refusal: string;
  readonly #isLimited: boolean;
  #answers = new Map<string, Map<string, Map<string, Answer>>>();
  #count = 0;

  /** @param refusal why nothing is allowed, when there are no layers */
  constructor(layers: readonly Layer[], refusal = 'no role allows anything') {
    this.layers = layers;
    this.#refusal = refusal;
    this.#isLimited = layers.some((layer) => layer.isLimited);
  }

  decide(access: Access): Decision {
    return this.#answer(access).of('path' in access ? undefined : access.name);
  }

  explain(access: Access): Explanation {
    const decision = this.decide(access);
    if (!decision.allowed) return { allowed: false, reason: decision.reason, because: [] };
    const name = 'path' in access ? undefined : access.name;
    const because = this.layers
      .flatMap((layer) => layer.judge(access))
      .filter(({ rule, isNamed }) => name === undefined || !isNamed || rule.names.includes(name));
    return {
      allowed: true,
      reason: decision.reason,
      ...(decision.names && { names: [...decision.names].sort() }),
      because: because.slice(0, shownRules).map(sourced),
    };
  }

  /** A grant that `other` has and this policy lacks; undefined when this one has all that `other` has. @throws TooMuchToCompare */
  lacks(other: Policy): Grant | undefined {
    if (other.layers.length === 0) return undefined;
    if (this.layers.length === 0) return other.layers.map((layer) => layer.firstGrant()).find((grant) => grant);
    const budget = new Budget();
    for (const mine of this.layers) {
      const missing = other.layers.map((theirs) => mine.lacks(theirs, budget));
      if (missing.every((grant) => grant !== undefined)) return missing[0];
    }
    return undefined;
  }

  /** Nested maps rather than one with a joined key: no text is built on the hot path. */
  #answer(access: Access): Answer {
    const first = 'path' in access ? '\0path' : access.group;
    const second = 'path' in access ? access.path : access.resource;
    const namespace = this.#isLimited && !('path' in access) ? access.namespace : undefined;
    const third = namespace === undefined ? access.verb : `${access.verb} ${namespace}`;
    const known = this.#answers.get(first)?.get(second)?.get(third);
    if (known) return known;
    const answer = this.#work(access);
    if (this.#count >= rememberedAnswers) {
      this.#answers = new Map();
      this.#count = 0;
    }
    this.#count++;
    const seconds = getOrMake(this.#answers, first);
    getOrMake(seconds, second).set(third, answer);
    return answer;
  }

  #work(access: Access): Answer {
    const refusal = this.layers.length > 0 ? refusalOf(access) : this.#refusal;
    const found: (readonly Found[])[] = [];
    for (const layer of this.layers) {
      found.push(layer.judge(access));
      if (found.at(-1)!.length === 0) break;
    }
    return new Answer(access, found, refusal);
  }
}

function getOrMake<V>(map: Map<string, Map<string, V>>, key: string): Map<string, V> {
  let value = map.get(key);
  if (!value) {
    value = new Map();
    map.set(key, value);
  }
  return value;
}

function sourced({ rule: { rule }, source }: Found): SourcedRule {
  const { binding, namespaces } = source;
  return {
    rule,
    roles: wayTo(source),
    ...(binding !== undefined && { binding }),
    ...(namespaces && { namespaces: [...namespaces].sort() }),
  };
}

function wayTo(source: Source): string[] {
  const roles: string[] = [];
  for (let at: Source | undefined = source; at; at = at.via) roles.push(at.role);
  return roles.reverse();
}

/** Ways, and roles on each, that a reason shows. */
const shown = { ways: 5, roles: 10 };

/** `role "a" → "b" (RoleBinding "x"); …`. */
function described(found: readonly (readonly Found[])[]): string {
  const first = found.flatMap((rules) => rules.slice(0, shown.ways)).slice(0, shown.ways);
  const ways = first.map(({ source }) => {
    const roles = wayTo(source).map((role) => `"${role}"`);
    if (roles.length > shown.roles) roles.splice(shown.roles - 1, roles.length - shown.roles, '…');
    const way = `role ${roles.join(' → ')}`;
    return source.binding === undefined ? way : `${way} (RoleBinding "${source.binding}")`;
  });
  const count = found.reduce((sum, rules) => sum + rules.length, 0);
  if (count > shown.ways) ways.push(`${count - shown.ways} more`);
  return ways.join('; ');
}

function refusalOf(access: Access): string {
  return `no rule allows to ${'path' in access ? inWords(access) : inWords({ ...access, name: undefined })}`;
}
