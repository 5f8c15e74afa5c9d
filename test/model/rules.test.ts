/** Rules in CEL of models that code declares, in both forms. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Model, Scheme as SchemeType, ValidationRule } from 'kindred';
import { AbstractExtension, defineModel, GVK, KindredError, Schema, Scheme, Type } from 'kindred';
import { compareContracts, contractHash, contractOf, schemeOfContract } from '../../src/model/contract.ts';
import { kindred } from '../cli/command.ts';
import { Facade } from '../kube/harness.ts';

const gvk = { group: 'rules.example.com', version: 'v1', kind: 'Offer', singular: 'offer', plural: 'offers' } as const;
const subresources = { status: true };
const ordered: ValidationRule = {
  rule: 'self.spec.max >= self.spec.min',
  messageExpression: "'max must be at least ' + string(self.spec.min)",
  message: 'max must not be below min',
  fieldPath: '.spec.max',
};
const fixed: ValidationRule = { rule: 'self == oldSelf', message: 'cannot change', reason: 'FieldValueForbidden' };
const named: ValidationRule = { rule: "self.all(one, one.startsWith('t'))", message: 'tags begin with t' };

const Offer = defineModel({
  gvk,
  subresources,
  rules: [ordered],
  spec: Type.Object({
    min: Type.Integer(),
    max: Type.Integer(),
    currency: Type.String({ 'x-kubernetes-validations': [fixed] }),
    tags: Type.Optional(Type.Array(Type.String(), { 'x-kubernetes-validations': [named] })),
    note: Type.Optional(Type.String()),
  }),
  status: Type.Object({ sold: Type.Integer() }),
});

class OfferSpec {
  @Schema({ type: 'integer', requiredMode: 'REQUIRED' }) min!: number;
  @Schema({ type: 'integer', requiredMode: 'REQUIRED' }) max!: number;
  @Schema({ type: 'string', requiredMode: 'REQUIRED', rules: [fixed] }) currency!: string;
  @Schema({ items: 'string', rules: [named] }) tags?: string[];
  @Schema({ type: 'string' }) note?: string;
}
class OfferStatus {
  @Schema({ type: 'integer', requiredMode: 'REQUIRED' }) sold!: number;
}
@GVK({ ...gvk, subresources, rules: [ordered] })
class OfferClass extends AbstractExtension {
  @Schema({ type: OfferSpec }) spec!: OfferSpec;
  @Schema({ type: OfferStatus }) status?: OfferStatus;
}

const facade = new Facade({ kube: { enabled: true } });
let registered: SchemeType | undefined;

/** Takes the place of the model before; its objects stay. */
async function use(model: Model<any> | typeof OfferClass): Promise<void> {
  const { schemeManager, client } = facade.service;
  if (registered) schemeManager.unregister(registered);
  registered = schemeManager.register(model);
  await client.count(model as Model<any>);
}

before(() => facade.start());
after(() => facade.stop());

const offers = '/apis/rules.example.com/v1/offers';
const offer = (name: string, spec: object) => ({
  apiVersion: 'rules.example.com/v1',
  kind: 'Offer',
  metadata: { name },
  spec: { min: 1, max: 5, currency: 'EUR', ...spec },
});

async function patched(name: string, body: object) {
  const headers = { 'content-type': 'application/merge-patch+json' };
  const {
    status,
    json,
    headers: answered,
  } = await facade.send(`${offers}/${name}`, { method: 'PATCH', headers, body });
  const errors = json.errors?.map(({ pointer, message }: any) => `${pointer} ${message}`);
  return { status, errors, warning: answered.get('kindred-warning') };
}
const accepted = (warning: string | null = null) => ({ status: 200, errors: undefined, warning });
const refused = (...errors: string[]) => ({ status: 422, errors, warning: null });

