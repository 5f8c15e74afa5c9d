import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import type { ClientBase } from 'pg';
import { certainly, postgresGate } from './standby.ts';

interface Told {
  readonly code: string;
  readonly message: string;
}

const warning = { code: '01000', message: 'canceling wait for synchronous replication due to user request' };
const notice = { code: '00000', message: 'by the way' };

/** A client that tells the notices while a statement runs, and answers it with the rows. */
class Client extends EventEmitter {
  readonly statements: string[] = [];
  readonly #answers: Readonly<Record<string, readonly object[] | Error>>;

  constructor(answers: Readonly<Record<string, readonly object[] | Error>> = {}) {
    super();
    this.#answers = answers;
  }

  async query({ text }: { text: string }): Promise<{ rows: readonly object[] }> {
    this.statements.push(text);
    const [, answer = []] = Object.entries(this.#answers).find(([part]) => text.includes(part)) ?? [];
    if (answer instanceof Error) throw answer;
    return { rows: answer };
  }

  get asClient(): ClientBase {
    return this as unknown as ClientBase;
  }
}

function commit(client: Client, ...told: readonly Told[]): Promise<string> {
  return certainly(client.asClient, async () => {
    for (const one of told) client.emit('notice', one);
    return 'done';
  });
}

describe('certainly', () => {
  it('a commit without a warning is certain', async () => {
    const client = new Client();
    assert.equal(await commit(client), 'done');
    assert.equal(await commit(client, notice), 'done');
    assert.equal(client.listenerCount('notice'), 0);
  });

  it('a commit with a warning is not, whatever other notices there are', async () => {
    const client = new Client();
    const cases = [[warning], [warning, notice], [notice, warning], [{ ...warning, code: '57P01' }]];
    for (const told of cases) await assert.rejects(commit(client, ...told), /canceling wait for synchronous/);
    assert.equal(client.listenerCount('notice'), 0);
    client.emit('notice', warning);
    assert.equal(await commit(client), 'done', 'what was told before means nothing');
  });

  it('warnings of statements before the COMMIT mean nothing', async () => {
    const client = new Client();
    let isCommitting = false;
    const run = (isWarned: boolean): Promise<void> =>
      certainly(
        client.asClient,
        async () => {
          isCommitting = false;
          client.emit('notice', warning);
          isCommitting = true;
          if (isWarned) client.emit('notice', warning);
        },
        () => isCommitting,
      );
    await run(false);
    await assert.rejects(run(true), /canceling wait/);
  });

  it('an error of the commit is the one that is thrown', async () => {
    const client = new Client();
    const failing = certainly(client.asClient, async () => {
      client.emit('notice', warning);
      throw new Error('broken');
    });
    await assert.rejects(failing, /broken/);
    assert.equal(client.listenerCount('notice'), 0);
  });
});

describe('the gate of PostgreSQL', () => {
  it('refuses what takes no writes', async () => {
    const standby = new Client({ transaction_read_only: [{ transaction_read_only: 'on' }] });
    await assert.rejects(postgresGate.refuseStandby(standby.asClient), /this server is a standby/);
    await postgresGate.refuseStandby(
      new Client({ transaction_read_only: [{ transaction_read_only: 'off' }] }).asClient,
    );
  });

  it('takes an engine that knows no statistics for one run, and throws what else fails', async () => {
    const unknown = (code: string) => new Client({ pg_stat: Object.assign(new Error('no'), { code }) }).asClient;
    for (const code of ['42P01', '42883', '0A000']) assert.equal(await postgresGate.runOf(unknown(code)), '');
    await assert.rejects(postgresGate.runOf(unknown('57P01')), /no/);
    const run = (reset: string) => new Client({ pg_stat: [{ started: 't', reset }] }).asClient;
    assert.equal(await postgresGate.runOf(run('1')), await postgresGate.runOf(run('1')));
    assert.notEqual(await postgresGate.runOf(run('1')), await postgresGate.runOf(run('2')));
  });

  it('confirms by a transaction that writes, and waits for a lock for a limited time', async () => {
    const client = new Client();
    await postgresGate.confirm(client.asClient);
    const [first, last] = client.statements;
    assert.match(first!, /BEGIN.*SET LOCAL lock_timeout = \d+.*FOR UPDATE/s);
    assert.equal(last, 'COMMIT');
  });
});
