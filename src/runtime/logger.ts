/** What a pino logger offers and the parts of the service use; each asks for the levels that it writes. */
export interface Logger {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
  child(bindings: object): Logger;
}
