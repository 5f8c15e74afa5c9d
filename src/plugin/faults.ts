/**
 * Errors that nobody awaits or catches: an unhandled rejection or a throw in a timer would end the process, whoever's
 * code it was. Those of a plugin are told to the host; all others end the process as they do without us.
 */
import type { AsyncLocalStorage } from 'node:async_hooks';
import { fileURLToPath } from 'node:url';
import type { Fence } from '../controller/lease.ts';

/** What is known of the code that runs: set around every call into a plugin, and inherited by everything it starts. */
export interface PluginScope {
  readonly plugin: string;
  readonly fence?: Fence;
}

type FaultKind = 'UnhandledRejection' | 'UncaughtException';

const brand: unique symbol = Symbol.for('kindred.fault-listener');

export interface FaultDependencies {
  readonly scope: AsyncLocalStorage<PluginScope>;
  /** Name of the plugin whose code lies below a folder. */
  readonly pluginOf: (file: string) => string | undefined;
  readonly onFault: (plugin: string, kind: FaultKind, error: unknown) => void;
}

/** Listens until the returned function is called. */
export function watchFaults(dependencies: FaultDependencies): () => void {
  const claim = (error: unknown) =>
    dependencies.scope.getStore()?.plugin ?? pluginInStack(error, dependencies.pluginOf);
  const listen = (event: 'unhandledRejection' | 'uncaughtException', kind: FaultKind) => {
    const listener = Object.assign(
      (error: unknown) => {
        const plugin = claim(error);
        if (plugin !== undefined) dependencies.onFault(plugin, kind, error);
        else if (isLastWord(event, listener, error)) endProcess(error);
      },
      { [brand]: claim },
    );
    process.on(event, listener);
    return () => process.off(event, listener);
  };
  const stop = [listen('unhandledRejection', 'UnhandledRejection'), listen('uncaughtException', 'UncaughtException')];
  return () => {
    for (const one of stop) one();
  };
}

/** Whether nobody else can say what becomes of an error: only hosts listen, it is of no plugin of any, and this is the last one. */
function isLastWord(event: string, own: unknown, error: unknown): boolean {
  const listeners: unknown[] = process.listeners(event as 'uncaughtException');
  const claims = listeners.map((one) => (one as { [brand]?: (error: unknown) => string | undefined })[brand]);
  return listeners.at(-1) === own && claims.every((claim) => claim !== undefined && claim(error) === undefined);
}

/** As Node does it when nobody listens. */
function endProcess(error: unknown): void {
  process.exitCode = 1;
  setImmediate(() => process.exit(1));
  process.stderr.write(`Uncaught ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
}

function pluginInStack(error: unknown, pluginOf: (file: string) => string | undefined): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  for (const [place] of stack.matchAll(/(?:file:\/\/|\/|[A-Za-z]:\\)[^\s()]+/g)) {
    const path = place.replace(/(?:\?[^:]*)?(?::\d+)*$/, '');
    const plugin = pluginOf(path.startsWith('file:') ? fileURLToPath(path) : path);
    if (plugin !== undefined) return plugin;
  }
  return undefined;
}
