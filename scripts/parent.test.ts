import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

test('a process learns that the one that started it is gone, as when npm is ended and its script is not told', {
  skip: process.platform === 'win32' && 'processes keep the number of their parent there',
}, async () => {
  const module = new URL('./parent.ts', import.meta.url).href;
  const program = `import { whenParentIsGone } from '${module}';
    whenParentIsGone(() => { console.log('gone'); process.exit(); });
    console.log(process.pid);`;
  // The second command keeps the shell from becoming the first.
  const shell = spawn('sh', ['-c', '"$0" --input-type=module -e "$1"; true', process.execPath, program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  const pid = Number((await lines.next()).value);
  try {
    shell.kill('SIGTERM');
    await once(shell, 'exit');
    assert.equal((await lines.next()).value, 'gone');
  } finally {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended, as it should.
    }
  }
});
