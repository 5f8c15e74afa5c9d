import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConsole, checkImports } from './check-imports.ts';

const check = (files: Record<string, string>): string[] => checkImports(new Map(Object.entries(files)));

test('arrows in the table pass', () => {
  assert.deepEqual(
    check({
      'errors.ts': '',
      'index.ts': "export * from './service.ts';",
      'service.ts': "import './http/app.ts';",
      'model/gvk.ts': "import { KindredError } from '../errors.ts';",
      'model/names.ts': "import { gvk } from './gvk.ts';",
      'client/client.ts': "import type { Gvk } from '../model/gvk.ts';",
      'plugin/host.ts': "import { routes } from '../http/custom/routes.ts';\nimport fastify from 'fastify';",
      'store/sql.test.ts': "import { anything } from '../http/app.ts';",
    }),
    [],
  );
});

test('arrows that are not in the table are named with their line', () => {
  assert.deepEqual(
    check({
      'model/gvk.ts': "\nimport { run } from '../query/execute.ts';",
      'store/sql.ts': "export type { Gvk } from '../model/gvk.ts';",
      'plugin/host.ts': "const app = await import('../http/app.ts');",
      'errors.ts': "let gvk: import('./model/gvk.ts').Gvk;",
      'query/execute.ts': "import '../../test/help.ts';",
      'cli/main.ts': "import { createService } from 'kindred';",
      'misc/thing.ts': '',
    }),
    [
      'src/misc/thing.ts: "misc" has no row in the table of imports',
      'src/model/gvk.ts:2: model may not import query: src/query/execute.ts',
      'src/store/sql.ts:1: store may not import model: src/model/gvk.ts',
      'src/plugin/host.ts:1: plugin may not import http: src/http/app.ts',
      'src/errors.ts:1: errors.ts may not import model: src/model/gvk.ts',
      'src/query/execute.ts:1: imports test/help.ts, which is outside src/',
      'src/cli/main.ts:1: imports "kindred": files below src/ import each other by path',
    ],
  );
});

test('a row for types only refuses values', () => {
  assert.deepEqual(check({ 'client/client.ts': "import { type Gvk } from '../model/gvk.ts';" }), [
    'src/client/client.ts:1: client may import only types of model (write "import type"): src/model/gvk.ts',
  ]);
});

test('typebox is loaded in one place, its types are for all', () => {
  assert.deepEqual(
    check({
      'model/typebox.ts': "import { Type } from 'typebox';\nexport * from 'typebox';",
      'model/type.ts': "import type {\n  Static,\n} from 'typebox';",
      'index.ts': "export type { Static } from 'typebox';\nimport {\n  Unsafe,\n} from 'typebox';",
    }),
    ['src/index.ts: only src/model/typebox.ts may load typebox, whose 370 modules each start would pay for'],
  );
});

test('a ring is found, one that is closed by types too', () => {
  const files = { 'model/a.ts': "import './b.ts';", 'model/b.ts': "export { c } from './c.ts';" };
  const ring = 'a ring of imports: src/model/a.ts → src/model/b.ts → src/model/c.ts → src/model/a.ts';
  for (const closing of ["import { a } from './a.ts';", "import type { A } from './a.ts';"]) {
    assert.deepEqual(check({ ...files, 'model/c.ts': closing }), [ring]);
  }
  assert.deepEqual(check({ ...files, 'model/c.ts': '' }), []);
});

test('the console imports itself, the client and what judges as the service does', () => {
  const files = {
    'api/client.ts': "import { createClient } from 'kindred/client';\nimport { language } from '../text/index.ts';",
    'form/plan.ts': "import { compile } from '../../../src/schema/compiler.ts';",
    'screens/List.vue': "<template />\n<script setup>\nimport { bind } from '../../../src/query/bind.ts';\n</script>",
    'form/plan.test.ts': "import { defineModel } from '../../../src/model/define.ts';",
  };
  assert.deepEqual(checkConsole(new Map(Object.entries(files))), [
    'console/src/screens/List.vue:3: the console may not import src/query/bind.ts',
  ]);
});
