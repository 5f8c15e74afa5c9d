import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { slowness, threadTime } from '../../test/slowness.ts';
import { decodeProtobuf } from './protobuf.ts';

type Part = [field: number, value: string | number | boolean | Part[]];

/** As gogo/protobuf writes a message: texts and messages with their length, the rest as varints. */
function encode(parts: readonly Part[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const [field, value] of parts) {
    if (typeof value === 'string') writer.tag(field, WireType.LengthDelimited).string(value);
    else if (typeof value === 'object') writer.tag(field, WireType.LengthDelimited).bytes(encode(value));
    else writer.tag(field, WireType.Varint).int64(Number(value));
  }
  return writer.finish();
}

function body(apiVersion: string, kind: string, message: readonly Part[]): Uint8Array {
  const envelope = new BinaryWriter();
  envelope.tag(1, WireType.LengthDelimited).bytes(
    encode([
      [1, apiVersion],
      [2, kind],
    ]),
  );
  envelope.tag(2, WireType.LengthDelimited).bytes(encode(message));
  envelope.tag(3, WireType.LengthDelimited).string('').tag(4, WireType.LengthDelimited).string('');
  return Buffer.concat([Buffer.from('k8s\0'), envelope.finish()]);
}

const decode = (...args: Parameters<typeof body>) => decodeProtobuf(body(...args));

/** What clients send of metadata that they know only the name of. */
const bare: Part[] = [
  [1, 'a'],
  [2, ''],
  [3, 'team'],
  [4, ''],
  [5, ''],
  [6, ''],
  [7, 0],
  [8, []],
];

test('a ConfigMap: what is empty is absent, maps are objects, bytes are base64', () => {
  const message: Part[] = [
    [
      1,
      [
        ...bare,
        [
          11,
          [
            [1, 'app'],
            [2, 'x'],
          ],
        ],
        [
          11,
          [
            [1, '__proto__'],
            [2, 'y'],
          ],
        ],
      ],
    ],
    [
      2,
      [
        [1, 'key'],
        [2, 'value'],
      ],
    ],
    [2, [[1, 'empty']]],
    [
      3,
      [
        [1, 'bytes'],
        [2, '\0\u0001'],
      ],
    ],
    [4, false],
  ];
  assert.deepEqual(decode('v1', 'ConfigMap', message), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'a',
      namespace: 'team',
      labels: Object.fromEntries([
        ['app', 'x'],
        ['__proto__', 'y'],
      ]),
    },
    immutable: false,
    data: { key: 'value', empty: '' },
    binaryData: { bytes: 'AAE=' },
  });
});

test('metadata: times without fractions, owners with their switches, finalizers in order', () => {
  const owner: Part[] = [
    [1, 'City'],
    [3, 'o'],
    [4, 'u-1'],
    [5, 'a.example.com/v1'],
    [6, false],
    [7, true],
  ];
  const metadata: Part[] = [
    ...bare.slice(0, -2),
    [7, 3],
    [8, [[1, 1_767_323_045]]],
    [10, 0],
    [13, owner],
    [14, 'b'],
    [14, 'a'],
    [
      17,
      [
        [1, 'm'],
        [2, 'Update'],
        [
          4,
          [
            [1, 0],
            [2, 5],
          ],
        ],
        [7, [[1, '{']]],
      ],
    ],
  ];
  assert.deepEqual(
    decode('v1', 'Namespace', [
      [1, metadata],
      [2, [[1, 'kubernetes']]],
      [3, []],
    ]).metadata,
    {
      name: 'a',
      namespace: 'team',
      generation: 3,
      creationTimestamp: '2026-01-02T03:04:05Z',
      deletionGracePeriodSeconds: 0,
      ownerReferences: [
        {
          kind: 'City',
          name: 'o',
          uid: 'u-1',
          apiVersion: 'a.example.com/v1',
          controller: false,
          blockOwnerDeletion: true,
        },
      ],
      finalizers: ['b', 'a'],
      managedFields: [{ manager: 'm', operation: 'Update', time: '1970-01-01T00:00:00Z' }],
    },
  );
});

test('a Lease keeps six digits of its times, and what is empty but sent', () => {
  const spec: Part[] = [
    [1, ''],
    [2, 15],
    [
      4,
      [
        [1, 1_767_323_045],
        [2, 123_456_789],
      ],
    ],
    [5, 0],
  ];
  assert.deepEqual(
    decode('coordination.k8s.io/v1', 'Lease', [
      [1, bare],
      [2, spec],
    ]).spec,
    {
      holderIdentity: '',
      leaseDurationSeconds: 15,
      renewTime: '2026-01-02T03:04:05.123456Z',
      leaseTransitions: 0,
    },
  );
});

