/**
 * What one identity may do, compiled. A *layer* is a set of rules of which one has to allow; a *policy* is one layer, or
 * two that both have to allow (a user's rights, narrowed by a token's roles). Answers are remembered, so that the cost of a
 * decision does not depend on the number of rules.
 */
import type { Access, Decision } from '../resource/access.ts';
import type { Extent, Grant, Rule } from './rule.ts';
import { covers, extentOf, grantsOf } from './rule.ts';

/** A rule with the way on which it came to somebody. */
export interface SourcedRule {
  readonly rule: Rule;
  /** From the role that was given to the role that holds the rule, through dependencies and aggregation. */
  readonly roles: readonly string[];
  /** The RoleBinding that gave the first of the roles; none for roles that come with the credential. */
  readonly binding?: string;
}

/** The answer to "why": a decision with the rules that made it. */
export interface Explanation {
  readonly allowed: boolean;
  readonly reason: string;
  /** Only these objects. */
  readonly names?: readonly string[];
  readonly because: readonly SourcedRule[];
}

export class Layer {
  readonly rules: readonly SourcedRule[];
  readonly #byResource = new Map<string, SourcedRule[]>();
  readonly #wild: SourcedRule[] = [];

  constructor(rules: readonly SourcedRule[]) {
    this.rules = rules;
    for (const rule of rules) {
      const resources = rule.rule.resources ?? [];
      const groups = rule.rule.apiGroups ?? [];
      if (groups.includes('*') || resources.some((one) => one.includes('*') || one.includes('/')))
        this.#wild.push(rule);
      else {
        for (const group of groups) {
          for (const resource of resources) {
            const key = `${group}/${resource}`;
            const list = this.#byResource.get(key);
            if (list) list.push(rule);
            else this.#byResource.set(key, [rule]);
          }
        }
        if (rule.rule.nonResourceURLs?.length) this.#wild.push(rule);
      }
    }
  }

  /** Every rule that could have a say; each at most twice. */
  *candidates(access: Access | Grant): Generator<SourcedRule> {
    yield* this.#wild;
    if (!('path' in access)) yield* this.#byResource.get(`${access.group}/${access.resource}`) ?? [];
  }

  /** The rules that allow something of the access, and how much they allow together. */
  judge(access: Access): { extent: Extent; because: SourcedRule[] } {
    const named: SourcedRule[] = [];
    const names = new Set<string>();
    for (const source of this.candidates(access)) {
      const extent = extentOf(source.rule, access);
      if (extent === 'all') return { extent, because: [source] };
      if (extent === undefined) continue;
      named.push(source);
      for (const name of extent) names.add(name);
    }
    return { extent: names.size > 0 ? [...names] : undefined, because: named };
  }

  /** The first grant of `other` that this layer lacks. */
  lacks(other: Layer): Grant | undefined {
    if (other === this) return undefined;
    for (const { rule } of other.rules) {
      for (const grant of grantsOf(rule)) {
        let covered = false;
        for (const source of this.candidates(grant)) covered ||= covers(source.rule, grant);
        if (!covered) return grant;
      }
    }
    return undefined;
  }
}

type Allowed = Decision & { readonly allowed: true };

/** What was found out for a verb on a resource, for all names at once. */
interface Answer {
  readonly general: Decision;
  /** Per name, when only some are allowed. */
  readonly named?: ReadonlyMap<string, Allowed>;
  readonly otherwise: Decision;
}

/** Answers that one policy remembers; the number of resources that exist is far below, unknown ones come and go. */
const rememberedAnswers = 1_000;

export class Policy {
  readonly layers: readonly Layer[];
  readonly #refusal: string;
  #answers = new Map<string, Map<string, Map<string, Answer>>>();
  #count = 0;

  /** @param refusal why nothing is allowed, when there are no layers */
  constructor(layers: readonly Layer[], refusal = 'no role allows anything') {
    this.layers = layers;
    this.#refusal = refusal;
  }

