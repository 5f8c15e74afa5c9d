/** A kubeconfig: how kubectl and other clients of Kubernetes find this service, and who they are there. */
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { createPrivate } from '../runtime/private-file.ts';
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
    .option('-o, --output <file>', 'write it to a file, for its owner alone')
    .addHelpText(
      'after',
      '\nFor example:\n  kindred kubeconfig --ca ca.pem -o ~/.kube/kindred\n  KUBECONFIG=~/.kube/kindred kubectl get namespaces',
    )
    .action(async ({ output, ...flags }: Flags) => {
      const text = yamlOf(kubeconfigOf(io, flags));
      if (output === undefined) return write(io.stdout, text);
      await pipeline(Readable.from([text]), createPrivate(output));
    });
  return withConnection(command, io);
}

function kubeconfigOf(io: Io, { ca, insecureSkipTlsVerify, namespace, name, ...connection }: Flags): object {
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
