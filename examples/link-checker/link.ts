import type { ObjectOf } from 'kindred';
import { defineModel, Type } from 'kindred';

export const Link = defineModel({
  gvk: {
    group: 'links.example.com',
    version: 'v1alpha1',
    kind: 'Link',
    singular: 'link',
    plural: 'links',
    subresources: { status: true },
  },
  presentation: {
    title: { en: 'Link', 'zh-CN': '链接' },
    columns: ['spec.url', 'status.reachable', 'status.lastCheck'],
    summary: 'spec.url',
  },
  spec: Type.Object({
    url: Type.String({ format: 'uri', pattern: '^https?://', maxLength: 2_000, examples: ['https://example.com/'] }),
    interval: Type.Integer({ minimum: 1, default: 3_600, description: 'Seconds between two requests' }),
  }),
  status: Type.Object({
    conditions: Type.Array(
      Type.Object({
        type: Type.Literal('Reachable'),
        status: Type.Enum(['True', 'False']),
        reason: Type.Enum(['Answered', 'ErrorStatus', 'Refused', 'Failed', 'TimedOut']),
        message: Type.String(),
        lastTransitionTime: Type.String({ format: 'date-time' }),
      }),
    ),
    /** The URL that was requested: another than in `spec` is out of date. */
    url: Type.String(),
    lastCheck: Type.String({ format: 'date-time' }),
    nextCheck: Type.String({ format: 'date-time' }),
  }),
  indexes: (index) => [
    index.single('spec.url', String, (link) => link.spec.url, { unique: true }),
    index.single('status.reachable', Boolean, (link) => {
      const condition = link.status?.conditions[0];
      return condition && condition.status === 'True';
    }),
    index.single('status.nextCheck', Date, (link) => link.status?.nextCheck),
  ],
});
export type Link = ObjectOf<typeof Link>;
export type LinkStatus = NonNullable<Link['status']>;
export type Condition = LinkStatus['conditions'][number];
