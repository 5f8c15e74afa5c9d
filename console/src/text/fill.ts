/** A text with its forms for each number that the language tells apart, chosen by the value `n`. */
export interface Plural {
  readonly one?: string;
  readonly other: string;
}

export type Values = Readonly<Record<string, string | number>>;

/** Fills `{name}` with the value of that name. */
export function fill(text: string | Plural, values: Values, language: string): string {
  const form = typeof text === 'string' ? text : formOf(text, Number(values.n), language);
  return form.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
    const value = values[name];
    if (value === undefined) return placeholder;
    return typeof value === 'number' ? value.toLocaleString(language) : value;
  });
}

function formOf(text: Plural, n: number, language: string): string {
  return new Intl.PluralRules(language).select(n) === 'one' ? (text.one ?? text.other) : text.other;
}
