/** What can be asked of one webhook: its newest deliveries, one of them again, and a test (docs/guide/webhooks.md). */
import type { CustomEndpoint } from '../http/custom/routes.ts';
import type { Identity } from '../resource/access.ts';
import { webhookGroup } from './model.ts';

/** @param identity who asks: names of objects that they may not read are left out */
export interface WebhookActions {
  deliveries(webhook: string, identity: Identity): Promise<object>;
  replay(webhook: string, id: string, identity: Identity): Promise<object>;
  test(webhook: string, identity: Identity): Promise<object>;
}

const text = { type: 'string' };
const whole = { type: 'integer', minimum: 0 };
const delivery = {
  type: 'object',
  properties: {
    id: text,
    kind: { enum: ['change', 'replay', 'test'] },
    webhookId: { type: 'string', description: 'The header webhook-id of the request' },
    time: { type: 'string', format: 'date-time' },
    duration: { type: 'number', minimum: 0, description: 'Milliseconds' },
    outcome: { enum: ['accepted', 'refused', 'failed'] },
    status: { ...whole, description: 'Of the response of the receiver' },
    error: text,
    type: { enum: ['ADDED', 'MODIFIED', 'DELETED', 'TEST'] },
    revision: whole,
    resource: text,
    name: { type: 'string', description: 'Of the object, for callers who may read it' },
  },
  required: ['id', 'kind', 'webhookId', 'time', 'duration', 'outcome', 'type', 'revision'],
};
const deliveries = {
  type: 'object',
  properties: {
    here: { type: 'boolean', description: 'False: another replica delivers, and knows of the deliveries' },
    deliveries: { type: 'array', items: delivery },
  },
  required: ['here', 'deliveries'],
};
const tags = ['WebhookV1alpha1'];

export function webhookRoutes(reservedDomain: string, actions: WebhookActions): CustomEndpoint {
  const groupVersion = `${webhookGroup(reservedDomain)}/v1alpha1`;
  return {
    groupVersion: () => groupVersion as unknown as ReturnType<CustomEndpoint['groupVersion']>,
    endpoint: () => ({
      routes: [
        {
          method: 'GET',
          path: '/webhooks/{name}/deliveries',
          handler: ({ params, identity }) => actions.deliveries(params.name!, identity),
          operation: {
            operationId: 'ListWebhookDeliveries',
            description: 'The newest 200 attempts at deliveries of a webhook, newest first.',
            tags,
            parameters: [],
            responses: [{ status: 200, schema: deliveries }],
          },
        },
        {
          method: 'POST',
          path: '/webhooks/{name}/deliveries/{id}/replay',
          handler: ({ params, identity }) => actions.replay(params.name!, params.id!, identity),
          operation: {
            operationId: 'ReplayWebhookDelivery',
            description: 'Sends the change of one delivery again, once; answers what became of it.',
            tags,
            parameters: [],
            responses: [{ status: 200, schema: delivery }],
          },
        },
        {
          method: 'POST',
          path: '/webhooks/{name}/test',
          handler: ({ params, identity }) => actions.test(params.name!, identity),
          operation: {
            operationId: 'TestWebhook',
            description: 'Sends the receiver a delivery of the type TEST, once; answers what became of it.',
            tags,
            parameters: [],
            responses: [{ status: 200, schema: delivery }],
          },
        },
      ],
    }),
  };
}
