/** A kubeconfig: how kubectl and other clients of Kubernetes find this service, and who they are there. */
import { existsSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { isRecord } from '../model/object.ts';
import { replacePrivate } from '../runtime/private-file.ts';
import { parseYaml } from '../runtime/yaml.ts';
import type { ConnectionFlags } from './connection.ts';
import { endpointOf, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { UsageError, write } from './io.ts';
import { yamlOf } from './output.ts';

interface Flags extends ConnectionFlags {
  ca?: string;
  insecureSkipTlsVerify?: boolean;
  namespace?: string;
  name?: string;
  output?: string;
}

/** Where the service serves clients of Kubernetes. */
const path = '/kube';

export function kubeconfigCommand(io: Io): Command {
  const command = new Command('kubeconfig')
    .description('print a kubeconfig, with which kubectl and other clients of Kubernetes reach the service')
    .option('--ca <file>', 'PEM file of the authority that signed the certificate of the service')
    .option('--insecure-skip-tls-verify', 'do not check the certificate of the service')
    .option('--namespace <name>', 'namespace of requests that name none')
    .option('--name <name>', 'name of cluster, user and context (default: host and port of the address)')
    .option('-o, --output <file>', 'write it to a file, for its owner alone; what else a kubeconfig has in it stays')
    .addHelpText(
      'after',
      '\nFor example:\n  kindred kubeconfig --ca ca.pem -o ~/.kube/kindred\n  KUBECONFIG=~/.kube/kindred kubectl get namespaces',
    )
    .action(async ({ output, ...flags }: Flags) => {
      const config = kubeconfigOf(io, flags);
      if (output === undefined) return write(io.stdout, yamlOf(config));
      await replacePrivate(output, yamlOf(mergedInto(output, config)));
    });
  return withConnection(command, io);
}

const lists = ['clusters', 'users', 'contexts'] as const;

interface Entry {
  readonly name: string;
  readonly [member: string]: unknown;
}

type Kubeconfig = Readonly<Record<string, unknown> & Record<(typeof lists)[number], readonly Entry[]>>;

/** The file with these entries, in the place of those of the same names. @throws UsageError when it is no kubeconfig */
function mergedInto(file: string, config: Kubeconfig): object {
  const { value = {}, mistake } = existsSync(file) ? parseYaml(readFileSync(file, 'utf8'), file) : {};
  if (mistake !== undefined) throw new UsageError(mistake);
  const before: Record<string, unknown> = { kind: 'Config', ...(value as object) };
  const isList = (one: unknown) => one === undefined || one === null || (Array.isArray(one) && one.every(isRecord));
  if (!isRecord(value) || before.kind !== 'Config' || !lists.every((list) => isList(before[list])))
    throw new UsageError(`${file} is there already, and is no kubeconfig`);
  const merged = lists.map((list) => {
    const [own] = config[list];
    const others = ((before[list] ?? []) as Entry[]).filter(({ name }) => name !== own!.name);
    return [list, [...others, own]];
  });
  return { ...before, ...config, ...Object.fromEntries(merged) };
}

function kubeconfigOf(io: Io, { ca, insecureSkipTlsVerify, namespace, name, ...connection }: Flags): Kubeconfig {
  const { server, token } = endpointOf(connection, io);
  const { protocol, host } = addressOf(server);
  const isPlain = protocol === 'http:';
  if (ca !== undefined && insecureSkipTlsVerify) {
    throw new UsageError('--ca and --insecure-skip-tls-verify do not go together');
  }
  if (ca !== undefined && isPlain) throw new UsageError(`--ca is for https, and the service is at ${server}`);
  if (isPlain && token) {
    io.stderr.write(
      'kindred: kubectl sends no token over plain http: start the service with --tls-cert and --tls-key\n',
    );
  }
  const named = name ?? host;
  const cluster = {
    server: `${server.replace(/\/+$/, '')}${path}`,
    ...(ca !== undefined && { 'certificate-authority-data': certificateIn(ca).toString('base64') }),
    // Some clients refuse plain http without it.
    ...((isPlain || insecureSkipTlsVerify) && { 'insecure-skip-tls-verify': true }),
  };
  const context = { cluster: named, user: named, ...(namespace !== undefined && { namespace }) };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: named, cluster }],
    users: [{ name: named, user: token ? { token } : {} }],
    contexts: [{ name: named, context }],
    'current-context': named,
  };
}

function addressOf(server: string): URL {
  const url = URL.parse(server);
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new UsageError(`--server needs a URL such as https://kindred.example.com, not "${server}"`);
}

function certificateIn(file: string): Buffer {
  let content: Buffer;
  try {
    content = readFileSync(file);
  } catch (error) {
    throw new UsageError(`--ca: ${file} cannot be read: ${(error as Error).message}`);
  }
  if (content.includes('-----BEGIN CERTIFICATE-----')) return content;
  throw new UsageError(`--ca: ${file} has no certificate in PEM`);
}
