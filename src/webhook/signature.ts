/** Signatures of deliveries, in the form of Standard Webhooks 1.0 (symmetric): https://www.standardwebhooks.com */
import { createHmac } from 'node:crypto';

export interface SignedContent {
  /** `webhook-id`: the same in every attempt at one delivery. */
  readonly id: string;
  /** `webhook-timestamp`: seconds since the epoch, of this attempt. */
  readonly timestamp: number;
  readonly body: Buffer;
}

const prefix = 'whsec_';

/** `webhook-signature`: for each key `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`, separated by spaces. */
export function signatureOf({ id, timestamp, body }: SignedContent, keys: readonly Uint8Array[]): string {
  return keys
    .map((key) => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`)
    .join(' ');
}

/** The bytes of a key as it stands in a Secret: text that begins with `whsec_` is base64 after that, anything else is the key itself. */
export function keyOf(value: Buffer): Buffer {
  const text = value.toString('latin1').trim();
  return text.startsWith(prefix) ? Buffer.from(text.slice(prefix.length), 'base64') : value;
}
