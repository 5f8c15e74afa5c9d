// Builds dist/ from nothing, so that a file deleted from src/ can never linger in the published package.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });

const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));
const compiler = spawnSync(process.execPath, [join(typescript, 'bin', 'tsc'), '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
if (compiler.error) throw compiler.error;
if (compiler.status !== 0) process.exit(compiler.status ?? 1);

const command = join(dist, 'cli', 'main.js');
if (existsSync(command)) chmodSync(command, 0o755);
