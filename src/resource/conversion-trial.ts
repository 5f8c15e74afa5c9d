/** Conversions of a model with several versions, tried on random objects of its schemas. */
import { messageOf } from '../errors.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Content } from '../model/versions.ts';
import { readJson } from '../runtime/read-json.ts';
import { isEqual } from '../schema/json-value.ts';
import type { Random } from './generate.ts';
import { generate, pick, seeded } from './generate.ts';
import { contentOnly, differencesOf, threeWay } from './three-way.ts';
import { Versions } from './versions.ts';

export interface ConversionOptions {
  /** Objects that are generated in each version. Default 1,000. */
  readonly runs?: number;
  /** Where the random objects begin; a failure names it. Default: another one each time. */
  readonly seed?: number;
  /**
   * Contents (`{ spec, status }`; of a model with `schema` all members) by version, which are tried too: for what random objects
   * seldom are, and for schemas whose values cannot be guessed, such as a `pattern`.
   */
  readonly examples?: Readonly<Record<string, readonly object[]>>;
}

/** What is wrong with a conversion, shown at the shortest object for which it is. */
interface ConversionProblem {
  readonly what: string;
  readonly objects: number;
  readonly content: Content;
}

/** What is asked of the conversions of a version. */
export const properties = ['valid', 'kept', 'shown', 'written', 'pure'] as const;
export type Property = (typeof properties)[number];

export interface ConversionReport {
  /** Objects that were tried, by version. */
  readonly objects: Readonly<Record<string, number>>;
  readonly problems: Readonly<Record<Property, ConversionProblem | undefined>>;
  /** Pointers to what the version cannot say of the objects of the hub. No fault: it stays as it is stored. */
  readonly hidden: readonly string[];
}

/** @param version of a spoke of the model */
export function tryConversions(
  hub: Scheme,
  version: string,
  { runs, seed, examples = {} }: ConversionOptions & { readonly runs: number; readonly seed: number },
): ConversionReport {
  const random = seeded(seed);
  const spoke = hub.inVersion(version)!;
  const contents = new Map(
    [spoke, hub].map((scheme) => [
      scheme,
      contentsOf(scheme, runs, random, examples[scheme.groupVersionKind.version] ?? []),
    ]),
  );
  const trial = new Trial(hub, spoke);
  for (const content of contents.get(spoke)!) trial.ofSpoke(content);
  for (const content of contents.get(hub)!) trial.ofHub(content, pick(contents.get(spoke)!, random));
  const counted = [...contents].map(([{ groupVersionKind: gvk }, list]) => [gvk.version, list.length] as const);
  return { objects: Object.fromEntries(counted), problems: trial.problems(), hidden: [...trial.hidden].slice(0, 20) };
}

/** Tries for each object that is wanted, at most. */
const tries = 50;

/** Valid contents. Throws when none can be generated. */
function contentsOf(scheme: Scheme, runs: number, random: Random, examples: readonly object[]): Content[] {
  const { version } = scheme.groupVersionKind;
  const found: Content[] = [];
  for (const example of examples) {
    const problem = problemOf(scheme, example as Content);
    if (problem) throw new Error(`an example of ${version} is invalid: ${problem}`);
    found.push(example as Content);
  }
  for (let left = runs * tries; left > 0 && found.length < runs + examples.length; left--) {
    const content = generated(scheme, random);
    if (!problemOf(scheme, content)) found.push(content);
    // A schema of which no value can be guessed.
    if (found.length === examples.length && left < runs * tries - 2_000) break;
  }
  if (found.length === 0)
    throw new Error(`no valid object of ${version} could be generated from its schema: give some in "examples"`);
  return found;
}

function generated({ documents: { spec, status, schema }, specRequired }: Scheme, random: Random): Content {
  if (schema !== undefined) return generate(schema, random) as Content;
  return {
    ...(spec !== undefined && (specRequired || random() < 0.8) && { spec: generate(spec, random) }),
    ...(status !== undefined && random() < 0.5 && { status: generate(status, random) }),
  };
}

function problemOf(scheme: Scheme, content: Content): string | undefined {
  const [first] = scheme.validator.validate(withDefaults(scheme, objectOf(scheme, content))).listed;
  return first && `${first.pointer || 'the object'} ${first.message}`;
}

