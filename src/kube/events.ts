/**
 * Events: one kind that is stored, as the core group has it, and shown a second time as `events.k8s.io` has it, with other
 * names of its members.
 */
import type { Column } from '../model/attributes.ts';
import { defineModel } from '../model/define.ts';
import type { GVKAttributes } from '../model/gvk.ts';
import type { IndexFactory } from '../model/index-spec.ts';
import type { Model, ModelType } from '../model/model-type.ts';
import type { ExtensionObject } from '../model/object.ts';
import { Scheme } from '../model/scheme.ts';
import { Type } from '../model/type.ts';
import { count, moment, nullable, text } from './fields.ts';

interface EventShape {
  metadata?: { creationTimestamp?: string };
  involvedObject?: Record<string, string | undefined>;
  reason?: string;
  type?: string;
  source?: { component?: string };
  reportingComponent?: string;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  series?: { lastObservedTime?: string | null } | null;
}

/** When an Event was seen last: after that it is kept for a while. */
export const lastSeenIndex = 'lastSeen';

const reference = (description: string) =>
  Type.Optional(
    Type.Object(
      {
        apiVersion: text('Group and version of the object'),
        kind: text('Kind of the object'),
        namespace: text('Namespace of the object'),
        name: text('Name of the object'),
        uid: text('The uid of the object'),
        resourceVersion: text('Revision of the object'),
        fieldPath: text('Part of the object'),
      },
      { description },
    ),
  );

const involved = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'fieldPath'] as const;
const description = 'Something that happened to an object; it is kept for a while.';

const members = {
  involvedObject: reference('What it is about'),
  related: reference('What else it is about'),
  reason: text('Why, in one word'),
  message: text('What happened'),
  type: text('Normal or Warning'),
  source: Type.Optional(
    Type.Object({ component: text('Program'), host: text('Machine') }, { description: 'Who tells it' }),
  ),
  firstTimestamp: moment('When it happened first'),
  lastTimestamp: moment('When it happened last'),
  eventTime: moment('When it happened'),
  count: count('How often it happened'),
  series: nullable({
    type: 'object',
    description: 'How often it happened, and when last',
    properties: { count: count('How often it happened'), lastObservedTime: moment('When it happened last') },
  }),
  action: text('What was done'),
  reportingComponent: text('Program that tells it'),
  reportingInstance: text('Which of its processes'),
};

const shared = { naming: 'kubernetes', scope: 'Namespaced', shortNames: ['ev'] } as const;

export function eventKind(gvk: GVKAttributes): Model<ExtensionObject> {
  return defineModel({
    gvk,
    ...shared,
    columns: [
      { name: 'Last Seen', type: 'date', path: '.lastTimestamp', description: 'When it happened last' },
      { name: 'Type', type: 'string', path: '.type', description: 'Normal or Warning' },
      { name: 'Reason', type: 'string', path: '.reason', description: 'Why, in one word' },
      { name: 'Object', type: 'string', path: '.involvedObject.name', description: 'What it is about' },
      { name: 'Message', type: 'string', path: '.message', description: 'What happened' },
    ],
    schema: Type.Object(members, { description }),
    // What clients in Go send as null has no static type.
    indexes: (index: IndexFactory<any>) => [
      ...involved.map((name) =>
        index.single(`involvedObject.${name}`, String, (event: EventShape) => event.involvedObject?.[name]),
      ),
      index.single('reason', String, (event: EventShape) => event.reason),
      index.single('type', String, (event: EventShape) => event.type),
      index.single('reportingComponent', String, (event: EventShape) => event.reportingComponent),
      index.single('source', String, (event: EventShape) => event.source?.component || event.reportingComponent),
      index.single(lastSeenIndex, Date, lastSeen),
    ],
  }) as unknown as Model<ExtensionObject>;
}

function lastSeen({ metadata, lastTimestamp, eventTime, series }: EventShape): string | undefined {
  return series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata?.creationTimestamp;
}

/** Cells of its table whose value is at no one path, by the name of the column. */
export const eventCells: Readonly<Record<string, (event: EventShape) => unknown>> = {
  'Last Seen': lastSeen,
  Object: ({ involvedObject: { kind = '', name } = {} }) => name && `${kind.toLowerCase()}/${name}`,
};

type Members = Record<string, unknown>;

/** Objects under other names of their members than the stored ones have. */
export interface View {
  /** @param members without apiVersion, kind and metadata */
  shown(members: Members): Members;
  stored(members: Members): Members;
  /** The index behind a field of a selector. */
  index(field: string): string;
}

export const eventsPlace = { group: 'events.k8s.io', version: 'v1', plural: 'events' } as const;

/** By their names in the core group. */
const shownNames: Readonly<Record<string, string>> = {
  involvedObject: 'regarding',
  message: 'note',
  source: 'deprecatedSource',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  count: 'deprecatedCount',
  reportingComponent: 'reportingController',
};
const storedNames = Object.fromEntries(Object.entries(shownNames).map(([stored, shown]) => [shown, stored]));

export const eventsView: View = {
  shown: (event) => renamed(event, shownNames),
  stored: (event) => renamed(event, storedNames),
  index(field) {
    const [first = '', ...rest] = field.split('.');
    return [storedNames[first] ?? first, ...rest].join('.');
  },
};

function renamed<T>(event: Readonly<Record<string, T>>, names: Readonly<Record<string, string>>): Record<string, T> {
  return Object.fromEntries(Object.entries(event).map(([name, value]) => [names[name] ?? name, value]));
}

/** @param columns of the stored kind: rows are read from what is stored */
export function eventsScheme(columns: readonly Column[] | undefined): Scheme {
  const model = defineModel({
    gvk: { ...eventsPlace, kind: 'Event', singular: 'event' },
    ...shared,
    ...(columns && { columns: [...columns] }),
    schema: Type.Object(renamed(members as Readonly<Record<string, any>>, shownNames), { description }),
  });
  return Scheme.buildFromType(model as unknown as ModelType);
}
