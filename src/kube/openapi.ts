/**
 * What the objects look like and what can be done with them, as OpenAPI 3.0 (a document for each group and version) and 2.0 (one
 * document of all, as JSON and as protobuf). Each model is described once in each form; a document is these parts in a row, so
 * that one more model costs one description.
 */
import { createHash } from 'node:crypto';
import { camelCase } from '../http/openapi/model.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';
import type { PathItem, PathOperation } from './openapi-protobuf.ts';
import type { OpenApiSchema } from './openapi-schema.ts';
import { reduced, schemaOf } from './openapi-schema.ts';
import type { Parameter } from './openapi-shared.ts';
import { meta, pathParameters, queryParameters, scaleName, sharedDefinitions } from './openapi-shared.ts';
import { apiVersionOf } from './path.ts';
import type { ShownModel } from './shown.ts';
import { rootOf } from './shown.ts';
import { strategicPatchType } from './strategic-merge.ts';

export interface KubeDocument {
  readonly pieces: readonly Buffer[];
  readonly length: number;
  /** Of the content, without quotes. */
  readonly hash: string;
}

type Form = 'v3' | 'v2' | 'protobuf';

/** Two texts, or one message with an empty second half. */
interface Part {
  readonly paths: Buffer;
  readonly definitions: Buffer;
  readonly hash: Buffer;
}

export class KubeOpenApi {
  readonly #version: string;
  readonly #parts: Record<Form, WeakMap<ShownModel, Part>> = {
    v3: new WeakMap(),
    v2: new WeakMap(),
    protobuf: new WeakMap(),
  };
  readonly #schemas = new WeakMap<ShownModel, OpenApiSchema>();

  /** @param version of the product */
  constructor(version: string) {
    this.#version = version;
  }

  /** `/openapi/v3`: where the documents are. @param prefix of all paths */
  async index(models: readonly ShownModel[], prefix: string, slice: TimeSlice): Promise<object> {
    const paths: [string, object][] = [];
    for (const [place, own] of Map.groupBy(models, (model) => rootOf(model).slice(1))) {
      const { hash } = await this.#join('v3', own, slice);
      paths.push([place, { serverRelativeURL: `${prefix}/openapi/v3/${place}?hash=${hash}` }]);
    }
    return { paths: Object.fromEntries(paths.sort(([a], [b]) => (a < b ? -1 : 1))) };
  }

  /** `/openapi/v3/<place>`. @param place `api/v1`, `apis/<group>/<version>`; undefined when there is nothing */
  async v3(models: readonly ShownModel[], place: string, slice: TimeSlice): Promise<KubeDocument | undefined> {
    const own = models.filter((model) => rootOf(model) === `/${place}`);
    return own.length > 0 ? this.#join('v3', own, slice) : undefined;
  }

  /** `/openapi/v2` */
  v2(models: readonly ShownModel[], form: 'v2' | 'protobuf', slice: TimeSlice): Promise<KubeDocument> {
    return this.#join(form, models, slice);
  }

  async #join(form: Form, models: readonly ShownModel[], slice: TimeSlice): Promise<KubeDocument> {
    const digest = createHash('sha256').update(`${form} ${this.#version}`);
    const parts: Part[] = [];
    for (const model of models) {
      if (slice.isOver) await slice.renew();
      const part = await this.#part(form, model, slice);
      digest.update(part.hash);
      parts.push(part);
    }
    const pieces = form === 'protobuf' ? await this.#message(parts) : this.#text(form, parts);
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    return { pieces, length, hash: digest.digest('hex').slice(0, 32).toUpperCase() };
  }

  async #message(parts: readonly Part[]): Promise<Buffer[]> {
    const { encodeHead, encodePart } = await import('./openapi-protobuf.ts');
    const shared = encodePart({}, sharedDefinitions(referInV2));
    return [encodeHead(title, this.#version), shared, ...parts.map((part) => part.definitions)];
  }

  #text(form: 'v2' | 'v3', parts: readonly Part[]): Buffer[] {
    const info = { title, version: this.#version };
    const shared = sharedDefinitions(form === 'v2' ? referInV2 : referInV3);
    const head = form === 'v2' ? { swagger: '2.0', info } : { openapi: '3.0.0', info };
    const between = form === 'v2' ? '},"definitions":' : '},"components":{"schemas":';
    return [
      Buffer.from(`${JSON.stringify(head).slice(0, -1)},"paths":{`),
      ...parts.flatMap(({ paths }, i) => (i === 0 ? [paths] : [comma, paths])),
      Buffer.from(between + JSON.stringify(shared).slice(0, -1)),
      ...parts.flatMap(({ definitions }) => [comma, definitions]),
      Buffer.from(form === 'v2' ? '}}' : '}}}'),
    ];
  }

  async #part(form: Form, model: ShownModel, slice: TimeSlice): Promise<Part> {
    const known = this.#parts[form].get(model);
    if (known) return known;
    let whole = this.#schemas.get(model);
    if (!whole) {
      whole = await slice.run(schemaOf(model.schema));
      this.#schemas.set(model, whole);
      if (slice.isOver) await slice.renew();
    }
    const part = form === 'v3' ? describeInV3(model, whole) : await describeInV2(model, whole, form, slice);
    this.#parts[form].set(model, part);
    return part;
  }
}

