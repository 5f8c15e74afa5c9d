/**
 * A controller for the Certificates of cert-manager, with `@kubernetes/client-node`: it keeps a Secret with a key for each one that its
 * Issuer is ready for, tells so in the conditions of both, and records an Event.
 */
import { generateKeyPairSync } from 'node:crypto';
import type { KubeConfig, KubernetesObject } from '@kubernetes/client-node';
import { CoreV1Api, KubernetesObjectApi, makeInformer, PatchStrategy } from '@kubernetes/client-node';

const apiVersion = 'cert-manager.io/v1';
const finalizer = 'cert-manager.io/clean-up';
const day = 86_400_000;

interface Certificate extends KubernetesObject {
  spec: { secretName: string; commonName?: string; issuerRef: { name: string } };
  status?: { conditions?: { type: string; status: string }[]; revision?: number };
}

export class CertificateController {
  readonly #objects: KubernetesObjectApi;
  readonly #core: CoreV1Api;
  readonly #config: KubeConfig;
  readonly #namespace: string;
  readonly #pending = new Map<string, Promise<void>>();
  #isStopped = false;
  readonly #stops: (() => Promise<void>)[] = [];
  /** Writes that another one was quicker than: the next change mends them. */
  readonly conflicts: string[] = [];
  reconciled = 0;

  constructor(config: KubeConfig, namespace: string) {
    this.#config = config;
    this.#namespace = namespace;
    this.#objects = KubernetesObjectApi.makeApiClient(config);
    this.#core = config.makeApiClient(CoreV1Api);
  }

  async start(): Promise<void> {
    for (const [plural, kind] of [
      ['issuers', 'Issuer'],
      ['certificates', 'Certificate'],
    ] as const) {
      const path = `/apis/${apiVersion}/namespaces/${this.#namespace}/${plural}`;
      const list = () => this.#objects.list(apiVersion, kind, this.#namespace);
      const informer = makeInformer(this.#config, path, list);
      const changed = (object: KubernetesObject) => this.#enqueue(kind, object.metadata!.name!);
      informer.on('add', changed);
      informer.on('update', changed);
      informer.on('error', () => setTimeout(() => !this.#isStopped && void informer.start(), 100));
      await informer.start();
      this.#stops.push(() => informer.stop());
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const stop of this.#stops) await stop();
    await Promise.all(this.#pending.values());
  }

  /** One at a time for each object. */
  #enqueue(kind: 'Issuer' | 'Certificate', name: string): void {
    const key = `${kind}/${name}`;
    const before = this.#pending.get(key) ?? Promise.resolve();
    const work = before.then(async () => {
      try {
        await (kind === 'Issuer' ? this.#issuer(name) : this.#certificate(name));
        this.reconciled++;
      } catch (error) {
        const { code } = error as { code?: number };
        if (code === 409) this.conflicts.push(key);
        else if (code !== 404) throw error;
      }
    });
    this.#pending.set(key, work);
  }

  #read<T extends KubernetesObject>(kind: string, name: string): Promise<T> {
    return this.#objects.read<T>({ apiVersion, kind, metadata: { name, namespace: this.#namespace } }) as Promise<T>;
  }

  async #issuer(name: string): Promise<void> {
    const issuer = await this.#read<Certificate>('Issuer', name);
    if (isReady(issuer)) return;
    await this.#tell(issuer, { conditions: [ready(true, 'KeyPairVerified', 'Signing CA verified')] });
    for (const { metadata } of (await this.#objects.list(apiVersion, 'Certificate', this.#namespace)).items) {
      this.#enqueue('Certificate', metadata!.name!);
    }
  }

  async #certificate(name: string): Promise<void> {
    const certificate = await this.#read<Certificate>('Certificate', name);
    const { metadata, spec } = certificate;
    const secret = { name: spec.secretName, namespace: this.#namespace };
    if (metadata!.deletionTimestamp) {
      await this.#core.deleteNamespacedSecret(secret).catch(absent);
      return this.#setFinalizers(certificate, []);
    }
    if (!metadata!.finalizers?.includes(finalizer)) return this.#setFinalizers(certificate, [finalizer]);
    const issuer = await this.#read<Certificate>('Issuer', spec.issuerRef.name).catch(absent);
    if (!issuer || !isReady(issuer)) {
      if (certificate.status?.conditions) return;
      return this.#tell(certificate, { conditions: [ready(false, 'DoesNotExist', 'The issuer is not ready')] });
    }
    const there = await this.#core.readNamespacedSecret(secret).catch(absent);
    if (there && isReady(certificate)) return;
    if (!there) {
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const stringData = {
        'tls.key': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        'tls.crt': publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      };
      const body = { metadata: secret, type: 'kubernetes.io/tls', stringData };
      await this.#core.createNamespacedSecret({ namespace: this.#namespace, body });
    }
    await this.#tell(certificate, {
      conditions: [ready(true, 'Ready', 'Certificate is up to date and has not expired')],
      notAfter: new Date(Date.now() + 90 * day).toISOString().replace(/\.\d+/, ''),
      revision: (certificate.status?.revision ?? 0) + 1,
    });
    const { name: involved, namespace, uid } = metadata!;
    await this.#core.createNamespacedEvent({
      namespace: this.#namespace,
      body: {
        metadata: { generateName: `${name}.` },
        involvedObject: { apiVersion, kind: 'Certificate', name: involved!, namespace: namespace!, uid: uid! },
        type: 'Normal',
        reason: 'Issuing',
        message: 'The certificate has been successfully issued',
      },
    });
  }

  async #setFinalizers({ metadata }: Certificate, finalizers: string[]): Promise<void> {
    const { name, namespace, resourceVersion } = metadata!;
    const patch = { apiVersion, kind: 'Certificate', metadata: { name, namespace, resourceVersion, finalizers } };
    await this.#objects.patch(patch, undefined, undefined, undefined, undefined, PatchStrategy.MergePatch);
  }

  /** By the sub-resource, which leaves everything else as it is. */
  async #tell(object: Certificate, status: object): Promise<void> {
    const { kind, metadata } = object;
    const plural = `${kind!.toLowerCase()}s`;
    const cluster = this.#config.getCurrentCluster()!;
    const path = `/apis/${apiVersion}/namespaces/${this.#namespace}/${plural}/${metadata!.name}/status`;
    const response = await fetch(`${cluster.server}${path}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...object, status }),
    });
    if (!response.ok) throw Object.assign(new Error(await response.text()), { code: response.status });
  }
}

function ready(isTrue: boolean, reason: string, message: string) {
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+/, '');
  return { type: 'Ready', status: isTrue ? 'True' : 'False', reason, message, lastTransitionTime };
}

export function isReady({ status }: Pick<Certificate, 'status'>): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

function absent(error: { code?: number }): undefined {
  if (error.code !== 404) throw error;
}
