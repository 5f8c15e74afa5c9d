/** The Python of this machine that has the client of Kubernetes (Debian: `python3-kubernetes`). */
import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

/** Undefined where there is none. */
export const python = ['python3', '/usr/bin/python3'].find(
  (program) => spawnSync(program, ['-c', 'import kubernetes']).status === 0,
);

export const withoutPython = python === undefined && 'this machine has no Python client of Kubernetes';

export const run = promisify(execFile);
