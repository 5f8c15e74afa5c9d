/**
 * What rules in CEL cost: processor time to check one rule once, in interleaved rounds; the lowest round counts.
 *
 * `node bench/rules.ts`
 */
import { compileRules } from '../src/cel/rules.ts';

const rounds = 15;
const text = { type: 'string' };
const integer = { type: 'integer' };
const port = { type: 'object', properties: { name: text, port: integer }, required: ['name', 'port'] };
const schema = {
  type: 'object',
  properties: {
    min: integer,
    max: integer,
    name: text,
    note: text,
    at: { type: 'string', format: 'date-time' },
    size: text,
    ports: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: port,
    },
    labels: { type: 'object', additionalProperties: text },
  },
};
const value = {
  min: 1,
  max: 9,
  name: 'web-1.example.com',
  at: '2026-01-02T03:04:05Z',
  size: '1.5Gi',
  ports: Array.from({ length: 20 }, (_, i) => ({ name: `port-${i}`, port: 8_000 + i })),
  labels: { app: 'web', tier: 'front', team: 'a' },
};

const rules: readonly (readonly [string, string])[] = [
  ['two numbers', 'self.max >= self.min'],
  ['immutable text', 'self.name == oldSelf.name'],
  ['immutable object', 'self == oldSelf'],
  ['perhaps absent', '!has(self.note) || self.note.size() < 9'],
  ['regular expression', "self.name.matches('^[a-z0-9-]+([.][a-z0-9-]+)*$')"],
  ['time', "self.at > timestamp('2020-01-01T00:00:00Z')"],
  ['quantity', "quantity(self.size).isLessThan(quantity('4Gi'))"],
  ['map', "self.labels.all(key, key.startsWith('t') || key == 'app')"],
  ['list of 20', 'self.ports.all(one, one.port > 1024)'],
  ['list of 20, each with each', 'self.ports.all(a, self.ports.exists_one(b, b.name == a.name))'],
  ['format of a text', '!format.dns1123Subdomain().validate(self.name).hasValue()'],
];

const compiled = rules.map(([name, rule]) => {
  const made = compileRules({ ...schema, 'x-kubernetes-validations': [{ rule }] });
  const stored = structuredClone(value);
  const found = made.check(value, stored);
  if (made.problems.length > 0 || found.length > 0)
    throw new Error(`${rule}: ${JSON.stringify([made.problems, found])}`);
  return { name, rule, check: () => made.check(value, stored), lowest: Number.POSITIVE_INFINITY };
});
for (let round = 0; round < rounds; round++) {
  for (const one of compiled) {
    const times = 2_000;
    const before = process.cpuUsage();
    for (let i = 0; i < times; i++) one.check();
    const { user, system } = process.cpuUsage(before);
    one.lowest = Math.min(one.lowest, (user + system) / times);
  }
}
for (const { name, rule, lowest } of compiled) console.log(`| ${name} | \`${rule}\` | ${lowest.toFixed(1)} |`);
