import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from './io.ts';
import { Template } from './jsonpath.ts';

/** The input of https://kubernetes.io/docs/reference/kubectl/jsonpath/ */
const input = {
  kind: 'List',
  items: [
    {
      kind: 'None',
      metadata: { name: '127.0.0.1', labels: { 'kubernetes.io/hostname': '127.0.0.1' } },
      status: { capacity: { cpu: '4' }, addresses: [{ type: 'LegacyHostIP', address: '127.0.0.1' }] },
    },
    {
      kind: 'None',
      metadata: { name: '127.0.0.2' },
      status: {
        capacity: { cpu: '8' },
        addresses: [
          { type: 'LegacyHostIP', address: '127.0.0.2' },
          { type: 'another', address: '127.0.0.3' },
        ],
      },
    },
  ],
  users: [
    { name: 'myself', user: {} },
    { name: 'e2e', user: { username: 'admin', password: 'secret' } },
  ],
  odd: { 'a.b': 1, none: null, big: 1e21, deep: [[1, 2], [3]], n: [5, 6, 7, 8] },
};

const cases: { template: string; expected: string }[] = [
  // kubectl's documented ones; maps and lists are printed as JSON, as current versions do.
  { template: 'kind is {.kind}', expected: 'kind is List' },
  { template: "{['kind']}", expected: 'List' },
  { template: '{[\'kind\']} {["kind"]}', expected: 'List List' },
  { template: '{.users..name}', expected: 'myself e2e' },
  { template: '{.items[*].metadata.name}', expected: '127.0.0.1 127.0.0.2' },
  { template: '{.users[0].name}', expected: 'myself' },
  {
    template: "{.items[*]['metadata.name', 'status.capacity']}",
    expected: '127.0.0.1 127.0.0.2 {"cpu":"4"} {"cpu":"8"}',
  },
  { template: '{.users[?(@.name=="e2e")].user.password}', expected: 'secret' },
  {
    template: '{range .items[*]}[{.metadata.name}, {.status.capacity}] {end}',
    expected: '[127.0.0.1, {"cpu":"4"}] [127.0.0.2, {"cpu":"8"}] ',
  },
  { template: "{range .items[*]}{.metadata.name}{'\\t'}{end}", expected: '127.0.0.1\t127.0.0.2\t' },
  { template: '{.items[0].metadata.labels.kubernetes\\.io/hostname}', expected: '127.0.0.1' },
  // The rest of the language.
  { template: '.kind', expected: 'List' },
  { template: '{$.kind}{"\\n"}', expected: 'List\n' },
  { template: "{['odd']['a\\.b']} {.odd.a\\.b}", expected: '1 1' },
  { template: '{.odd.none}{.odd.missing}{.users.name}', expected: 'null' },
  {
    template: '{.odd.n[-1]} {.odd.n[-2]} {.odd.n[1:3]} {.odd.n[:2]} {.odd.n[::2]} {.odd.n[-2:]}',
    expected: '8 7 6 7 5 6 5 7 7 8',
  },
  { template: '{.odd.n[0,2]} {.odd.n[9]}', expected: '5 7 ' },
  { template: '{.odd.deep[*][*]} {.odd.deep[1]}', expected: '1 2 3 [3]' },
  { template: '{.users[*].user.*}', expected: 'admin secret' },
  { template: '{.items[*].status.addresses[?(@.type != "another")].address}', expected: '127.0.0.1 127.0.0.2' },
  { template: '{.users[?(@.user.username)].name}', expected: 'e2e' },
  { template: "{.items[?(@.metadata.name>'127.0.0.1')].status.capacity.cpu}", expected: '8' },
  { template: '{.users[?(@.name==$.users[1].name)].name}', expected: 'e2e' },
  {
    template: '{range .items[*]}{range .status.addresses[*]}{.address},{end};{end}',
    expected: '127.0.0.1,;127.0.0.2,127.0.0.3,;',
  },
  { template: '{range .users[*]}{@.name}{$.kind} {end}', expected: 'myselfList e2eList ' },
  { template: '{ .kind }-{.users[*].name "!"}', expected: 'List-myself e2e!' },
  { template: '{..cpu}', expected: '4 8' },
  { template: '{.constructor}{.odd.__proto__}', expected: '' },
];
for (const { template, expected } of cases) {
  test(`JSONPath: ${template}`, () => {
    assert.equal(new Template(template).text(input), expected);
  });
}

test('JSONPath: the value itself, as JSON', () => {
  for (const template of ['{@}', '{.}', '{$}']) assert.deepEqual(JSON.parse(new Template(template).text(input)), input);
});

for (const { template, expected } of cases) {
  test(`JSONPath: what can be said item by item is the same - ${template}`, () => {
    const texts = new Template(template).ofItems();
    if (!texts) return;
    assert.equal(texts.before + input.items.map((item) => texts.next(item)).join('') + texts.after, expected);
  });
}

const streamed: { template: string; is: boolean }[] = [
  { template: '{.items[*].metadata.name}', is: true },
  { template: 'names: {.items[*].metadata.name}{"\\n"}', is: true },
  { template: '{range .items[*]}{.metadata.name}{"\\n"}{end}', is: true },
  { template: '{range .items[?(@.kind=="None")]}{.metadata.name}{"\\n"}{end}', is: true },
  { template: '{.items[0].kind}', is: true },
  { template: '{.items[-1].kind}', is: false },
  { template: "{.items[*]['kind', 'metadata.name']}", is: false },
  { template: '{.items[*].kind}{.items[*].kind}', is: false },
  { template: '{range .items[*]}{$.total}{end}', is: false },
  { template: '{.total}', is: false },
];
for (const { template, is } of streamed) {
  test(`JSONPath: ${template} is ${is ? '' : 'not '}said item by item`, () => {
    assert.equal(new Template(template).ofItems() !== undefined, is);
  });
}

const wrong: { template: string; message: RegExp }[] = [
  { template: '{kind}', message: /a path begins with "\.", "\[", "\$" or "@", before kind\}$/ },
  { template: '{.items[*}', message: /"\]" is missing, before \}$/ },
  { template: '{.items[]}', message: /stands in brackets/ },
  { template: '{range .items[*]}', message: /\{range\} without \{end\}, at the end$/ },
  { template: '{.kind}{end}', message: /\{end\} without \{range\}/ },
  { template: '{.items[?(@.a=="b")}', message: /"\]" is missing/ },
  { template: '{.items[?(@.a="b")]}', message: /"\)" is missing/ },
  { template: '{.odd.n[::0]}', message: /at least 1/ },
  { template: '{.kind', message: /./ },
  { template: '{"open}', message: /./ },
  { template: '', message: /./ },
];
for (const { template, message } of wrong) {
  test(`JSONPath: a template that cannot be parsed is an error - ${template}`, () => {
    assert.throws(
      () => new Template(template),
      (error: Error) => error instanceof UsageError && message.test(error.message),
    );
  });
}