describe('rules of declared models', () => {
  it('are the same in both forms, and part of the contract', () => {
    const [one, other] = [Offer, OfferClass].map((type) => contractOf(Scheme.buildFromType(type)));
    assert.deepEqual(compareContracts(one!, other!), []);
    assert.equal(contractHash(one!), contractHash(other!));
    const again = contractOf(schemeOfContract(one!));
    assert.equal(contractHash(again), contractHash(one!));
    const without = contractOf(Scheme.buildFromType(defineModel({ gvk, rules: [], spec: { type: 'object' } })));
    assert.equal(JSON.stringify(without).includes('"rules"'), false);
  });

  for (const [form, model] of [
    ['schema form', Offer],
    ['class form', OfferClass],
  ] as const) {
    it(`refuse what they do not allow, new and changed, in ${form}`, async () => {
      await use(model);
      const name = form.replace(' ', '-');
      const wrong = await facade.send(offers, { body: offer(name, { max: 0, tags: ['t', 'x'] }) });
      assert.equal(wrong.status, 422);
      assert.deepEqual(
        wrong.json.errors.map(({ pointer, keyword, message }: any) => [pointer, keyword, message]),
        [
          ['/spec/max', 'x-kubernetes-validations', 'max must be at least 1'],
          ['/spec/tags', 'x-kubernetes-validations', 'tags begin with t'],
        ],
      );
      // A rule about changes says nothing of a new object.
      assert.equal((await facade.send(offers, { body: offer(name, {}) })).status, 201);
      assert.deepEqual(await patched(name, { spec: { currency: 'USD' } }), refused('/spec/currency cannot change'));
      assert.deepEqual(await patched(name, { spec: { min: 6 } }), refused('/spec/max max must be at least 6'));
      assert.deepEqual(await patched(name, { spec: { max: 9 } }), accepted());
      const kube = await facade.kube(`${offers}/${name}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { spec: { min: 10, currency: 'USD' } },
      });
      assert.deepEqual(kube.json.details.causes, [
        { reason: 'FieldValueInvalid', message: 'Invalid value: "object": max must be at least 10', field: 'spec.max' },
        { reason: 'FieldValueForbidden', message: 'Forbidden: cannot change', field: 'spec.currency' },
      ]);
    });
  }

  it('are described by OpenAPI, discovery and explain', async () => {
    await use(Offer);
    const { text } = await facade.send('/v3/api-docs/apis_extension.api_v1alpha1');
    assert.ok(text.includes(ordered.rule) && text.includes(named.rule), text.slice(0, 200));
    const kube = await facade.kube('/openapi/v3/apis/rules.example.com/v1');
    assert.ok(kube.text.includes('"rule":"self == oldSelf"'), kube.text.slice(0, 200));
    const explained = await kindred(['explain', 'offers.spec', '--server', facade.url]);
    assert.match(explained.stdout, /rule: self == oldSelf \(cannot change\)/, explained.stderr);
    const whole = await kindred(['explain', 'offers', '--server', facade.url]);
    assert.match(whole.stdout, /rule: self\.spec\.max >= self\.spec\.min \(max must not be below min\)/);
  });

  it('warn of a violation that an update does not make', async () => {
    const Free = defineModel({ gvk, subresources, spec: {}, status: {} });
    await use(Free);
    const spec = { min: 9, max: 3, tags: ['x'] };
    assert.equal((await facade.send(offers, { body: offer('old', spec) })).status, 201);
    await use(Offer);
    // What the rule reads is as it was, and the object as a whole is not.
    assert.deepEqual(
      await patched('old', { spec: { note: 'a' } }),
      accepted('2 stored violations at /spec/max, /spec/tags'),
    );
    const status = await facade.send(`${offers}/old/status`, {
      method: 'PUT',
      body: { ...offer('old', spec), status: { sold: 1 } },
    });
    assert.equal(status.status, 200, status.text);
    assert.deepEqual(
      await patched('old', { metadata: { labels: { a: 'b' } } }),
      accepted('2 stored violations at /spec/max, /spec/tags'),
    );
    // The member that the violation names is as it was, and another one that the rule reads is not.
    assert.deepEqual(await patched('old', { spec: { min: 8 } }), refused('/spec/max max must be at least 8'));
    assert.deepEqual(await patched('old', { spec: { max: 4 } }), refused('/spec/max max must be at least 9'));
    assert.deepEqual(await patched('old', { spec: { max: 9 } }), accepted('1 stored violation at /spec/tags'));
    assert.deepEqual(await patched('old', { spec: { currency: 'USD' } }), refused('/spec/currency cannot change'));
    assert.deepEqual(await patched('old', { spec: { tags: ['t'] } }), accepted());
  });

  it('are checked beside stored violations of the schema, and not beside new ones that are in the way', async () => {
    await use(defineModel({ gvk, subresources, spec: {}, status: {} }));
    assert.equal((await facade.send(offers, { body: offer('odd', { note: 7 }) })).status, 201);
    await use(Offer);
    assert.deepEqual(await patched('odd', { spec: { max: 0 } }), refused('/spec/max max must be at least 1'));
    assert.deepEqual(await patched('odd', { spec: { max: 6 } }), accepted('1 stored violation at /spec/note'));
    assert.deepEqual(
      await patched('odd', { spec: { max: 'many', currency: 'USD' } }),
      refused('/spec/max must be integer, got string', ' some rules were not checked, because of the other violations'),
    );
  });

  it('follow references, patterns, alternatives with null, and items of lists', async () => {
    const positive = { 'x-kubernetes-validations': [{ rule: 'self.n > 0', message: 'must be positive' }] };
    const part = { type: 'object', properties: { n: { type: 'integer' } }, ...positive };
    const Tree = defineModel({
      gvk,
      spec: {
        type: 'object',
        properties: {
          first: { $ref: '#/$defs/part' },
          maybe: { anyOf: [{ $ref: '#/$defs/part' }, { type: 'null' }] },
          'a~b': { type: 'object', patternProperties: { '^p': { $ref: '#/$defs/part' } } },
          list: { type: 'array', items: { $ref: '#/$defs/part' } },
          both: { allOf: [{ $ref: '#/$defs/part' }, { properties: { m: { type: 'integer' } } }] },
          described: {
            $ref: '#/$defs/part',
            'x-kubernetes-validations': [{ rule: 'self.n < 9', message: 'too many' }],
          },
          open: {
            type: 'object',
            properties: { n: { type: 'object' } },
            additionalProperties: { $ref: '#/$defs/part' },
          },
        },
        $defs: { part },
      },
    });
    const bad = { n: 0 };
    const { validator } = Scheme.buildFromType(Tree);
    const spec = {
      first: bad,
      maybe: bad,
      'a~b': { p1: bad, q: 1 },
      list: [{ n: 1 }, bad],
      both: bad,
      described: { n: 9 },
      open: { n: { a: 1 }, x: bad },
    };
    const found = validator.validate({ ...offer('tree', {}), spec } as never);
    assert.deepEqual(found.listed.map(({ pointer }) => pointer).sort(), [
      '/spec/a~0b/p1',
      '/spec/both',
      '/spec/described',
      '/spec/first',
      '/spec/list/1',
      '/spec/maybe',
      '/spec/open/x',
    ]);
    // An item that moved in its list has no new violation.
    await use(defineModel({ gvk, spec: {} }));
    assert.equal(
      (await facade.send(offers, { body: { ...offer('tree', {}), spec: { list: [bad, { n: 1 }] } } })).status,
      201,
    );
    await use(Tree);
    const moved = { list: [{ n: 2 }, { n: 1 }, bad] };
    assert.deepEqual(
      await patched('tree', { spec: { ...moved, min: null, max: null, currency: null } }),
      accepted('1 stored violation at /spec/list/2'),
    );
    assert.deepEqual(await patched('tree', { spec: { list: [{ n: -1 }] } }), refused('/spec/list/0 must be positive'));
  });

  it('are checked when they are declared', () => {
    const list = { type: 'array', maxItems: 500, items: { type: 'integer' } };
    const declared =
      (rules: unknown, properties: object = {}) =>
      () =>
        defineModel({
          gvk,
          rules: rules as ValidationRule[],
          spec: { type: 'object', properties: { n: { type: 'integer' }, list, ...properties } },
        });
    const inner = (rule: unknown, more: object = {}) => ({
      inner: { type: 'object', properties: { n: { type: 'integer' } }, 'x-kubernetes-validations': [rule], ...more },
    });
    const cases: [() => unknown, RegExp][] = [
      [declared([{ rule: 'self.spec.m > 1' }]), /rules\/0\/rule: the rule does not compile: undefined field 'm'/],
      [declared([{ rule: 'self.metadata.labels.size() > 1' }]), /undefined field 'labels'/],
      [declared([{ rule: 'self.spec.n >' }]), /rules\/0\/rule: the rule does not compile: Syntax error/],
      [declared([{ rule: "self.spec.n == 'a'" }]), /no matching overload for '_==_' applied to '\(int, string\)'/],
      [declared([{ rule: 'self.spec.n' }]), /rules\/0\/rule: the rule must be true or false, not int/],
      [declared([{ rule: 'true', mesage: 'x' }]), /rules\/0\/mesage: a rule knows no member "mesage"; it knows rule, /],
      [declared([{ rule: 'true', message: 7 }]), /rules\/0\/message: must be a text/],
      [declared([{ rule: 'true', reason: 'Bad' }]), /rules\/0\/reason: must be one of FieldValueInvalid, /],
      [declared([{ rule: 'true', fieldPath: '.spec.m' }]), /rules\/0\/fieldPath: ".spec.m" names no member/],
      [declared(['true']), /rules\/0: a rule is an object with the member "rule"/],
      [declared('true'), /"rules" must be a list of at most 100 rules; got/],
      [
        declared([], inner({ rule: 'self.m > 1' })),
        /the schema at \/spec\/properties\/inner\/x-kubernetes-validations\/0\/rule: .*undefined field 'm'/,
      ],
      [
        declared([], { inner: { 'x-kubernetes-validations': {} } }),
        /\/spec\/properties\/inner\/x-kubernetes-validations must be a list of rules/,
      ],
      [
        declared([], { inner: { oneOf: [inner({ rule: 'true' }).inner, { type: 'string' }, { type: 'integer' }] } }),
        /\/oneOf\/0\/x-kubernetes-validations: rules cannot stand here/,
      ],
      [
        declared([], { inner: { type: 'array', items: inner({ rule: 'self == oldSelf' }).inner } }),
        /"oldSelf" cannot be used here/,
      ],
      [
        declared([{ rule: 'self.spec.list.all(a, self.spec.list.all(b, self.spec.list.all(c, a + b + c > 0)))' }]),
        /may take \d+ steps for the longest lists that the schema allows, more than 1000000/,
      ],
    ];
    for (const [declare, expected] of cases) {
      assert.throws(declare, (error) => {
        assert(error instanceof KindredError && error.code === 'InvalidModel');
        assert.match(error.message, expected);
        return true;
      });
    }
    const wait = { type: 'string', format: 'duration' };
    const at = { type: 'string', format: 'date-time' };
    const rule = "self.spec.wait.startsWith('P') && self.spec.at.getFullYear() > 2000";
    const { validator } = Scheme.buildFromType(declared([{ rule }], { wait, at })() as Model<any>);
    const spec = { n: 1, wait: 'P1D', at: '2026-01-01T00:00:00Z' };
    assert.deepEqual(validator.validate({ ...offer('a', {}), spec } as never).listed, []);
    declared([{ rule: 'self.spec.list.all(a, a > 0) && self.spec.n > 0' }])();
  });
});
