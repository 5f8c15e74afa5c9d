// The JSON Schema Test Suite for 2020-12 against the validator. What it leaves out or expects otherwise stands in the two
// tables below, each with its reason; docs/decisions/validation.md explains them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JsonSchema } from '../../src/model/json-schema.ts';
import { SchemaDocument } from '../../src/model/json-schema.ts';

interface Group {
  description: string;
  schema: JsonSchema;
  tests: { description: string; data: unknown; valid: boolean }[];
}

const suite: { files: Record<string, Group[]> } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'data/json-schema-2020-12.json'), 'utf8'),
);

/** Whole files. */
const leftOut: Readonly<Record<string, string>> = {};

/** `file: group: test`, or `file: group` for all of it. */
const differs: Readonly<Record<string, string>> = {};

let passed = 0;
for (const [file, groups] of Object.entries(suite.files)) {
  if (file in leftOut) continue;
  test(`contract 2: keywords and formats as the JSON Schema Test Suite says - ${file}`, () => {
    const failures: string[] = [];
    for (const { description, schema, tests } of groups) {
      let document: SchemaDocument | Error;
      try {
        document = new SchemaDocument(schema, { model: 'Suite', path: '', closed: false });
      } catch (error) {
        document = error as Error;
      }
      for (const { description: title, data, valid } of tests) {
        const name = `${file}: ${description}: ${title}`;
        const expected = name in differs || `${file}: ${description}` in differs ? !valid : valid;
        let found: boolean;
        try {
          if (document instanceof Error) throw document;
          found = document.validate(data, '').length === 0;
        } catch (error) {
          failures.push(`${name}: ${(error as Error).message}`);
          continue;
        }
        if (found !== expected) failures.push(`${name}: should be ${expected ? 'valid' : 'invalid'}`);
        else passed++;
      }
    }
    assert.deepEqual(failures, []);
  });
}