test('an Event, a Secret and DeleteOptions', () => {
  const event: Part[] = [
    [1, bare],
    [
      2,
      [
        [1, 'City'],
        [2, ''],
        [3, 'x'],
      ],
    ],
    [3, 'Grew'],
    [5, []],
    [6, []],
    [8, 2],
    [10, []],
    [
      11,
      [
        [1, 4],
        [2, [[1, 60]]],
      ],
    ],
  ];
  assert.deepEqual(decode('v1', 'Event', event), {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'a', namespace: 'team' },
    involvedObject: { kind: 'City', name: 'x' },
    reason: 'Grew',
    source: {},
    count: 2,
    series: { count: 4, lastObservedTime: '1970-01-01T00:01:00.000000Z' },
  });
  assert.deepEqual(
    decode('v1', 'Secret', [
      [1, bare],
      [
        2,
        [
          [1, 'k'],
          [2, 'v'],
        ],
      ],
      [3, 'Opaque'],
      [
        4,
        [
          [1, 's'],
          [2, 't'],
        ],
      ],
    ]),
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'a', namespace: 'team' },
      type: 'Opaque',
      data: { k: 'dg==' },
      stringData: { s: 't' },
    },
  );
  assert.deepEqual(
    decode('any.example.com/v3', 'DeleteOptions', [
      [1, 0],
      [2, [[1, 'u']]],
      [4, 'Orphan'],
      [5, 'All'],
    ]),
    {
      apiVersion: 'any.example.com/v3',
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u' },
      propagationPolicy: 'Orphan',
      dryRun: ['All'],
    },
  );
});

test('a review, with a field that is not known', () => {
  const attributes: Part[] = [
    [1, 'team'],
    [2, 'get'],
    [3, 'a.example.com'],
    [4, ''],
    [5, 'cities'],
    [8, [[1, 'x']]],
  ];
  const answered: Part[] = [
    [1, false],
    [2, ''],
  ];
  const review = decode('authorization.k8s.io/v1', 'SelfSubjectAccessReview', [
    [1, []],
    [2, [[1, attributes]]],
    [3, answered],
  ]);
  assert.deepEqual(review.spec, {
    resourceAttributes: { namespace: 'team', verb: 'get', group: 'a.example.com', resource: 'cities' },
  });
});

test('what is no such body is refused', () => {
  const code = (bytes: Uint8Array) => {
    try {
      decodeProtobuf(bytes);
      return 'taken';
    } catch (error) {
      return (error as { code?: string }).code;
    }
  };
  const whole = body('v1', 'ConfigMap', [
    [1, bare],
    [
      2,
      [
        [1, 'key'],
        [2, 'value'],
      ],
    ],
  ]);
  assert.equal(code(whole), 'taken');
  assert.equal(code(Buffer.from('{}')), 'BadRequest');
  for (let end = 5; end < whole.length - 5; end++)
    assert.notEqual(code(whole.subarray(0, end)), undefined, `cut at ${end}`);
  assert.equal(code(whole.subarray(0, 40)), 'BadRequest');
  assert.equal(code(body('v1', 'Pod', [])), 'UnsupportedMediaType');
  assert.equal(code(body('v1', 'ConfigMap', [[1, 5]])), 'BadRequest');
  const invalidText = new BinaryWriter()
    .tag(3, WireType.LengthDelimited)
    .bytes(Buffer.from([0xff, 0xfe]))
    .finish();
  const envelope = body('v1', 'Secret', []).subarray(0, -6);
  assert.equal(code(Buffer.concat([envelope, Buffer.from([0x12, invalidText.length]), invalidText])), 'BadRequest');
  const large = new BinaryWriter()
    .tag(7, WireType.Varint)
    .int64(2n ** 60n)
    .finish();
  const metadata = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(large).finish();
  assert.equal(code(Buffer.concat([envelope, Buffer.from([0x12, metadata.length]), metadata])), 'Invalid');
});

test('more fields and items than are read are refused, and as many as are read take less than 50 ms', () => {
  const entries = (count: number) =>
    Array.from(
      { length: count },
      (_, i): Part => [
        2,
        [
          [1, `key-${i}`],
          [2, 'v'],
        ],
      ],
    );
  assert.throws(() => decode('v1', 'ConfigMap', entries(17_000)), { code: 'PayloadTooLarge' });
  const bytes = body('v1', 'ConfigMap', entries(16_600));
  const times = [1, 2, 3, 4, 5].map(() => {
    const before = threadTime();
    decodeProtobuf(bytes);
    return threadTime() - before;
  });
  assert.ok(Math.min(...times) < 50 * slowness(), `${times} ms`);
});
