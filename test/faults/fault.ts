/** A seeded fault: one mistake as a patch, with the test that has to catch it. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Fault {
  /** Path of the patch below `test/faults`, without `.patch`: `store/lost-row`. */
  readonly name: string;
  readonly file: string;
  /** One sentence that says what is broken. */
  readonly description: string;
  /** Test files, from the root of the repository. */
  readonly tests: readonly string[];
  /** Databases that the tests run on, as the variable `DATABASES` names them. Default: all. */
  readonly databases: string | undefined;
}

const folder = import.meta.dirname;

/** All faults, by name. @throws Error when a patch lacks a header */
export function readFaults(): Fault[] {
  return globSync('**/*.patch', { cwd: folder })
    .toSorted()
    .map((path) => readFault(join(folder, path), path.slice(0, -'.patch'.length)));
}

function readFault(file: string, name: string): Fault {
  const head = readFileSync(file, 'utf8').split(/^diff --git /m)[0]!;
  const header = (key: string) => head.match(new RegExp(`^${key}: *(.+)$`, 'm'))?.[1]?.trim();
  const description = header('Fault');
  const tests = header('Test')?.split(/\s+/);
  if (!description || !tests) throw new Error(`${name}.patch needs the headers "Fault:" and "Test:"`);
  return { name, file, description, tests, databases: header('Only') };
}
