// npm runs this after every installation. A checkout is built by `npm start` and `npm test`; a dependency from git has to be
// built before npm packs it, and then npm was started in the folder of somebody else's project.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
if (process.env.INIT_CWD !== undefined && resolve(process.env.INIT_CWD) !== root) {
  const build = spawnSync(process.execPath, ['scripts/build.ts'], { cwd: root, stdio: 'inherit' });
  if (build.error) throw build.error;
  process.exitCode = build.status ?? 1;
}
