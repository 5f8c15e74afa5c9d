/** What somebody who knows kubectl types and this command does not have, with what to type here. */

const noContainers = 'nothing runs in containers';

const commands: Readonly<Record<string, string>> = {
  create: 'kindred apply -f FILE',
  run: 'kindred apply -f FILE',
  'api-versions': 'kindred api-resources',
  'cluster-info': 'kindred context list, kindred version',
  scale: 'kindred patch TYPE NAME -p PATCH; kubectl scale works through /kube (kindred kubeconfig)',
  rollout: 'kindred wait TYPE NAME --for=GOAL',
  config: 'kindred login URL, kindred context list, kindred context use NAME',
  // Of `auth`.
  whoami: 'kindred whoami',
  logs: 'the service writes its log to stderr; there are no containers',
  ...Object.fromEntries(['attach', 'cp', 'debug', 'exec', 'port-forward', 'top'].map((name) => [name, noContainers])),
};

const goes = 'an object goes at once, or when its finalizers are gone';
const options: Readonly<Record<string, string>> = {
  // Of `auth can-i`.
  '--list': 'kindred whoami shows your roles',
  '--chunk-size': 'objects are printed as they arrive; --limit prints the first ones',
  '--kubeconfig': commands.config!,
  '--force': 'an object that waits for finalizers goes with: kindred finalizer remove TYPE NAME --all',
  '--grace-period': goes,
  '--now': goes,
  '--cascade': goes,
  '--wait': 'kindred wait TYPE NAME --for=delete',
};

const tooManyFor: Readonly<Record<string, string>> = { list: 'kindred get TYPE NAME' };

const missing: Readonly<Record<string, string>> = { '-f': 'files follow -f, as in -f objects.yaml' };

const places = [
  { pattern: /unknown command '([^']+)'/, hints: commands },
  { pattern: /unknown option '(-[^'=]+)/, hints: options },
  { pattern: /required option '(-[^', ]+)/, hints: missing },
  { pattern: /too many arguments for '([^']+)'/, hints: tooManyFor },
];

/** For a message of the parser of arguments; empty when there is nothing to add. */
export function hintFor(message: string): string {
  for (const { pattern, hints } of places) {
    const [, word = ''] = pattern.exec(message) ?? [];
    if (Object.hasOwn(hints, word)) return `; here: ${hints[word]}`;
  }
  return '';
}
