import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openStore } from '../../src/store/open.ts';
import type { DatabaseServer, ServerKind } from '../servers.ts';
import { databaseAdapters, mariadbServer, ownServer, postgresServer } from '../servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-tls-'));
chmodSync(folder, 0o755);
after(() => rmSync(folder, { recursive: true }));

const file = (name: string): string => join(folder, name);

function openssl(...args: string[]): void {
  const { status, stderr, error } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`openssl ${args[0]} failed: ${error?.message ?? stderr}`);
}

const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];

function makeAuthority(name: string): void {
  openssl('req', '-x509', ...curve, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.pem`);
}

/** `<name>.pem` and `<name>.key`, of the authority `ours`. */
function makeCertificate(name: string, subject: string, alternatives = ''): void {
  openssl(
    'req',
    '-new',
    ...curve.slice(0, -2),
    '-subj',
    `/CN=${subject}`,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
  );
  writeFileSync(file(`${name}.ext`), alternatives === '' ? '' : `subjectAltName=${alternatives}\n`);
  const signing = ['-CA', 'ours.pem', '-CAkey', 'ours.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`];
  openssl('x509', '-req', '-in', `${name}.csr`, ...signing, '-out', `${name}.pem`);
}

const reason =
  spawnSync('openssl', ['version']).status === 0
    ? undefined
    : 'the program openssl, which makes certificates, is not here';
if (reason) console.error(`!!! LEFT OUT: TLS to database servers, because ${reason} !!!`);
else {
  makeAuthority('ours');
  makeAuthority('theirs');
  makeCertificate('localhost', 'localhost', 'DNS:localhost');
  makeCertificate('elsewhere', 'db.example.com', 'DNS:db.example.com');
  makeCertificate('mutual', 'mutual');
}

/** The files that the server reads; with the key as its user may read it, and nobody else. */
const server = { cert: file('server.pem'), key: file('server.key') };

function present(certificate: string, userOf: string): void {
  copyFileSync(file(`${certificate}.pem`), server.cert);
  writeFileSync(server.key, readFileSync(file(`${certificate}.key`)), { mode: 0o600 });
  chmodSync(server.key, 0o600);
  const owner = spawnSync('chown', ['--reference', userOf, server.key]);
  assert.equal(owner.status, 0);
}

const settings: Record<ServerKind, readonly string[]> = {
  postgres: [
    ...['-c', 'ssl=on', '-c', `ssl_cert_file=${server.cert}`, '-c', `ssl_key_file=${server.key}`],
    ...['-c', `ssl_ca_file=${file('ours.pem')}`, '-c', `hba_file=${file('hba')}`],
  ],
  mariadb: [`--ssl-cert=${server.cert}`, `--ssl-key=${server.key}`, `--ssl-ca=${file('ours.pem')}`],
};

const reload: Record<ServerKind, string> = { postgres: 'SELECT pg_reload_conf()', mariadb: 'FLUSH SSL' };

