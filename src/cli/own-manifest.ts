import { readFileSync } from 'node:fs';

/** The manifest of this package. */
export function ownManifest(): { version: string; devDependencies: Record<string, string> } {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
}
