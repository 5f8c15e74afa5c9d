import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Admission, isStandby } from './admission.ts';

interface Connection {
  readonly run: string;
  /** Seconds, 0 by default. */
  readonly started?: number;
  readonly isStandby?: boolean;
}

/** An admission whose commits the test ends. */
function make() {
  const commits: { connection: Connection; end(): void; fail(): void }[] = [];
  const asked: string[] = [];
  const admission = new Admission<Connection>({
    async refuseStandby(connection) {
      asked.push('refuseStandby');
      if (connection.isStandby) throw isStandby();
    },
    async runOf({ run, started = 0 }) {
      asked.push('runOf');
      return { server: run, started };
    },
    confirm: (connection) =>
      new Promise((resolve, reject) => {
        asked.push('confirm');
        commits.push({ connection, end: resolve, fail: () => reject(new Error('no standby')) });
      }),
  });
  return { admission, commits, asked };
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

  it('a start that is known to the second is the same when it is off by one', async () => {
    const { admission, commits } = make();
    for (const [i, started] of [100, 101, 99, 102].entries()) {
      const admitted = admission.admit({ run: 'a', started });
      await turn();
      commits.at(-1)!.end();
      await admitted;
      assert.equal(commits.length, [1, 1, 1, 2][i]);
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

  it('a server that did not answer is confirmed anew, and its connections are of no use; what is known of another one stays', async () => {
    const { admission, commits } = make();
    const first = admission.admit({ run: 'a' });
    await turn();
    commits[0]!.end();
    const before = await first;
    admission.doubt(before);
    assert.equal(admission.isPrimary(before), false);
    const second = admission.admit({ run: 'a' });
    await turn();
    assert.equal(commits.length, 2, 'another commit');
    commits[1]!.end();
    const anew = await second;
    admission.doubt(before);
    assert.deepEqual(
      [before, anew].map((run) => admission.isPrimary(run)),
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