  decide(access: Access): Decision {
    const answer = this.#answer(access);
    if ('path' in access || access.name === undefined || answer.named === undefined) return answer.general;
    return answer.named.get(access.name) ?? answer.otherwise;
  }

  explain(access: Access): Explanation {
    const decision = this.decide(access);
    const because = this.layers
      .flatMap((layer) => layer.judge(access).because)
      .filter((source) => {
        if (!('name' in access) || access.name === undefined) return true;
        const extent = extentOf(source.rule, access);
        return extent === 'all' || extent?.includes(access.name);
      });
    if (!decision.allowed) return { allowed: false, reason: decision.reason, because: [] };
    return {
      allowed: true,
      reason: decision.reason,
      ...(decision.names && { names: [...decision.names].sort() }),
      because,
    };
  }

  /** A grant that `other` has and this policy lacks; undefined when this one has all that `other` has. */
  lacks(other: Policy): Grant | undefined {
    if (other.layers.length === 0) return undefined;
    if (this.layers.length === 0) return firstGrant(other);
    for (const mine of this.layers) {
      const missing = other.layers.map((theirs) => mine.lacks(theirs));
      if (missing.every((grant) => grant !== undefined)) return missing[0];
    }
    return undefined;
  }

  /** Nested maps rather than one with a joined key: no text is built on the hot path. */
  #answer(access: Access): Answer {
    const first = 'path' in access ? '\0path' : access.group;
    const second = 'path' in access ? access.path : access.resource;
    const known = this.#answers.get(first)?.get(second)?.get(access.verb);
    if (known) return known;
    const answer = this.#work(access);
    if (this.#count >= rememberedAnswers) {
      this.#answers = new Map();
      this.#count = 0;
    }
    this.#count++;
    const seconds = getOrMake(this.#answers, first);
    getOrMake(seconds, second).set(access.verb, answer);
    return answer;
  }

  #work(access: Access): Answer {
    const refused: Decision = { allowed: false, reason: this.layers.length ? refusalOf(access) : this.#refusal };
    let names: readonly string[] | undefined;
    const because: SourcedRule[] = [];
    for (const layer of this.layers) {
      const found = layer.judge(access);
      if (found.extent === undefined) return { general: refused, otherwise: refused };
      if (found.extent !== 'all') {
        const these = new Set(found.extent);
        names = names ? names.filter((name) => these.has(name)) : found.extent;
      }
      because.push(...found.because);
    }
    if (because.length === 0) return { general: refused, otherwise: refused };
    const reason = because.map(described).join('; ');
    if (names === undefined) {
      const general: Allowed = { allowed: true, reason };
      return { general, otherwise: general };
    }
    const one: Allowed = { allowed: true, reason };
    // The name of an object to be created may not be known yet, so a rule for names alone cannot allow it (as in Kubernetes).
    const general: Decision =
      names.length > 0 && access.verb !== 'create' ? { allowed: true, names: new Set(names), reason } : refused;
    return { general, named: new Map(names.map((name) => [name, one])), otherwise: refused };
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

function firstGrant(policy: Policy): Grant | undefined {
  for (const layer of policy.layers) {
    for (const { rule } of layer.rules) for (const grant of grantsOf(rule)) return grant;
  }
  return undefined;
}

/** `roles "a" → "b" (RoleBinding "x")`. */
function described(source: SourcedRule): string {
  const roles = `role ${source.roles.map((role) => `"${role}"`).join(' → ')}`;
  return source.binding === undefined ? roles : `${roles} (RoleBinding "${source.binding}")`;
}

/** A grant or an access in words. */
export function inWords(access: Access | Grant): string {
  if ('path' in access) return `${access.verb} ${access.path}`;
  const name = access.name === undefined ? '' : ` "${access.name}"`;
  return `${access.verb} ${access.resource}${access.group === '' ? '' : `.${access.group}`}${name}`;
}

function refusalOf(access: Access): string {
  return `no rule allows to ${'path' in access ? inWords(access) : inWords({ ...access, name: undefined })}`;
}
