/** A library to be preloaded into a process whose fsync is to fail for a while. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface FailingFsync {
  /** Of the process. */
  readonly environment: NodeJS.ProcessEnv;
  begin(): void;
  end(): void;
  /** When the process is gone. */
  tidy(): void;
}

const compiler = { program: 'cc', source: new URL('./failing-fsync.c', import.meta.url).pathname };

/** Undefined, and said in one loud line, where it cannot be built. */
export function failingFsync(leftOut: string): FailingFsync | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'kindred-fsync-'));
  chmodSync(folder, 0o755);
  const tidy = (): void => rmSync(folder, { recursive: true, force: true });
  const library = join(folder, 'failing-fsync.so');
  const { status } = spawnSync(compiler.program, ['-shared', '-fPIC', '-o', library, compiler.source, '-ldl']);
  if (process.platform !== 'linux' || status !== 0) {
    tidy();
    console.error(`!!! LEFT OUT: ${leftOut}, because no C compiler builds the faulty fsync here !!!`);
    return undefined;
  }
  const flag = join(folder, 'broken');
  return {
    environment: { LD_PRELOAD: library, FAILING_FSYNC: flag },
    begin: () => writeFileSync(flag, ''),
    end: () => rmSync(flag),
    tidy,
  };
}
