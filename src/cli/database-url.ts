/** A database URL without its password, for people to read. */
export function shownUrl(url: string): string {
  return url.replace(/:\/\/([^:@/]*):[^@]*@/, '://$1:…@');
}
