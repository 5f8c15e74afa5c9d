/** A text, or the same in several languages. */
export type Titled = string | { readonly [language: string]: string };
