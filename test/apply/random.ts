/** A schema, and random contents of its objects. */
import type { Random } from '../query/random.ts';
import type { Place } from './oracle.ts';

const text = { type: 'string' } as const;
const port = { type: 'integer' } as const;

const item = {
  type: 'object',
  required: ['port'],
  properties: {
    port,
    protocol: { type: 'string', default: 'TCP' },
    name: text,
    tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
  },
};

/** As a model has it, with a place of each kind, and some that are found by a reference, a pattern or an alternative. */
export const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        a: {},
        b: text,
        inner: { $ref: '#/$defs/inner' },
        whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: text },
        values: { type: 'array', items: text },
        tags: { allOf: [{ type: 'array', items: text, 'x-kubernetes-list-type': 'set' }] },
        ports: {
          anyOf: [{ $ref: '#/$defs/ports' }, { type: 'null' }],
        },
        free: { type: 'object', additionalProperties: text },
        listed: { type: 'object', patternProperties: { '^l-': { $ref: '#/$defs/ports' } } },
      },
    },
    status: { type: 'object', properties: { ready: { type: 'boolean' } } },
  },
  $defs: {
    inner: { type: 'object', properties: { x: text, y: text, deeper: { $ref: '#/$defs/inner' } } },
    ports: {
      type: 'array',
      items: item,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
    },
  },
};

const ports: Place = {
  list: 'map',
  keys: [{ name: 'port' }, { name: 'protocol', initial: 'TCP' }],
  items: { members: { tags: { list: 'set' } } },
};

/** The same for the oracle. */
export const places: Place = {
  members: {
    metadata: {
      members: {
        finalizers: { list: 'set' },
        ownerReferences: { list: 'map', keys: [{ name: 'uid' }], items: { atomic: true } },
      },
    },
    spec: {
      members: {
        whole: { atomic: true },
        tags: { list: 'set' },
        ports,
        listed: { members: { 'l-1': ports, 'l-2': ports } },
      },
    },
  },
};

type Content = Record<string, unknown>;

export class Contents {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** What one manager applies, or all of an object. @param density how much of it there is, from 0 to 1 */
  content(density: number): Content {
    const { metadata, status, ...rest } = this.#members(density, {
      metadata: () =>
        this.#members(density, {
          labels: () => this.#members(density, { 'app/x': () => this.#word(), y: () => this.#word() }),
          annotations: () => this.#members(density, { n: () => this.#word() }),
          finalizers: () => this.#subset(['f1', 'f2', 'f3']),
          ownerReferences: () => this.#subset(['u1', 'u2']).map((uid) => ({ uid, name: this.#word() })),
        }),
      spec: () => this.#spec(density),
      status: () => this.#members(density, { ready: () => this.#random.chance(0.5) }),
    });
    // Empty metadata is no field: every object has some.
    const own = metadata && Object.keys(metadata).length > 0 ? { metadata } : {};
    return { ...own, ...rest, ...(status !== undefined && { status }) };
  }

  #spec(density: number): Content {
    return this.#members(density, {
      a: () => this.#anything(2),
      b: () => this.#word(),
      inner: () => this.#inner(density, 2),
      whole: () => this.#members(density, { p: () => this.#word(), q: () => this.#word() }),
      values: () => this.#subset(['x', 'y', 'z']),
      tags: () => this.#subset(['x', 'y', 'z', 'q']),
      ports: () => this.#ports(density),
      free: () =>
        this.#members(density, {
          'k.1': () => this.#word(),
          __proto__x: () => this.#word(),
          'k/3': () => this.#word(),
        }),
      listed: () => this.#members(density, { 'l-1': () => this.#ports(density), 'l-2': () => this.#ports(density) }),
    });
  }

  #inner(density: number, depth: number): Content {
    return this.#members(density, {
      x: () => this.#word(),
      y: () => this.#word(),
      ...(depth > 0 && { deeper: () => this.#inner(density, depth - 1) }),
    });
  }

  #ports(density: number): Content[] {
    return this.#subset(['80 TCP', '80 UDP', '81', '82 UDP']).map((key) => {
      const [port, protocol] = key.split(' ') as [string, string | undefined];
      return {
        port: Number(port),
        ...(protocol !== undefined && (protocol !== 'TCP' || this.#random.chance(0.5)) && { protocol }),
        ...this.#members(density, { name: () => this.#word(), tags: () => this.#subset(['x', 'y', 'z']) }),
      };
    });
  }

  /** A place that has values of every kind. */
  #anything(depth: number): unknown {
    switch (this.#random.below(depth > 0 ? 6 : 3)) {
      case 0:
        return this.#word();
      case 1:
        return null;
      case 2:
        return this.#random.below(3);
      case 3:
        return this.#subset(['x', 'y']);
      default:
        return this.#members(0.6, { m: () => this.#anything(depth - 1), n: () => this.#anything(depth - 1) });
    }
  }

  #members(density: number, members: Readonly<Record<string, () => unknown>>): Content {
    const names = this.#shuffled(Object.keys(members)).filter(() => this.#random.chance(density));
    return Object.fromEntries(names.map((name) => [name, members[name]!()]));
  }

  #subset(all: readonly string[]): string[] {
    return this.#shuffled(all).filter(() => this.#random.chance(0.5));
  }

  #word(): string {
    return 'abc'[this.#random.below(3)]!;
  }

  #shuffled<T>(all: readonly T[]): T[] {
    const rest = [...all];
    return all.map(() => rest.splice(this.#random.below(rest.length), 1)[0]!);
  }
}
