/** The file of a `sqlite:` URL; `:memory:` is one. */
export function sqliteFile(url: string): string {
  const file = url.replace(/^sqlite:(?:\/\/(?=\/))?/, '');
  if (file === '') throw new Error('the database URL sqlite: names no file, expected sqlite:<file> or sqlite::memory:');
  return file;
}
