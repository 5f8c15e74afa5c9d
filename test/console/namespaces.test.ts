import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineModel, definePlugin, Type } from 'kindred';
import { findings, withConsole } from './browser.ts';

const Loan = defineModel({
  gvk: {
    group: 'library.example.com',
    version: 'v1alpha1',
    kind: 'Loan',
    singular: 'loan',
    plural: 'loans',
    scope: 'Namespaced',
  },
  spec: Type.Object({ reader: Type.String({ minLength: 1 }) }),
  indexes: (index) => [index.single('spec.reader', String, (loan) => loan.spec.reader)],
});
const library = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Loan) });
const loansIn = (namespace: string) => `/apis/library.example.com/v1alpha1/namespaces/${namespace}/loans`;
const list = '/console/objects/loans.library.example.com';

test('console: objects of namespaces are listed, opened, changed, created and deleted in theirs', async (context) => {
  await withConsole(
    context,
    async ({ tab, admin }) => {
      for (const namespace of ['paris', 'tokyo']) {
        const body = { metadata: { name: 'emma' }, spec: { reader: `in ${namespace}` } };
        const made = await admin('POST', loansIn(namespace), body);
        assert.equal(made.status, 201, JSON.stringify(made.body));
      }
      const page = await tab(list);
      await page.getByRole('columnheader', { name: 'metadata.namespace' }).waitFor();
      assert.equal(await page.getByRole('link', { name: 'emma' }).count(), 2);
      await page.getByRole('status', { name: 'Connection' }).getByText('Live').waitFor();
      await admin(
        'PATCH',
        `${loansIn('tokyo')}/emma`,
        { spec: { reader: 'renamed' } },
        { 'content-type': 'application/merge-patch+json' },
      );
      const tokyo = page.getByRole('row').filter({ hasText: 'tokyo' });
      await tokyo.getByText('renamed').waitFor();
      assert.deepEqual(await findings(page), []);

      await tokyo.getByRole('link', { name: 'emma' }).click();
      await page.getByRole('heading', { level: 1, name: 'emma' }).waitFor();
      assert.equal(new URL(page.url()).pathname, `${list}/tokyo/emma`);
      await page.getByRole('textbox', { name: 'reader' }).fill('by form');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('dialog', { name: 'Review changes' }).getByRole('button', { name: 'Save changes' }).click();
      await page.getByText('Version 2', { exact: true }).waitFor();
      assert.equal((await admin('GET', `${loansIn('tokyo')}/emma`)).body.spec.reader, 'by form');
      assert.equal((await admin('GET', `${loansIn('paris')}/emma`)).body.spec.reader, 'in paris');

      await page.getByRole('tab', { name: 'Access' }).click();
      await page.getByRole('link', { name: 'Ask about somebody else' }).click();
      const answer = page.getByRole('region', { name: 'Answer' });
      await answer.getByText('Allowed', { exact: true }).waitFor();
      await page.getByRole('textbox', { name: 'User' }).fill('rita');
      await page.getByRole('button', { name: 'Explain' }).click();
      await answer.getByText('"resourceNames": [').waitFor();
      assert.equal(await answer.getByText('tokyo/emma').count(), 0);
      await page.goBack();
      await page.goBack();
      await page.getByRole('link', { name: 'Duplicate' }).click();
      assert.equal(await page.getByRole('textbox', { name: 'namespace' }).inputValue(), 'tokyo');
      await page.getByRole('textbox', { name: 'name', exact: true }).fill('emma-2');
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { level: 1, name: 'emma-2' }).waitFor();
      assert.equal((await admin('GET', `${loansIn('tokyo')}/emma-2`)).status, 200);

      await page.goto(new URL(`${list}?fieldSelector=metadata.namespace%3Dtokyo`, page.url()).href);
      await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
      await page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Delete…' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByText('2 done, 0 failed').waitFor();
      assert.equal((await admin('GET', '/apis/library.example.com/v1alpha1/loans')).body.total, 1);
    },
    { plugins: [{ name: 'library', plugin: library }] },
  );
});