function objectOf({ apiVersion, groupVersionKind: { kind } }: Scheme, content: Content): ExtensionObject {
  return readJson(JSON.stringify({ apiVersion, kind, metadata: { name: 'generated' }, ...content })) as ExtensionObject;
}

function withDefaults(scheme: Scheme, object: ExtensionObject): ExtensionObject {
  scheme.validator.applyDefaults(object);
  return object;
}

class Trial {
  readonly #hub: Scheme;
  readonly #spoke: Scheme;
  readonly #versions: Versions;
  readonly #found = new Map<Property, ConversionProblem>();
  readonly hidden = new Set<string>();

  constructor(hub: Scheme, spoke: Scheme) {
    this.#hub = hub;
    this.#spoke = spoke;
    this.#versions = Versions.of(hub)!;
  }

  problems(): Record<Property, ConversionProblem | undefined> {
    return Object.fromEntries(properties.map((one) => [one, this.#found.get(one)])) as ReturnType<Trial['problems']>;
  }

  /** An object that a client wrote in the version. */
  ofSpoke(content: Content): void {
    const inHub = this.#to(this.#hub, this.#spoke, content);
    if (!inHub) return;
    const back = this.#to(this.#spoke, this.#hub, inHub);
    if (!back) return;
    const [was, is] = [content, back].map((one) => contentOnly(withDefaults(this.#spoke, objectOf(this.#spoke, one))));
    const [pointer] = differencesOf(was, is);
    if (pointer !== undefined)
      this.#report(
        'kept',
        content,
        `${pointer || 'the object'} is another one when it comes back: ${JSON.stringify(back)}`,
      );
  }

  /** An object of the hub, read through the version, and a change that is written through it. */
  ofHub(content: Content, change: Content): void {
    const stored = contentOnly(withDefaults(this.#hub, objectOf(this.#hub, content)));
    const shown = this.#to(this.#spoke, this.#hub, stored);
    if (!shown) return;
    const base = this.#to(this.#hub, this.#spoke, shown);
    if (!base) return;
    for (const pointer of differencesOf(stored, base)) this.hidden.add(pointer || '/');
    const again = this.#to(this.#hub, this.#spoke, shown);
    if (!isEqual(threeWay(stored, base, again), stored))
      this.#report('shown', content, 'reading and writing back changes it');
    const mine = this.#to(this.#hub, this.#spoke, change);
    if (!mine) return;
    const merged = threeWay(stored, base, mine) as Content;
    const problem = problemOf(this.#hub, merged);
    const wrote = `${JSON.stringify(change)} is written through ${this.#spoke.groupVersionKind.version}`;
    if (problem) return this.#report('written', content, `${wrote}, and what is stored then is invalid: ${problem}`);
    const read = this.#to(this.#spoke, this.#hub, merged);
    if (!read) return;
    const [sent, got] = [change, read].map((one) => contentOnly(withDefaults(this.#spoke, objectOf(this.#spoke, one))));
    const [pointer] = differencesOf(sent, got);
    if (pointer !== undefined)
      this.#report('written', content, `${wrote}, and read as ${JSON.stringify(read)}: ${pointer}`);
  }

  /** Undefined when that fails, which is reported. */
  #to(to: Scheme, from: Scheme, content: Content): Content | undefined {
    const name = `${from.groupVersionKind.version} → ${to.groupVersionKind.version}`;
    try {
      const [once, twice] = [0, 1].map(() => this.#versions.convert(objectOf(from, content), to.apiVersion));
      const result = contentOnly(once!);
      if (!isEqual(result, contentOnly(twice!)))
        this.#report('pure', content, `${name} gives something else each time`);
      const problem = problemOf(to, result);
      if (problem)
        this.#report('valid', content, `${name} makes an invalid object: ${problem}: ${JSON.stringify(result)}`);
      return problem ? undefined : result;
    } catch (error) {
      const cause = (error as Error).cause ?? error;
      // The input is frozen.
      const isChange = cause instanceof TypeError && /read only|not extensible|Cannot delete/.test(cause.message);
      this.#report(isChange ? 'pure' : 'valid', content, `${name} fails: ${messageOf(cause)}`);
      return undefined;
    }
  }

  #report(property: Property, content: Content, what: string): void {
    const known = this.#found.get(property);
    const isShorter = !known || JSON.stringify(content).length < JSON.stringify(known.content).length;
    this.#found.set(property, {
      ...(isShorter ? { what, content } : known),
      objects: (known?.objects ?? 0) + 1,
    });
  }
}
