/** `-o custom-columns=HEAD:PATH,…`: a table whose columns are JSONPaths, as kubectl takes them. */
import type { Column } from './columns.ts';
import { UsageError } from './io.ts';
import { printed, Template } from './jsonpath.ts';

export class CustomColumns {
  readonly columns: readonly Column[];

  /** @throws UsageError */
  constructor(text: string) {
    this.columns = parts(text).map((part) => {
      const [, head, path] = /^([^:]+):(.+)$/s.exec(part) ?? [];
      if (head === undefined || path === undefined) {
        throw new UsageError(`custom-columns needs HEAD:PATH,HEAD:PATH…, such as NAME:.metadata.name, not "${part}"`);
      }
      const template = new Template(relaxed(path));
      if (!template.isPath) throw new UsageError(`the column ${head} needs one JSONPath, not "${path}"`);
      return {
        head,
        cell: (object) => template.values(object).map(printed).join(',') || '<none>',
      };
    });
  }
}

/** Cut at the commas that are in no brackets and no quotes. */
function parts(text: string): string[] {
  return text.match(/(?:\[(?:'[^']*'|"[^"]*"|[^\]'"])*\]|[^,[])+/g) ?? [''];
}

/** `metadata.name` as `.metadata.name`. */
function relaxed(path: string): string {
  return /^[.[{$@]/.test(path) ? path : `.${path}`;
}
