/** The keywords of the schemas in a definition, as a schema of these: what else a client sends there is unknown. */
import type { Structural } from './structural-type.ts';

const anything: Structural = {
  schema: {},
  type: undefined,
  nullable: false,
  isIntOrString: false,
  preserves: true,
  isEmbedded: false,
  properties: new Map(),
  additional: undefined,
  items: undefined,
  defaultText: undefined,
};

const values = [
  '$ref',
  '$schema',
  'default',
  'deprecated',
  'description',
  'discriminator',
  'enum',
  'example',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'externalDocs',
  'format',
  'id',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'multipleOf',
  'nullable',
  'pattern',
  'readOnly',
  'required',
  'title',
  'type',
  'uniqueItems',
  'writeOnly',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  'x-kubernetes-preserve-unknown-fields',
  'xml',
];
const schemas = ['additionalItems', 'additionalProperties', 'allOf', 'anyOf', 'items', 'not', 'oneOf'];
const mapsOfSchemas = ['definitions', 'dependencies', 'patternProperties', 'properties'];
const rule = ['fieldPath', 'message', 'messageExpression', 'optionalOldSelf', 'reason', 'rule'];

function each(names: readonly string[], node: Structural): [string, Structural][] {
  return names.map((name) => [name, node]);
}

function listOf(items: Structural): Structural {
  return { ...anything, items };
}

function within(name: string, node: Structural): Structural {
  return { ...anything, properties: new Map([[name, node]]) };
}

const keywords = new Map<string, Structural>();
/** A schema, or a list of them. */
const schema: Structural = {
  ...anything,
  preserves: false,
  properties: keywords,
  get items() {
    return schema;
  },
};
for (const [keyword, node] of [
  ...each(values, anything),
  ...each(schemas, schema),
  ...each(mapsOfSchemas, { ...anything, additional: schema }),
  ...each(
    ['x-kubernetes-validations'],
    listOf({ ...anything, preserves: false, properties: new Map(each(rule, anything)) }),
  ),
])
  keywords.set(keyword, node);

/** Of a whole definition. Elsewhere than in its schemas nothing is taken away. */
export const definitionKeywords = within(
  'spec',
  within('versions', listOf(within('schema', within('openAPIV3Schema', schema)))),
);
