import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Hosts, hostUrls } from './hosts.ts';

describe('the hosts of a database URL', () => {
  it('each has a URL of its own with everything else', () => {
    assert.deepEqual(
      hostUrls('postgres://me:a%2Cb@h1:5433,h2,[::1]:5434/db?sslmode=require&target_session_attrs=read-write'),
      [
        'postgres://me:a%2Cb@h1:5433/db?sslmode=require',
        'postgres://me:a%2Cb@h2/db?sslmode=require',
        'postgres://me:a%2Cb@[::1]:5434/db?sslmode=require',
      ],
    );
    // A password may have commas and "@" in it.
    assert.deepEqual(
      hostUrls('mysql://me:a,b@c@h1,h2/db').map((url) => new URL(url).host),
      ['h1', 'h2'],
    );
    assert.deepEqual(hostUrls('postgres:///db?host=/run/postgresql'), ['postgres:///db?host=%2Frun%2Fpostgresql']);
  });

  it('begins with the one that was good last, and tries each once', async () => {
    const hosts = new Hosts(['postgres://a/x', 'postgres://b:5433/x', 'postgres://c/x']);
    const tried: number[] = [];
    let primary: number | undefined = 1;
    const connect = () =>
      hosts.first(async (host) => {
        tried.push(host);
        if (host !== primary) throw new Error(`is a standby (${host})`);
        return host;
      });
    assert.equal(await connect(), 1);
    assert.equal(await connect(), 1);
    primary = 0;
    assert.equal(await connect(), 0);
    assert.equal(hosts.current, 0);
    assert.deepEqual(tried, [0, 1, 1, 1, 2, 0]);
    primary = undefined;
    await assert.rejects(connect(), { message: 'a is a standby (0); b:5433 is a standby (1); c is a standby (2)' });
    assert.equal(hosts.current, 0);
  });

  it('the failure of the only host is what it is', async () => {
    const failure = new TypeError('no');
    await assert.rejects(
      new Hosts(['postgres://a/x']).first(() => Promise.reject(failure)),
      (error) => error === failure,
    );
  });
});