const title = 'Kindred';
const comma = Buffer.from(',');
const referInV2 = (name: string) => ({ $ref: `#/definitions/${name}` });
const referInV3 = (name: string) => ({ allOf: [componentOf(name)] });
const componentOf = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** `com.example.demo.v1.City`: the group backwards, as Kubernetes names its own. */
function definitionName({ group, version, kind }: Pick<ShownModel, 'group' | 'version' | 'kind'>): string {
  const place = group === '' ? 'io.k8s.api.core' : group.split('.').reverse().join('.');
  return `${place}.${version}.${kind}`;
}

function definitionsOf(
  model: ShownModel,
  whole: OpenApiSchema,
  refer: (name: string) => OpenApiSchema,
): Record<string, OpenApiSchema> {
  const { group, version, kind, listKind } = model;
  const name = definitionName(model);
  const base = {
    apiVersion: { type: 'string', description: 'Group and version of the object' },
    kind: { type: 'string', description: 'Kind of the object' },
  };
  const { apiVersion: _, kind: __, metadata: ___, ...own } = (whole.properties ?? {}) as Record<string, OpenApiSchema>;
  const { required, ...rest } = whole;
  const needed = ((required ?? []) as string[]).filter((member) => Object.hasOwn(own, member));
  const metadata = { description: 'What every object has', ...refer(`${meta}.ObjectMeta`) };
  return {
    [name]: {
      ...rest,
      type: 'object',
      properties: { ...base, metadata, ...own },
      ...(needed.length > 0 && { required: needed }),
      'x-kubernetes-group-version-kind': [{ group, version, kind }],
    },
    ...(model.verbs.includes('list') && {
      [definitionName({ group, version, kind: listKind })]: {
        type: 'object',
        description: `A list of objects of the kind ${kind}`,
        required: ['items'],
        properties: {
          ...base,
          metadata: { description: 'What every list has', ...refer(`${meta}.ListMeta`) },
          items: { type: 'array', description: 'The objects', items: refer(name) },
        },
        'x-kubernetes-group-version-kind': [{ group, version, kind: listKind }],
      },
    }),
  };
}

/** What can be done at a path. `body` and `answer` are names of definitions. */
interface Described extends PathOperation {
  readonly body?: string;
  readonly answer: string;
}

interface DescribedPath extends PathItem {
  readonly operations: readonly Described[];
}

const methods = {
  list: 'get',
  get: 'get',
  post: 'post',
  put: 'put',
  patch: 'patch',
  delete: 'delete',
  deletecollection: 'delete',
} as const;

