/** The fenced blocks of a page, in order. */
export interface Snippet {
  readonly language: string;
  /** What stands behind the language: the name of a file. */
  readonly name: string;
  readonly text: string;
  readonly line: number;
}

export function snippetsOf(markdown: string): Snippet[] {
  const found: Snippet[] = [];
  const lines = markdown.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const head = /^```(\S+)(?: +(\S+))?\s*$/.exec(lines[i]!);
    if (!head) continue;
    const start = i + 1;
    while (lines[++i] !== '```') if (i >= lines.length) throw new Error(`the block in line ${start} has no end`);
    found.push({ language: head[1]!, name: head[2] ?? '', text: lines.slice(start, i).join('\n'), line: start });
  }
  return found;
}

/**
 * Whether an answer is what a page shows: members that are not shown may be there too; a list ends where the shown one
 * ends, unless that ends in "…"; a text with "…" in it stands for any text there.
 * @returns where it differs
 */
export function difference(shown: unknown, answer: unknown, path = ''): string | undefined {
  const here = path || 'the answer';
  if (typeof shown === 'string' && shown.includes('…') && typeof answer === 'string') {
    const pattern = shown
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('[^]*');
    return new RegExp(`^${pattern}$`).test(answer)
      ? undefined
      : `${here}: ${JSON.stringify(answer)} is not ${JSON.stringify(shown)}`;
  }
  if (Array.isArray(shown)) {
    if (!Array.isArray(answer)) return `${here}: ${JSON.stringify(answer)} is no list`;
    const open = shown.at(-1) === '…';
    const items = open ? shown.slice(0, -1) : shown;
    if (open ? answer.length <= items.length : answer.length !== items.length)
      return `${here}: has ${answer.length} items`;
    return first(items.map((one, i) => difference(one, answer[i], `${path}/${i}`)));
  }
  if (typeof shown === 'object' && shown !== null) {
    if (typeof answer !== 'object' || answer === null) return `${here}: ${JSON.stringify(answer)} is no object`;
    return first(
      Object.entries(shown).map(([name, one]) =>
        difference(one, (answer as Record<string, unknown>)[name], `${path}/${name}`),
      ),
    );
  }
  return Object.is(shown, answer) ? undefined : `${here}: ${JSON.stringify(answer)} is not ${JSON.stringify(shown)}`;
}

function first(differences: readonly (string | undefined)[]): string | undefined {
  return differences.find((one) => one !== undefined);
}
