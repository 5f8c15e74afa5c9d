/** What is known of a request before its body is read. */
export interface Credentials {
  readonly method?: string;
  /** Path and query. */
  readonly url?: string;
  /** Names in lower case, as Node gives them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}