type Action = keyof typeof methods;
type Subresource = '' | 'status' | 'scale';

/** By verb of discovery. */
const actions: Readonly<Record<string, { readonly action: Action; readonly isOfCollection: boolean }>> = {
  list: { action: 'list', isOfCollection: true },
  create: { action: 'post', isOfCollection: true },
  deletecollection: { action: 'deletecollection', isOfCollection: true },
  get: { action: 'get', isOfCollection: false },
  update: { action: 'put', isOfCollection: false },
  patch: { action: 'patch', isOfCollection: false },
  delete: { action: 'delete', isOfCollection: false },
};

const sentences: Readonly<Record<Action, string>> = {
  list: 'Lists or watches objects',
  get: 'Reads an object',
  post: 'Creates an object',
  put: 'Replaces an object',
  patch: 'Changes parts of an object',
  delete: 'Deletes an object',
  deletecollection: 'Deletes all objects that the selectors choose',
};

function pathsOf(model: ShownModel): Record<string, DescribedPath> {
  const { plural, namespaced, subresources, verbs } = model;
  const root = rootOf(model);
  const base = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const place = namespaced ? [pathParameters.namespace] : [];
  const placeAndName = [...place, pathParameters.name];
  const having = (isOfCollection: boolean): Action[] =>
    verbs.flatMap((verb) => (actions[verb]?.isOfCollection === isOfCollection ? [actions[verb].action] : []));
  const of = (all: readonly Action[], sub: Subresource = '') => all.map((action) => operationOf(model, action, sub));
  const some: readonly Action[] = ['get', 'put', 'patch'];
  const everywhere = namespaced && verbs.includes('list') ? [operationOf(model, 'list', '', 'ForAllNamespaces')] : [];
  const paths: Record<string, DescribedPath> = {
    ...(everywhere.length > 0 && { [`${root}/${plural}`]: { parameters: [], operations: everywhere } }),
    [base]: { parameters: place, operations: of(having(true)) },
    [`${base}/{name}`]: { parameters: placeAndName, operations: of(having(false)) },
    ...(subresources.status && {
      [`${base}/{name}/status`]: { parameters: placeAndName, operations: of(some, 'status') },
    }),
    ...(subresources.scale && {
      [`${base}/{name}/scale`]: { parameters: placeAndName, operations: of(some, 'scale') },
    }),
  };
  return Object.fromEntries(Object.entries(paths).filter(([, { operations }]) => operations.length > 0));
}

function operationOf(model: ShownModel, action: Action, sub: Subresource, suffix = ''): Described {
  const { group, version, kind, listKind, namespaced } = model;
  const isScale = sub === 'scale';
  const object = isScale ? scaleName : definitionName(model);
  const bodies: Partial<Record<Action, string>> = {
    post: object,
    put: object,
    patch: `${meta}.Patch`,
    delete: `${meta}.DeleteOptions`,
    deletecollection: `${meta}.DeleteOptions`,
  };
  const answers: Partial<Record<Action, string>> = {
    list: definitionName({ group, version, kind: listKind }),
    delete: `${meta}.Status`,
    deletecollection: definitionName({ group, version, kind: listKind }),
  };
  const body = bodies[action];
  const verb = { post: 'create', put: 'replace', deletecollection: 'deleteCollection' }[action as string] ?? action;
  const where = `${camelCase(group === '' ? 'core' : group)}${camelCase(version)}`;
  return {
    method: methods[action],
    description: sub === '' ? sentences[action] : `${sentences[action]}, by its ${sub} alone`,
    operationId: `${verb}${where}${namespaced && suffix === '' ? 'Namespaced' : ''}${kind}${camelCase(sub)}${suffix}`,
    parameters: queryParameters[action]!,
    ...(body !== undefined && { body }),
    answer: answers[action] ?? object,
    extensions: {
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': isScale
        ? { group: 'autoscaling', version: 'v1', kind: 'Scale' }
        : { group, version, kind },
    },
  };
}

