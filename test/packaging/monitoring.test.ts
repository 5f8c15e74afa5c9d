/** The alerting rules, the board and the page about them: readable, and about metrics that a running service declares. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { parse } from 'yaml';
import { withApi } from '../api/harness.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const files = ['deploy/prometheus/kindred.rules.yaml', 'deploy/grafana/kindred.json', 'docs/guide/monitoring.md'];

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: { readonly summary: string; readonly runbook: string };
    }[];
  }[];
}
interface Board {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

const alerts = (parse(read(files[0]!)) as Rules).groups.flatMap(({ rules }) => rules);
const { panels } = JSON.parse(read(files[1]!)) as Board;
const page = read(files[2]!);
const metricName = /\b(?:kindred|process)_[a-z_]+\b/g;

// In a file, because a database in memory has no snapshots of its indexes.
const folder = mkdtempSync(join(tmpdir(), 'kindred-monitoring-'));
const api = withApi({ database: `sqlite:${join(folder, 'kindred.db')}` });
after(() => rmSync(folder, { recursive: true }));

test('packaging: each metric of the rules, the board and the page is one that a running service declares', async () => {
  const { text } = await api.send({ path: '/metrics' });
  const declared = new Set<string>();
  for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    for (const end of type === 'histogram' ? ['_bucket', '_count', '_sum'] : ['']) declared.add(`${name}${end}`);
  }
  for (const file of files) {
    const named = new Set(read(file).match(metricName));
    assert.ok(named.size > 0, file);
    assert.deepEqual(
      [...named].filter((name) => !declared.has(name)),
      [],
      file,
    );
  }
});

test('packaging: the reference has each metric that a running service declares', async () => {
  const { text } = await api.send({ path: '/metrics' });
  const reference = read('docs/reference/metrics.md');
  for (const [, name, type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    assert.ok(reference.includes(`\n| \`${name}\` | ${type} |`), String(name));
  }
});

test('packaging: each alert has a summary and a section of the page that names it', () => {
  assert.ok(alerts.length > 0);
  for (const { alert, annotations } of alerts) {
    assert.ok(annotations.summary.length > 0, alert);
    const [path, anchor] = annotations.runbook.split('#');
    assert.equal(path, files[2]);
    const section = page
      .split(/^### /m)
      .find((one) => one.split('\n')[0]!.toLowerCase().replaceAll(' ', '-') === anchor);
    assert.ok(section?.includes(`\`${alert}\``), `${alert}: ${annotations.runbook}`);
  }
});

const promtool = process.env.PROMTOOL ?? '/usr/bin/promtool';
const without = existsSync(promtool)
  ? false
  : `NO PROMETHEUS: ${promtool} is missing (Debian: apt-get install prometheus)`;
test('packaging: Prometheus fires each alert on the data for which it is meant, and on no other', {
  skip: without,
}, () => {
  const cases = 'deploy/prometheus/kindred.rules.test.yaml';
  const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', cases], { cwd: root, encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
  const { tests } = parse(read(cases)) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: object[] }[] }[];
  };
  const fired = tests.flatMap((one) => one.alert_rule_test.filter(({ exp_alerts }) => exp_alerts.length > 0));
  assert.deepEqual([...new Set(fired.map(({ alertname }) => alertname))].sort(), alerts.map((one) => one.alert).sort());
});

test('packaging: each panel of the board has a title and a query', () => {
  assert.ok(panels.length > 0);
  for (const { title, targets } of panels) assert.ok(title && targets.length > 0 && targets.every(({ expr }) => expr));
});
