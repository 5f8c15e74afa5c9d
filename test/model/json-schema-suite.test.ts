// The JSON Schema Test Suite for 2020-12 against the validator. What it leaves out or expects otherwise stands in the
// tables below, each with its reason; docs/decisions/validation.md explains them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { SchemaDocument } from '../../src/schema/document.ts';
import type { JsonSchema } from '../../src/schema/keywords.ts';
import { nodeLoader } from '../../src/schema/node-loader.ts';

interface Group {
  description: string;
  schema: JsonSchema;
  tests: { description: string; data: unknown; valid: boolean }[];
}

const suite: { files: Record<string, Group[]> } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'data/json-schema-2020-12.json'), 'utf8'),
);

const elsewhere = 'refers to a document elsewhere, and nothing is fetched: refused at registration';
const unnamed = 'a format that the contract does not name: accepted with a warning at registration';
const annotation = 'the contract has the named formats checked, not only noted';

/** Files of formats that are not checked. */
const leftOut: Readonly<Record<string, string>> = {
  'optional/format/idn-email': unnamed,
  'optional/format/idn-hostname': unnamed,
  'optional/format/iri': unnamed,
  'optional/format/iri-reference': unnamed,
  'optional/format/relative-json-pointer': unnamed,
  'optional/format/uri-template': unnamed,
};

/** `file: group` or a whole file, whose schema must be refused. */
const refused: Readonly<Record<string, string>> = {
  'dynamicRef: $ref and $dynamicAnchor are independent of order - $defs first': elsewhere,
  'dynamicRef: $ref and $dynamicAnchor are independent of order - $ref first': elsewhere,
  'dynamicRef: $ref to $dynamicRef finds detached $dynamicAnchor': elsewhere,
  'dynamicRef: strict-tree schema, guards against misspelled properties': elsewhere,
  'dynamicRef: tests for implementation dynamic anchor and reference link': elsewhere,
  'optional/cross-draft': elsewhere,
  'refRemote: remote ref': elsewhere,
  'refRemote: fragment within remote ref': elsewhere,
  'refRemote: anchor within remote ref': elsewhere,
  'refRemote: ref within remote ref': elsewhere,
  'refRemote: base URI change': elsewhere,
  'refRemote: base URI change - change folder': elsewhere,
  'refRemote: base URI change - change folder in subschema': elsewhere,
  'refRemote: root ref in remote ref': elsewhere,
  'refRemote: remote ref with ref to defs': elsewhere,
  'refRemote: Location-independent identifier in remote ref': elsewhere,
  'refRemote: retrieved nested refs resolve relative to their URI not $id': elsewhere,
  'refRemote: remote HTTP ref with different $id': elsewhere,
  'refRemote: remote HTTP ref with different URN $id': elsewhere,
  'refRemote: remote HTTP ref with nested absolute ref': elsewhere,
  'refRemote: $ref to $ref finds detached $anchor': elsewhere,
};

/** `file: group: test`, expected the other way round. */
const differs: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      'date',
      'date-time',
      'duration',
      'email',
      'hostname',
      'ipv4',
      'ipv6',
      'json-pointer',
      'regex',
      'time',
      'uri',
      'uri-reference',
      'uuid',
    ].map((format) => [
      `format: ${format} format: invalid ${format} string is only an annotation by default`,
      annotation,
    ]),
  ),
  'vocabulary: schema that uses custom metaschema with with no validation vocabulary: no validation: invalid number, but it still validates':
    'another dialect than 2020-12: its $schema is refused at registration',
};

const counts = { passed: 0, differing: 0, refused: 0, leftOut: 0 };

for (const [file, groups] of Object.entries(suite.files)) {
  if (file in leftOut) {
    counts.leftOut += groups.flatMap((group) => group.tests).length;
    continue;
  }
  test(`objects: keywords and formats as the JSON Schema Test Suite says - ${file}`, () => {
    const failures: string[] = [];
    for (const { description, schema, tests } of groups) {
      const group = `${file}: ${description}`;
      const make = (): SchemaDocument =>
        new SchemaDocument(schema, { model: 'Suite', path: '', closed: false, loader: nodeLoader });
      if (group in refused || file in refused) {
        assert.throws(make, /schemas elsewhere are not fetched/, group);
        counts.refused += tests.length;
        continue;
      }
      const document = make();
      for (const { description: title, data, valid } of tests) {
        const name = `${group}: ${title}`;
        const expected = name in differs ? !valid : valid;
        const violations = document.validate(data, '');
        if ((violations.count === 0) !== expected)
          failures.push(`${name}: should be ${expected ? 'valid' : 'invalid'}`);
        else if (name in differs) counts.differing++;
        else counts.passed++;
      }
    }
    assert.deepEqual(failures, []);
  });
}

test('objects: the tables of exceptions name nothing that is not in the suite', () => {
  const groups = Object.entries(suite.files).flatMap(([file, list]) =>
    list.map((one) => ({ file, name: `${file}: ${one.description}`, tests: one.tests })),
  );
  const tests = new Set(groups.flatMap(({ name, tests: all }) => all.map((one) => `${name}: ${one.description}`)));
  const names = new Set(groups.flatMap(({ file, name }) => [file, name]));
  assert.deepEqual(
    [...Object.keys(leftOut), ...Object.keys(refused)].filter((name) => !names.has(name)),
    [],
  );
  assert.deepEqual(
    Object.keys(differs).filter((name) => !tests.has(name)),
    [],
  );
});

after(() => {
  const { passed, differing, refused: ofElsewhere, leftOut: ofUnnamed } = counts;
  console.log(
    `JSON Schema Test Suite: ${passed} as the suite says, ${differing} otherwise by contract, ` +
      `${ofElsewhere} refused (documents elsewhere), ${ofUnnamed} of formats that are not checked`,
  );
});