const patchTypes = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];

function consumed({ method }: Described, { isBuiltIn }: ShownModel): readonly string[] {
  if (method !== 'patch') return ['application/json', 'application/yaml'];
  return isBuiltIn ? [...patchTypes, strategicPatchType] : patchTypes;
}

function describeInV3(model: ShownModel, whole: OpenApiSchema): Part {
  const parameterOf = ({ name, in: place, type, description }: Parameter) => ({
    name,
    in: place,
    ...(place === 'path' && { required: true }),
    description,
    schema: { type },
  });
  const paths = Object.entries(pathsOf(model)).map(([path, { parameters, operations }]) => {
    const item = Object.fromEntries(
      operations.map((one) => {
        const { body, answer, operationId, description, extensions } = one;
        const content = Object.fromEntries(
          consumed(one, model).map((type) => [type, { schema: componentOf(body ?? '') }]),
        );
        return [
          one.method,
          {
            tags: [tagOf(model)],
            operationId,
            description,
            parameters: one.parameters.map(parameterOf),
            ...(body !== undefined && { requestBody: { required: one.method !== 'delete', content } }),
            responses: {
              200: { description: 'OK', content: { 'application/json': { schema: componentOf(answer) } } },
            },
            ...extensions,
          },
        ];
      }),
    );
    return [path, { ...item, parameters: parameters.map(parameterOf) }] as const;
  });
  return partOf(Object.fromEntries(paths), definitionsOf(model, whole, referInV3));
}

async function describeInV2(
  model: ShownModel,
  whole: OpenApiSchema,
  form: 'v2' | 'protobuf',
  slice: TimeSlice,
): Promise<Part> {
  const definitions = Object.fromEntries(
    Object.entries(definitionsOf(model, whole, referInV2)).map(([name, schema]) => [name, reduced(schema)]),
  );
  if (slice.isOver) await slice.renew();
  if (form === 'protobuf') {
    const { encodePart } = await import('./openapi-protobuf.ts');
    const message = encodePart(pathsOf(model), definitions);
    return { paths: Buffer.alloc(0), definitions: message, hash: hashOf(message) };
  }
  const parameterOf = (one: Parameter) => ({ ...one, ...(one.in === 'path' && { required: true }) });
  const paths = Object.entries(pathsOf(model)).map(([path, { parameters, operations }]) => {
    const item = Object.fromEntries(
      operations.map((one) => {
        const { body, answer, operationId, description, extensions } = one;
        const sent = { name: 'body', in: 'body', required: one.method !== 'delete', schema: referInV2(body ?? '') };
        return [
          one.method,
          {
            tags: [tagOf(model)],
            operationId,
            description,
            consumes: consumed(one, model),
            produces: ['application/json', 'application/yaml'],
            parameters: [...one.parameters.map(parameterOf), ...(body !== undefined ? [sent] : [])],
            responses: { 200: { description: 'OK', schema: referInV2(answer) } },
            ...extensions,
          },
        ];
      }),
    );
    return [path, { ...item, parameters: parameters.map(parameterOf) }] as const;
  });
  return partOf(Object.fromEntries(paths), definitions);
}

function tagOf(model: ShownModel): string {
  return apiVersionOf(model.group, model.version).replaceAll(/[^A-Za-z0-9]/g, '_');
}

/** Both without their brackets, so that parts can be joined. */
function partOf(paths: object, definitions: object): Part {
  const [first, second] = [paths, definitions].map((one) => Buffer.from(JSON.stringify(one).slice(1, -1)));
  return { paths: first!, definitions: second!, hash: hashOf(first!, second!) };
}

function hashOf(...texts: readonly Buffer[]): Buffer {
  const digest = createHash('sha256');
  for (const text of texts) digest.update(text);
  return digest.digest();
}
