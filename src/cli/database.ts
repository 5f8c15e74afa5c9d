import { UsageError } from './io.ts';

export const databaseForms = 'sqlite:<file>, sqlite::memory:, postgres://… or mysql://…';

/** What is wrong with the URL of a database; undefined when nothing is. It is not shown whole: it may hold a password. */
export function databaseMistake(value: unknown): string | undefined {
  if (typeof value === 'string' && /^(?:sqlite|postgres|postgresql|mysql|mariadb):/.test(value)) return undefined;
  const isFile = typeof value === 'string' && value !== '' && !/[:@]/.test(value);
  return `${databaseForms}${isFile ? `; for the file ${value} write sqlite:${value}` : ', not what was given'}`;
}

/** The URL as it is given to a flag. */
export function databaseUrl(flag: string, url: string): string {
  const mistake = databaseMistake(url);
  if (mistake !== undefined) throw new UsageError(`${flag} needs ${mistake}`);
  return url;
}
