import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { FakeClock } from '../../testing/fake-clock.ts';
import { until } from '../../testing/until.ts';
import { Certificate } from './tls.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-certificate-'));
after(() => rmSync(folder, { recursive: true }));

function make(name: string): { cert: Buffer; key: Buffer } {
  const files = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const { status, stderr } = spawnSync(
    'openssl',
    ['req', '-x509', ...curve, '-subj', `/CN=${name}`, '-keyout', files.key, '-out', files.cert],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  return { cert: readFileSync(files.cert), key: readFileSync(files.key) };
}

const files = { cert: join(folder, 'in-use.pem'), key: join(folder, 'in-use.key') };

function put({ cert, key }: { cert: Buffer; key: Buffer }): void {
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key);
}

const skip = spawnSync('openssl', ['version']).status !== 0 && 'openssl, which makes certificates, is not here';

test('files that are no certificate with its key are refused with their names', { skip }, () => {
  const [one, two] = [make('one'), make('two')];
  assert.throws(
    () => new Certificate({ ...files, cert: join(folder, 'none.pem') }),
    /none\.pem \(tls\.cert\) cannot be read/,
  );
  put({ cert: one.cert, key: two.key });
  assert.throws(() => new Certificate(files), /in-use\.pem and .*in-use\.key are no certificate with its key/);
  put({ cert: one.cert, key: Buffer.from('text') });
  assert.throws(() => new Certificate(files), /are no certificate with its key/);
});

test('files that change are read again, once both fit', { skip }, async () => {
  const [one, two] = [make('one'), make('two')];
  put(one);
  const certificate = new Certificate(files);
  const clock = new FakeClock();
  const used: Buffer[] = [];
  const told: string[] = [];
  const logger = {
    info: (_: object, text: string) => told.push(text),
    warn: (_: object, text: string) => told.push(text),
  };
  const stop = certificate.follow(({ cert }) => used.push(cert), clock, logger);
  /** A look ends with the timer of the next one. */
  const look = async () => {
    await clock.advance(10_000);
    await until(() => clock.pending === 1);
  };
  await look();
  assert.deepEqual([used, told], [[], []]);
  writeFileSync(files.cert, two.cert);
  await look();
  await look();
  assert.deepEqual(used, []);
  assert.deepEqual(told, ['The certificate cannot be read again; the one before stays']);
  assert.deepEqual(certificate.pair, one);
  writeFileSync(files.key, two.key);
  await look();
  assert.deepEqual(used, [two.cert]);
  assert.deepEqual(certificate.pair, two);
  assert.equal(told.at(-1), 'The certificate was read again');
  rmSync(files.key);
  await look();
  await look();
  assert.equal(told.length, 3);
  stop();
  assert.equal(clock.pending, 0);
});
