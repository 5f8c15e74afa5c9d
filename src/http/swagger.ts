/** The page `/swagger-ui.html` with its assets, all from the installed package `swagger-ui-dist` (contract section 11). */

export interface StaticAnswer {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Page or asset for this path (`/swagger-ui.html`, `/swagger-ui/<file>`), undefined for any other. Anonymous; files are read at the first request. */
export declare function swaggerFile(path: string): Promise<StaticAnswer | undefined>;
