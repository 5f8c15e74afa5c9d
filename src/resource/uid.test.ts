import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { uidOf } from './uid.ts';

const widget = {
  group: 'bar.example.com',
  kind: 'Widget',
  fullName: 'team/a',
  creationTimestamp: '2026-01-02T03:04:05.678Z',
  id: 7,
};

test('a uid is the beginning of a SHA-256 over what identifies the object, as a UUID of version 8', () => {
  const uid = uidOf(widget);
  const text = 'bar.example.com\0Widget\0team/a\x002026-01-02T03:04:05.678Z\x007';
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 32);
  assert.match(uid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const plain = uid.replaceAll('-', '');
  assert.equal(
    plain.slice(0, 12) + plain.slice(13, 16) + plain.slice(17),
    digest.slice(0, 12) + digest.slice(13, 16) + digest.slice(17),
  );
  assert.equal(uidOf({ ...widget }), uid);
});

test('every part makes another uid', () => {
  const others = [
    { group: 'example.com' },
    { kind: 'Gadget' },
    { fullName: 'team/b' },
    { creationTimestamp: '2026-01-02T03:04:05.679Z' },
    { creationTimestamp: undefined },
    { id: 8 },
  ].map((part) => uidOf({ ...widget, ...part }));
  assert.equal(new Set([uidOf(widget), ...others]).size, others.length + 1);
});
