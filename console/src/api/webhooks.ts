/** Webhooks as objects, and the attempts to deliver that the replica which delivers remembers. */
import type { ApiObject } from './object.ts';
import { useOwnObjects } from './own.ts';

export interface Webhook extends ApiObject {
  readonly spec: {
    readonly url: string;
    readonly resources: readonly string[];
    readonly labelSelector?: string;
    readonly events?: readonly string[];
    readonly secretName: string;
  };
  readonly status?: {
    readonly author?: { readonly kind: string; readonly name: string };
    readonly lastRevision: number;
    readonly failures: number;
    readonly dropped: number;
    readonly nextTry?: string;
    readonly lastDelivery?: string;
    readonly conditions: readonly {
      readonly type: string;
      readonly status: 'True' | 'False';
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

export interface Delivery {
  readonly id: string;
  /** Of a change, or a test. */
  readonly kind: string;
  readonly webhookId: string;
  readonly time: string;
  /** Milliseconds. */
  readonly duration: number;
  readonly outcome: 'accepted' | 'refused' | 'failed';
  readonly status?: number;
  readonly error?: string;
  readonly type?: string;
  readonly revision?: number;
  /** `plural.group`. */
  readonly resource?: string;
  readonly name?: string;
}

export interface Deliveries {
  /** False on a replica that does not deliver. */
  readonly here: boolean;
  readonly deliveries: readonly Delivery[];
}

const refreshEvery = 5_000;

export const useWebhooks = () => useOwnObjects<Webhook>('Webhook', () => refreshEvery);

export const conditionOf = ({ status }: Webhook, type: string) => status?.conditions.find((one) => one.type === type);
