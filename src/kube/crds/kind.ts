/** The kind CustomResourceDefinition: a model that is declared by an object. */
import type { TString } from 'typebox';
import { declaredModel, defineModel, modelDeclaration } from '../../model/define.ts';
import type { Model } from '../../model/model-type.ts';
import type { ExtensionObject, Metadata } from '../../model/object.ts';
import { Type } from '../../model/type.ts';
import { definitionKeywords } from './keywords.ts';
import { pruneUnknown } from './values.ts';

export const definitionGroup = 'apiextensions.k8s.io';

/** Keeps a definition until its objects are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

/** Owner of the models that definitions declare. */
export const definitionOwner = 'a CustomResourceDefinition';

export interface DefinitionNames {
  plural: string;
  singular?: string;
  kind: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

export interface DefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: Record<string, unknown> };
  subresources?: {
    status?: object;
    scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
  };
  additionalPrinterColumns?: {
    name: string;
    type: string;
    jsonPath: string;
    description?: string;
    format?: string;
    priority?: number;
  }[];
  selectableFields?: { jsonPath: string }[];
}

export interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastTransitionTime: string;
}

export interface DefinitionObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec: {
    group: string;
    names: DefinitionNames;
    scope: string;
    versions: DefinitionVersion[];
    conversion?: { strategy?: string };
    preserveUnknownFields?: boolean;
  };
  status?: { acceptedNames?: object; storedVersions?: string[]; conditions?: Condition[] };
}

const text = (description: string) => Type.Optional(Type.String({ description }));
const texts = (description: string) => Type.Optional(Type.Array(Type.String(), { description }));
const anything = (description: string) => Type.Optional(Type.Unsafe<object>({ type: 'object', description }));

const names = (plural: TString, kind: TString) => ({
  plural,
  kind,
  singular: text('Name of one object on the command line; by default the kind in lower case'),
  listKind: text('Kind of a list; by default the kind with List behind it'),
  shortNames: texts('Names that stand for the resource on the command line'),
  categories: texts('Groups of resources that are asked for together, such as all'),
});

export function definitionModel(): Model<DefinitionObject> {
  const model = defineModel({
    gvk: {
      group: definitionGroup,
      version: 'v1',
      kind: 'CustomResourceDefinition',
      singular: 'customresourcedefinition',
      plural: 'customresourcedefinitions',
    },
    naming: 'kubernetes',
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    subresources: { status: true },
    columns: [
      { name: 'Created At', type: 'string', path: '.metadata.creationTimestamp', description: 'When it was made' },
    ],
    schema: Type.Object(
      {
        spec: Type.Object(
          {
            group: Type.String({
              description: 'Group of the resource; the name of the definition is <plural>.<group>',
            }),
            names: Type.Object(
              names(
                Type.String({ description: 'Name of the resource in paths' }),
                Type.String({ description: 'Kind of its objects' }),
              ),
              { description: 'What the resource is called' },
            ),
            scope: Type.String({ description: 'Cluster or Namespaced' }),
            versions: Type.Array(
              Type.Object({
                name: Type.String({ description: 'Such as v1' }),
                served: Type.Boolean({ description: 'Whether it is there for clients' }),
                storage: Type.Boolean({ description: 'Whether objects are stored in it; true for exactly one' }),
                deprecated: Type.Optional(Type.Boolean({ description: 'Clients are warned' })),
                deprecationWarning: text('What they are told'),
                schema: Type.Optional(
                  Type.Object(
                    { openAPIV3Schema: anything('Structural schema of whole objects') },
                    { description: 'What objects look like' },
                  ),
                ),
                subresources: Type.Optional(
                  Type.Object(
                    {
                      status: anything('Objects have a status with routes of its own'),
                      scale: Type.Optional(
                        Type.Object(
                          {
                            specReplicasPath: Type.String(),
                            statusReplicasPath: Type.String(),
                            labelSelectorPath: text('Of a text that selects the replicas'),
                          },
                          { description: 'Where the number of replicas is' },
                        ),
                      ),
                    },
                    { description: 'Parts of objects that have routes of their own' },
                  ),
                ),
                additionalPrinterColumns: Type.Optional(
                  Type.Array(
                    Type.Object({
                      name: Type.String(),
                      type: Type.String({ description: 'string, integer, number, boolean or date' }),
                      jsonPath: Type.String({ description: 'Such as .spec.replicas' }),
                      description: text('What the column shows'),
                      format: text('How its values are written'),
                      priority: Type.Optional(
                        Type.Integer({ description: '0: in every table; greater: in wide ones' }),
                      ),
                    }),
                    { description: 'Columns of tables; each with a plain path is an index too' },
                  ),
                ),
                selectableFields: Type.Optional(
                  Type.Array(Type.Object({ jsonPath: Type.String() }), {
                    description: 'What field selectors can name',
                  }),
                ),
              }),
              { description: 'Versions of the resource' },
            ),
            conversion: Type.Optional(
              Type.Object(
                { strategy: text('None; Webhook works as None'), webhook: anything('Not called') },
                { description: 'How objects come from one version to another' },
              ),
            ),
            preserveUnknownFields: Type.Optional(Type.Boolean({ description: 'Must be false' })),
          },
          { description: 'What is declared' },
        ),
        status: Type.Optional(
          Type.Object(
            {
              acceptedNames: Type.Optional(
                Type.Object(names(text('Name in paths'), text('Kind')), { description: 'Names that are served' }),
              ),
              storedVersions: texts('Versions in which objects may be stored'),
              conditions: Type.Optional(
                Type.Array(
                  Type.Object({
                    type: Type.String(),
                    status: Type.String(),
                    reason: text('Why, in one word'),
                    message: text('Why'),
                    lastTransitionTime: text('Since when'),
                  }),
                  {
                    description: 'NamesAccepted, Established, Terminating',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                  },
                ),
              ),
            },
            { description: 'Whether it is served' },
          ),
        ),
      },
      { description: 'Declares a resource without code.' },
    ),
  });
  const prune = (object: ExtensionObject) => pruneUnknown(object, definitionKeywords);
  return declaredModel({ ...modelDeclaration(model)!, prune });
}
