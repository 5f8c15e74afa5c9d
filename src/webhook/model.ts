/** The built-in model of webhooks: who is told of which changes, and how far that has come. */

import { defineModel } from '../model/define.ts';
import type { Model } from '../model/model-type.ts';
import type { Metadata } from '../model/object.ts';
import { Type } from '../model/type.ts';
import type { Author } from '../resource/access.ts';

export type WebhookEvent = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface WebhookSpec {
  url: string;
  resources: readonly string[];
  labelSelector?: string;
  events?: readonly WebhookEvent[];
  secretName: string;
}

export interface WebhookCondition {
  type: 'Ready' | 'Complete' | 'UnknownResource' | 'OtherStore';
  status: 'True' | 'False';
  reason: string;
  message: string;
  lastTransitionTime: string;
}

export interface WebhookStatus {
  /** Absent on webhooks from before it was kept. */
  author?: Author;
  lastRevision: number;
  failures: number;
  dropped: number;
  nextTry?: string;
  lastDelivery?: string;
  conditions: WebhookCondition[];
}

export interface WebhookObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: WebhookSpec;
  status?: WebhookStatus;
}

export function webhookGroup(reservedDomain: string): string {
  return `webhook.${reservedDomain}`;
}

const moment = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }));

/** `webhooks` in `webhook.<reserved domain>/v1alpha1`. */
export function webhookModel(reservedDomain: string): Model<WebhookObject> {
  return defineModel({
    gvk: {
      group: webhookGroup(reservedDomain),
      version: 'v1alpha1',
      kind: 'Webhook',
      singular: 'webhook',
      plural: 'webhooks',
    },
    subresources: { status: true },
    spec: Type.Object({
      url: Type.String({ format: 'uri', maxLength: 2048, description: 'Where changes are posted: http or https.' }),
      resources: Type.Array(Type.String({ minLength: 1, maxLength: 317 }), {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
        description:
          'Whose changes: `plural.group`, in one version of the model `plural.version.group`; the plural alone for the empty group.',
      }),
      labelSelector: Type.Optional(
        Type.String({ maxLength: 4096, description: 'Only objects that match, as in a list; default all.' }),
      ),
      events: Type.Optional(
        Type.Array(Type.Enum(['ADDED', 'MODIFIED', 'DELETED']), {
          minItems: 1,
          uniqueItems: true,
          description: 'Only these; default all three.',
        }),
      ),
      secretName: Type.String({
        minLength: 1,
        maxLength: 253,
        description: 'Name of the Secret whose entry `key` signs the deliveries.',
      }),
    }),
    status: Type.Optional(
      Type.Object({
        author: Type.Optional(
          Type.Object(
            {
              kind: Type.Enum(['User', 'Plugin', 'System']),
              name: Type.String(),
              created: moment('When this User was made; another User of the name is somebody else.'),
            },
            { description: 'Who made it, or changed its specification last: it delivers what they may see.' },
          ),
        ),
        lastRevision: Type.Integer({ minimum: 0, description: 'Every change up to this revision is delivered.' }),
        failures: Type.Integer({ minimum: 0, description: 'Attempts that failed since the last that did not.' }),
        dropped: Type.Integer({ minimum: 0, description: 'Changes that were given up.' }),
        nextTry: moment('When the next attempt after a failure is due.'),
        lastDelivery: moment('When a delivery was accepted last.'),
        conditions: Type.Array(
          Type.Object({
            type: Type.Enum(['Ready', 'Complete', 'UnknownResource', 'OtherStore']),
            status: Type.Enum(['True', 'False']),
            reason: Type.String(),
            message: Type.String(),
            lastTransitionTime: Type.String({ format: 'date-time' }),
          }),
        ),
      }),
    ),
    indexes: (index) => [
      index.multi('spec.resources', String, (webhook: WebhookObject) => webhook.spec.resources),
      index.single('spec.secretName', String, (webhook: WebhookObject) => webhook.spec.secretName),
      index.single('status.failures', Number, (webhook: WebhookObject) => webhook.status?.failures ?? 0),
    ],
  }) as unknown as Model<WebhookObject>;
}
