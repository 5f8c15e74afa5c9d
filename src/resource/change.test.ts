import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineModel } from '../model/define.ts';
import { Scheme } from '../model/scheme.ts';
import { Type } from '../model/type.ts';
import { AppliedChange } from './change.ts';
import { RegisteredModel } from './registered-model.ts';

const gvk = { group: 'things.example.com', version: 'v2', kind: 'Thing', singular: 'thing', plural: 'things' };
const spec = Type.Object({ text: Type.Optional(Type.String()) });
const same = (one: object) => one;

test('until a declaration has opened, a change is held against what it can read, and after that no change is', () => {
  const versions = { v1: { spec, toHub: same, fromHub: same } };
  const model = new RegisteredModel(Scheme.buildFromType(defineModel({ gvk, spec, versions })));
  model.since = 3;
  const object = { apiVersion: `${gvk.group}/v1`, kind: gvk.kind, metadata: { name: 'a', version: 0 }, spec: {} };
  const bytes = Buffer.from(JSON.stringify(object));
  const change = new AppliedChange({ revision: 4, type: 'update', model: 1, id: 1, name: 'a', time: 0, bytes }, model);
  change.assertReadable();

  model.replace(Scheme.buildFromType(defineModel({ gvk, spec })), model.rules);
  assert.throws(() => change.assertReadable(), { code: 'Expired' });
  model.since = 4;
  assert.throws(() => change.assertReadable(), { code: 'Expired' });
  model.since = 3;
  change.assertReadable();
});