/** A way to the server on which everything can be read. */
class Tap {
  seen = '';
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((inner) => {
    const outer = connect(this.#port, '127.0.0.1');
    for (const [from, to] of [[inner, outer] as const, [outer, inner] as const]) {
      this.#sockets.add(from);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.on('data', (data) => {
        this.seen += data.toString('latin1');
        to.write(data);
      });
    }
  });
  readonly #port: number;

  private constructor(port: number) {
    this.#port = port;
  }

  static async before(url: string): Promise<{ tap: Tap; url: string }> {
    const through = new URL(url);
    const tap = new Tap(Number(through.port));
    await new Promise<void>((resolve) => tap.#server.listen(0, '127.0.0.1', resolve));
    through.port = String((tap.#server.address() as { port: number }).port);
    return { tap, url: through.href };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const kinds = databaseAdapters().flatMap(({ kind, name }) => (kind === 'sqlite' ? [] : [{ kind, name }]));

for (const { kind, name } of reason ? [] : kinds) {
  describe(`TLS to ${name}`, () => {
    let running: DatabaseServer;
    const ca = `sslrootcert=${file('ours.pem')}`;
    const wrong = `sslrootcert=${file('theirs.pem')}`;

    const url = (query: string, host = 'localhost', of = running): string =>
      `${of.url('tls').replace('127.0.0.1', host)}?${query}`;

    before(async () => {
      writeFileSync(
        file('hba'),
        'hostssl all mutual 127.0.0.1/32 cert\nhost all mutual 127.0.0.1/32 reject\nhost all all 127.0.0.1/32 trust\n',
      );
      // The folders of all servers are of the user that they run as.
      present('localhost', (await (kind === 'postgres' ? postgresServer() : mariadbServer())).folder);
      running = await ownServer(kind, { settings: settings[kind] });
      await running.query('CREATE DATABASE tls');
    });
    after(() => running.stop());

    /** Whether what is written can be read on the way. */
    async function isReadable(query: string): Promise<boolean> {
      const { tap, url: through } = await Tap.before(url(query));
      try {
        const store = await openStore(through);
        const model = await store.modelNumber('g', 'K');
        const marker = `marker-${query.length}-${Math.random()}`;
        const bytes = Buffer.from(marker);
        const [result] = await store.commit([{ type: 'create', model, name: marker.replace('.', '-'), bytes }], 1);
        assert.ok(result?.ok);
        const [row] = await store.get(model, [result.id]);
        assert.equal(Buffer.from(row!.bytes).toString(), marker);
        await store.close();
        const shown = [marker, bytes.toString('hex')];
        return shown.some((text) => tap.seen.includes(text));
      } finally {
        await tap.close();
      }
    }

    it('is used when asked for, and what is written cannot be read on the way', async () => {
      assert.equal(await isReadable(''), true);
      assert.equal(await isReadable('sslmode=disable'), true);
      for (const query of ['sslmode=require', `sslmode=verify-ca&${ca}`, `sslmode=verify-full&${ca}`]) {
        assert.equal(await isReadable(query), false, query);
      }
    });

    it('a certificate of an authority that is not trusted is refused, and the error says what to name', async () => {
      const queries = [
        'sslmode=verify-full',
        `sslmode=verify-full&${wrong}`,
        `sslmode=verify-ca&${wrong}`,
        `sslmode=require&${wrong}`,
      ];
      for (const query of queries) {
        await assert.rejects(
          openStore(url(query)),
          (error: Error) => {
            assert.match(
              error.message,
              /^the database \S+ cannot be reached: .*certificate.*; its authority is not trusted: .*sslrootcert/,
            );
            assert.doesNotMatch(error.message, /\n/);
            return true;
          },
          query,
        );
      }
    });

    it('a certificate for another host is refused by verify-full, and by nothing less', async () => {
      present('elsewhere', running.folder);
      await running.query(reload[kind]);
      try {
        await assert.rejects(
          openStore(url(`sslmode=verify-full&${ca}`)),
          /db\.example\.com; use the name that the certificate has/,
        );
        await (await openStore(url(`sslmode=verify-ca&${ca}`))).close();
      } finally {
        present('localhost', running.folder);
        await running.query(reload[kind]);
      }
      const byAddress = openStore(url(`sslmode=verify-full&${ca}`, '127.0.0.1'));
      await assert.rejects(
        byAddress,
        kind === 'postgres' ? /use the name that the certificate has/ : /needs the name of the host/,
      );
    });

    it('shows a certificate of its own to a server that asks for one', async () => {
      const own = `sslcert=${file('mutual.pem')}&sslkey=${file('mutual.key')}`;
      if (kind === 'postgres') await running.query('CREATE ROLE mutual LOGIN SUPERUSER');
      else {
        await running.query("CREATE USER mutual@'127.0.0.1' REQUIRE X509");
        await running.query("GRANT ALL ON *.* TO mutual@'127.0.0.1'");
      }
      const as = (query: string): string => url(query).replace(/\/\/[^@]*@/, '//mutual@');
      await assert.rejects(openStore(as(`sslmode=verify-full&${ca}`)), /cannot be reached|refuses the connection/);
      await (await openStore(as(`sslmode=verify-full&${ca}&${own}`))).close();
    });

    it('a server without TLS is refused when it is asked for', async () => {
      const plain = await (kind === 'postgres' ? postgresServer() : mariadbServer());
      const database = `tls_${process.pid}`;
      await plain.query(`CREATE DATABASE ${database}`);
      const plainUrl = plain.url(database).replace('127.0.0.1', 'localhost');
      await assert.rejects(
        openStore(`${plainUrl}?sslmode=require`),
        /server does not support (SSL|secure) connection/i,
      );
      await plain.query(`DROP DATABASE ${database}`);
    });

    it('parameters that do not fit together are refused before anything is sent', async () => {
      const wrongs: [string, RegExp][] = [
        ['sslmode=maybe', /sslmode=maybe in the database URL: expected disable, require, verify-ca, verify-full/],
        ['sslmode=prefer', /expected disable, require/],
        ['ssl=true', /ssl in the database URL: TLS is chosen with sslmode, sslrootcert/],
        [ca, /asks for no TLS: add sslmode=verify-full/],
        ['sslmode=verify-ca', /sslmode=verify-ca .* needs sslrootcert/],
        [`sslmode=require&sslcert=${file('mutual.pem')}`, /both sslcert and sslkey/],
        ['sslmode=require&sslrootcert=/nowhere.pem', /sslrootcert in the database URL: ENOENT.*\/nowhere\.pem/],
      ];
      for (const [query, message] of wrongs) await assert.rejects(openStore(url(query, '127.0.0.1')), message, query);
    });
  });
}
