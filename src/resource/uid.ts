/** The identity of one object for all time: derived, so that nothing is stored for it and every replica shows the same. */
import { hash } from 'node:crypto';

/** What tells an object from every other, those that had its name before among them. */
export interface Identified {
  readonly group: string;
  readonly kind: string;
  /** Of the object in the store (`fullNameOf`). */
  readonly fullName: string;
  readonly creationTimestamp: string | undefined;
  /** Revision of its creation. */
  readonly id: number;
}

/** A UUID of version 8. */
export function uidOf({ group, kind, fullName, creationTimestamp = '', id }: Identified): string {
  const bytes = hash('sha256', [group, kind, fullName, creationTimestamp, id].join('\0'), 'buffer');
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const text = bytes.toString('hex', 0, 16);
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
}
