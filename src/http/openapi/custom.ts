/** The description of one custom route (specification, "API description"; docs/reference/custom-routes.md). */
import type { ModelType } from '../../model/model-type.ts';
import type { SchemeRegistry } from '../../model/registry.ts';
import type { Scheme } from '../../model/scheme.ts';
import type { CustomRoute } from '../custom/routes.ts';
import { parameterNames } from '../custom/routes.ts';
import { answeredModel, jsonSchemaOf } from '../custom/schema.ts';
import type { Fragment } from './model.ts';
import { camelCase, listSchema, modelSchemas } from './model.ts';
import type { ComponentOptions, JsonSchema } from './schema.ts';
import { componentRef, componentsOf } from './schema.ts';
import { anywhere, commonParameters, errors, headersOf } from './shared.ts';

export interface CustomFragment extends Fragment {
  /** Registered models whose schemas it refers to. */
  readonly models: readonly Scheme[];
  /** Whether a response is declared by a model type: the description then depends on what is registered. */
  readonly answersModels: boolean;
}

/** `GET /apis/api.demo.example.com/v1alpha1/persons/{name}/friends` as `GetPersonsNameFriends`. */
export function defaultOperationId({ method, path }: CustomRoute): string {
  return camelCase(`${method.toLowerCase()} ${path.split('/').slice(4).join(' ')}`);
}

/** @param modelName how the document calls a registered model */
export function describeRoute(
  route: CustomRoute,
  operationId: string,
  registry: SchemeRegistry,
  modelName: (scheme: Scheme) => string,
): CustomFragment {
  const { operation } = route;
  const where = `${route.method} ${route.path}`;
  const schemas = new Map<string, JsonSchema>();
  const models: Scheme[] = [];
  let answersModels = false;

  const named = (schema: object, name: string, options: ComponentOptions): object => {
    for (const [key, one] of componentsOf(schema, name, options)) schemas.set(key, one);
    return componentRef(name);
  };
  const answered = (schema: object | ModelType, name: string): { type: string; schema: object } => {
    const own = answeredModel(schema);
    if (own) {
      answersModels = true;
      const scheme = registry.fetch(own.scheme.groupVersionKind);
      if (scheme) models.push(scheme);
      else for (const [key, one] of modelSchemas(own.scheme, name)) schemas.set(key, one);
      const component = scheme ? modelName(scheme) : name;
      if (!scheme && own.paged) schemas.set(`${name}.list`, listSchema(name));
      return { type: 'application/json', schema: componentRef(own.paged ? `${component}.list` : component) };
    }
    const plain = jsonSchemaOf(where, schema, 'output') ?? {};
    const type = (plain as JsonSchema).type === 'string' ? 'text/plain' : 'application/json';
    return { type, schema: named(plain, name, { closed: false }) };
  };

  const responses: Record<string, object> = {};
  for (const { status, schema, description } of operation.responses) {
    const name = `${operationId}.response${status === 200 ? '' : `.${status}`}`;
    const content = status === 204 || status === 304 ? undefined : answered(schema, name);
    responses[status] = {
      description: description ?? (status < 300 ? 'Success' : `Status ${status}`),
      headers: answerHeaders,
      ...(content && { content: { [content.type]: { schema: content.schema } } }),
    };
  }
  if (operation.responses.length === 0)
    responses['2XX'] = { description: 'What the route answers', headers: answerHeaders, content: { '*/*': {} } };

  const { body } = operation;
  const bodySchema = body && jsonSchemaOf(where, body.schema);
  const tags = operation.tags.length > 0 ? operation.tags : [`${route.group}/${route.version}`];
  const described = {
    operationId,
    tags,
    summary: operation.description ? firstSentence(operation.description) : operationId,
    ...(operation.description && { description: operation.description }),
    ...(operation.action && { 'x-action': operation.action }),
    parameters: parametersOf(route, where, schemas, operationId),
    ...(body && {
      requestBody: {
        required: body.required,
        ...(body.description !== undefined && { description: body.description }),
        content: {
          'application/json': {
            schema: bodySchema
              ? named(bodySchema, `${operationId}.body`, { closed: !('~standard' in body.schema), sent: true })
              : {},
          },
        },
      },
    }),
    responses: {
      ...errors(...anywhere, ...(body ? [413, 415, 422] : []), ...(route.method === 'GET' ? [] : [504])),
      default: { $ref: '#/components/responses/Error' },
      ...responses,
    },
  };
  return {
    operations: [
      {
        path: route.path,
        method: route.method.toLowerCase(),
        access: route.access,
        operationId,
        json: JSON.stringify(described),
      },
    ],
    schemas: new Map([...schemas].map(([key, schema]) => [key, JSON.stringify(schema)])),
    tags,
    models,
    answersModels,
  };
}

/** For the places where there is one line. */
function firstSentence(text: string): string {
  return /^[^\n]*?(?=[.\u3002](?:\s|$)|\n|$)/.exec(text.trim())![0];
}

const answerHeaders = headersOf('Kindred-Revision.optional', 'Cache-Control');

function parametersOf(
  route: CustomRoute,
  where: string,
  schemas: Map<string, JsonSchema>,
  operationId: string,
): object[] {
  const { parameters } = route.operation;
  const declared = parameters.map((one) => {
    const plain = jsonSchemaOf(where, one.schema) ?? {};
    const parts = componentsOf(plain, `${operationId}.${one.name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`, {
      closed: true,
    });
    if (parts.size > 1) for (const [key, schema] of parts) schemas.set(key, schema);
    const schema = parts.size > 1 ? componentRef([...parts.keys()][0]!) : [...parts.values()][0]!;
    return {
      name: one.name,
      in: one.in,
      required: one.in === 'path' || one.required === true,
      ...(one.description !== undefined && { description: one.description }),
      schema,
    };
  });
  const undeclared = parameterNames(route.path)
    .filter((name) => !parameters.some((one) => one.in === 'path' && one.name === name))
    .map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  const headers = parameters.filter((one) => one.in === 'header').map((one) => one.name.toLowerCase());
  const common = commonParameters.filter((_, i) => !headers.includes(['accept-language', 'x-request-id'][i]!));
  return [...undeclared, ...declared, ...common];
}
