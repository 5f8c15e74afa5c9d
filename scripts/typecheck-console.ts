// The types of console/ (`npm run typecheck`). vue-tsc does not run on TypeScript 7, so it is handed the TypeScript of that workspace.
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const workspace = createRequire(resolve(import.meta.dirname, '../console/package.json'));
process.argv.push('--noEmit', '-p', join(import.meta.dirname, '../console/tsconfig.json'));
(workspace('vue-tsc') as { run(compiler: string): void }).run(workspace.resolve('typescript/lib/tsc'));
