import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Admission, isStandby } from './admission.ts';
import type { Gate } from './dialect.ts';

interface Connection {
  readonly run: string;
  readonly isStandby?: boolean;
}

/** An admission whose commits the test ends, and whose time it lets pass. */
function make() {
  const commits: { connection: Connection; end(): void; fail(): void }[] = [];
  const asked: string[] = [];
  let now = 0;
  const gate: Gate<Connection> = {
    async refuseStandby(connection) {
      asked.push('refuseStandby');
      if (connection.isStandby) throw isStandby();
    },
    async runOf({ run }) {
      asked.push('runOf');
      return run;
    },
    confirm: (connection) =>
      new Promise((resolve, reject) => {
        asked.push('confirm');
        commits.push({ connection, end: resolve, fail: () => reject(new Error('no standby')) });
      }),
  };
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { admission: new Admission<Connection>(gate, () => now), commits, asked, pass };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Admission', () => {
  it('a connection to a server that started is admitted, and counted, when a commit has waited', async () => {
    const { admission, commits, asked } = make();
    const admitted = admission.admit({ run: 'a' });
    await turn();
    assert.deepEqual([admission.count, asked], [0, ['refuseStandby', 'runOf', 'confirm']]);
    commits[0]!.end();
    await admitted;
    assert.equal(admission.count, 1);
  });

  it('further connections in the same run commit nothing, and wait for the commit that is under way', async () => {
    const { admission, commits } = make();
    const first = admission.admit({ run: 'a' });
    const second = admission.admit({ run: 'a' });
    await turn();
    assert.deepEqual([commits.length, admission.count], [1, 0]);
    commits[0]!.end();
    await Promise.all([first, second]);
    await admission.admit({ run: 'a' });
    assert.deepEqual([commits.length, admission.count], [1, 3]);
  });

  it('another run is another commit, and so is the one before when connections lead there again', async () => {
    const { admission, commits } = make();
    for (const [i, run] of ['a', 'b', 'a', 'a', 'c'].entries()) {
      const admitted = admission.admit({ run });
      await turn();
      commits.at(-1)!.end();
      await admitted;
      assert.equal(commits.length, [1, 2, 3, 3, 4][i]);
    }
  });

  it('what was admitted to a former primary is of no use any more', async () => {
    const { admission, commits } = make();
    const former = admission.admit({ run: 'a' });
    await turn();
    commits[0]!.end();
    assert.equal(admission.isPrimary(await former), true);
    const next = admission.admit({ run: 'b' });
    await turn();
    assert.equal(admission.isPrimary(await former), true, 'until the commit of the other server has waited');
    commits[1]!.end();
    assert.deepEqual(
      [await next, await former].map((run) => admission.isPrimary(run)),
      [true, false],
    );
  });

  it('a commit whose answer comes after that of another server is not believed', async () => {
    const { admission, commits } = make();
    const former = admission.admit({ run: 'a' });
    const next = admission.admit({ run: 'b' });
    await turn();
    commits[1]!.end();
    const primary = await next;
    commits[0]!.end();
    await assert.rejects(former, /another server became the primary meanwhile/);
    assert.deepEqual([admission.isPrimary(primary), admission.count], [true, 1]);
  });

  it('after two seconds without an answer, a server is confirmed again, and its connections can then be used', async () => {
    const { admission, commits, pass } = make();
    const first = admission.admit({ run: 'a' });
    await turn();
    commits[0]!.end();
    const run = await first;
    pass(2_000);
    assert.equal(admission.isPrimary(run), true);
    pass(1);
    assert.equal(admission.isPrimary(run), false);
    const second = admission.admit({ run: 'a' });
    await turn();
    assert.equal(commits.length, 2, 'another commit');
    assert.equal(admission.isPrimary(run), false);
    commits[1]!.end();
    assert.equal(await second, run);
    assert.equal(admission.isPrimary(run), true);
  });

  it('an answer counts from when it was asked for', async () => {
    const { admission, commits, pass } = make();
    const admitted = admission.admit({ run: 'a' });
    await turn();
    commits[0]!.end();
    const run = await admitted;
    pass(1_500);
    assert.equal(admission.answered(run, 1_000), true);
    assert.equal(admission.answered(run, 500), true, 'one that was asked before');
    pass(1_500);
    assert.equal(admission.isPrimary(run), true);
    pass(1);
    assert.equal(admission.answered(run, 3_001), false, 'it comes after a silence');
    assert.equal(admission.isPrimary(run), false);
  });

  it('an answer of a former primary is not believed', async () => {
    const { admission, commits } = make();
    const runs = [];
    for (const [i, name] of ['a', 'b'].entries()) {
      const admitted = admission.admit({ run: name });
      await turn();
      commits[i]!.end();
      runs.push(await admitted);
    }
    assert.deepEqual(
      runs.map((run) => admission.answered(run, 0)),
      [false, true],
    );
  });

  it('a commit that failed refuses all that waited for it, and is tried again by the next', async () => {
    const { admission, commits } = make();
    const waiting = [admission.admit({ run: 'a' }), admission.admit({ run: 'a' })];
    await turn();
    commits[0]!.fail();
    for (const one of waiting) await assert.rejects(one, /no standby/);
    assert.equal(admission.count, 0);
    const next = admission.admit({ run: 'a' });
    await turn();
    assert.equal(commits.length, 2, 'another commit');
    commits[1]!.end();
    await next;
    assert.equal(admission.count, 1);
  });

  it('a standby is refused at every connection, before anything is asked of it', async () => {
    const { admission, commits, asked } = make();
    const admitted = admission.admit({ run: 'a' });
    await turn();
    commits[0]!.end();
    await admitted;
    asked.length = 0;
    await assert.rejects(admission.admit({ run: 'a', isStandby: true }), /standby, or set to read-only/);
    assert.deepEqual([admission.count, asked], [1, ['refuseStandby']]);
  });
});
