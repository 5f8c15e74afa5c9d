import { test } from 'node:test';
import { certificates } from './certificates.ts';

const text = { type: 'string' };
const conditions = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status'],
    properties: {
      type: text,
      status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
      reason: text,
      message: text,
      lastTransitionTime: { type: 'string', format: 'date-time' },
    },
  },
};

function definition(kind: string, spec: object): object {
  const plural = `${kind.toLowerCase()}s`;
  return {
    metadata: { name: `${plural}.cert-manager.io` },
    spec: {
      group: 'cert-manager.io',
      names: { plural, kind },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type == "Ready")].status' },
          ],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              required: ['spec'],
              properties: {
                spec: { type: 'object', ...spec },
                status: {
                  type: 'object',
                  properties: {
                    conditions,
                    notAfter: { type: 'string', format: 'date-time' },
                    revision: { type: 'integer' },
                  },
                },
              },
            },
          },
        },
      ],
    },
  };
}

test('a controller keeps the objects of definitions', { timeout: 60_000 }, async () => {
  const certificate = {
    required: ['secretName', 'issuerRef'],
    properties: {
      secretName: text,
      dnsNames: { type: 'array', items: text },
      issuerRef: { type: 'object', required: ['name'], properties: { name: text } },
    },
  };
  const issuer = { properties: { ca: { type: 'object', required: ['secretName'], properties: { secretName: text } } } };
  await certificates([definition('Certificate', certificate), definition('Issuer', issuer)], 5);
});
