/** A database URL for people to read: the password is left out, also one in the query. */
export function shownUrl(url: string): string {
  return (
    url
      // Up to the last "@": a password may hold one.
      .replace(/^(\w+:\/\/[^:@/?]*):.*@/, '$1:…@')
      .replace(/([?&](?:ssl)?password=)[^&]*/gi, '$1…')
  );
}
