import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Envelope } from './envelope.ts';

test('api: a page as JSON, whole or in pieces, has the members of the envelope', () => {
  const counts = fc.record({ page: fc.integer({ min: 1, max: 50 }), size: fc.integer({ min: 1, max: 20 }) });
  const objects = fc.array(fc.record({ metadata: fc.record({ name: fc.string() }) }), { maxLength: 20, size: 'max' });
  fc.assert(
    fc.property(counts, objects, fc.nat(500), ({ page, size }, given, total) => {
      const items = given.map((one) => Buffer.from(JSON.stringify(one)));
      const envelope = new Envelope(page, size, { revision: 1, total, items });
      const whole = envelope.write(Buffer.alloc(envelope.length + 7, 'x'));
      assert.equal(whole.length, envelope.length);
      assert.equal(Buffer.concat([...envelope.pieces()]).toString(), whole.toString());
      const totalPages = Math.ceil(total / size);
      assert.deepEqual(JSON.parse(whole.toString()), {
        page,
        size,
        total,
        items: items.map((item) => JSON.parse(item.toString())),
        first: page === 1,
        last: page >= totalPages,
        hasNext: page < totalPages,
        hasPrevious: page > 1,
        totalPages,
      });
    }),
  );
});
