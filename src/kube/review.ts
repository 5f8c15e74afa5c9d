/** What callers ask of themselves: whether they may do something, all that they may do, and who they are. */
import { ifFound } from '../errors.ts';
import type { Exchange } from '../http/server/exchange.ts';
import type { ExtensionObject } from '../model/object.ts';
import { isRecord } from '../model/object.ts';
import type { Access, Authorizer, Identity } from '../resource/access.ts';
import type { ResourceRegistry } from '../resource/registry.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';
import type { BodyDependencies } from './body.ts';
import { bodyType, objectTypes, readValue } from './body.ts';
import type { KubeModel, KubeModels } from './models.ts';
import type { FacadeRoute } from './routes.ts';
import type { ShownModel } from './shown.ts';
import { subresourceVerbs } from './shown.ts';
import { badRequest, invalidFields } from './status.ts';

interface ReviewDependencies {
  readonly authorizer: Authorizer;
  /** Those that are shown. */
  readonly models: () => readonly KubeModel[];
  /** @param group as shown */
  readonly storedGroup: (group: string) => string;
  /** Path of the façade. */
  readonly prefix: string;
}

type Members = Record<string, unknown>;

export interface ReviewRoutesDependencies extends BodyDependencies {
  readonly authorizer: Authorizer;
  readonly resources: ResourceRegistry;
  readonly prefix: string;
}

export function reviewRoutes(dependencies: ReviewRoutesDependencies, models: KubeModels): FacadeRoute[] {
  const { authorizer, resources, prefix } = dependencies;
  const asked: ReviewDependencies = {
    authorizer,
    models: () => models.all(),
    storedGroup: (group) => models.storedGroup(group),
    prefix,
  };
  const post = (
    path: string,
    review: (identity: Identity, body: unknown, slice: TimeSlice) => object | Promise<object>,
  ): FacadeRoute => ({
    path: `/apis/${path}`,
    method: 'POST',
    async serve(exchange: Exchange) {
      const body = await readValue(exchange, bodyType(exchange, objectTypes), dependencies);
      exchange.sendJson(201, await review(exchange.identity!, body?.value, exchange.timeSlice()));
    },
  });
  return [
    post(`${authorization}/selfsubjectaccessreviews`, (identity, body) => accessReview(asked, identity, body)),
    post(`${authorization}/selfsubjectrulesreviews`, (identity, body, slice) =>
      rulesReview(asked, identity, body, slice),
    ),
    post(`${authentication}/selfsubjectreviews`, async (identity, body) =>
      selfReview(identity, await uidOf(resources, identity), body),
    ),
  ];
}

/** Of the User of this name; '' when there is none. */
async function uidOf(resources: ResourceRegistry, { name }: Identity): Promise<string> {
  const users = resources.find('', 'v1alpha1', 'users');
  const found = users && (await ifFound(async () => users.get(name)));
  if (!users || !found) return '';
  const { metadata } = JSON.parse(found.stored.bytes.toString()) as ExtensionObject;
  return users.model.uidOf(found.stored, metadata);
}

const authorization = 'authorization.k8s.io/v1';
const authentication = 'authentication.k8s.io/v1';

const answered = { description: 'The answer', type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** For discovery and OpenAPI: they are made, and never kept. */
export const reviewKinds: readonly ShownModel[] = [
  reviewKind('authorization.k8s.io', 'SelfSubjectAccessReview', 'Asks whether the caller may do something', {
    resourceAttributes: attributes('namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'),
    nonResourceAttributes: attributes('path', 'verb'),
  }),
  reviewKind('authorization.k8s.io', 'SelfSubjectRulesReview', 'Asks for all that the caller may do', {
    namespace: { type: 'string', description: 'Where' },
  }),
  reviewKind('authentication.k8s.io', 'SelfSubjectReview', 'Asks who the caller is'),
];

function attributes(...names: readonly string[]): object {
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) };
}

function reviewKind(group: string, kind: string, description: string, properties?: object): ShownModel {
  const spec = properties && { spec: { type: 'object', description: 'The question', properties } };
  return {
    group,
    version: 'v1',
    kind,
    listKind: `${kind}List`,
    singular: kind.toLowerCase(),
    plural: `${kind.toLowerCase()}s`,
    namespaced: false,
    shortNames: [],
    categories: [],
    subresources: { status: false, scale: false },
    verbs: ['create'],
    schema: { type: 'object', description, properties: { ...spec, status: answered } },
  };
}

/** Paths of the façade that every known caller may read. */
const openPaths = [
  '/',
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/healthz',
  '/livez',
  '/openapi',
  '/openapi/*',
  '/readyz',
  '/version',
];

/** @throws KindredError BadRequest, Invalid */
function accessReview(dependencies: ReviewDependencies, identity: Identity, body: unknown): object {
  const review = checked(body, authorization, 'SelfSubjectAccessReview');
  const { resourceAttributes, nonResourceAttributes } = review;
  if ((resourceAttributes === undefined) === (nonResourceAttributes === undefined)) {
    const message = 'Invalid value: exactly one of nonResourceAttributes or resourceAttributes must be specified';
    throw invalidFields([{ reason: 'FieldValueInvalid', field: 'spec.resourceAttributes', message }]);
  }
  const accesses = resourceAttributes
    ? ofResource(dependencies, texts(resourceAttributes, 'spec.resourceAttributes'))
    : ofPath(dependencies, texts(nonResourceAttributes, 'spec.nonResourceAttributes'));
  return answer(authorization, 'SelfSubjectAccessReview', {
    spec: review,
    status: decideAll(dependencies.authorizer, identity, accesses),
  });
}

function ofResource({ models, storedGroup }: ReviewDependencies, given: Readonly<Record<string, string>>): Access[] {
  const { verb = '', group: shown = '', resource: plural = '', subresource, name, namespace } = given;
  const model = models().find((one) => one.group === shown && one.plural === plural);
  const group = shown === '*' ? '*' : (model?.storedGroup ?? storedGroup(shown));
  // Clients name a namespace whatever the resource is.
  const isPlaced = Boolean(namespace) && (model?.scheme.isNamespaced ?? true);
  const resource = subresource ? `${plural}/${subresource}` : plural;
  const about = { group, resource, ...(isPlaced && { namespace: namespace! }), ...(name && { name }) };
  const verbs = verb === 'deletecollection' ? ['delete', 'list'] : [verb];
  return verbs.map((one) => ({ verb: one, ...about }));
}

function ofPath({ prefix }: ReviewDependencies, { verb = '', path = '' }: Readonly<Record<string, string>>): Access[] {
  if (verb === 'get' && isOpen(path)) return [];
  return [{ verb, path: path === '*' ? path : `${prefix}${path}` }];
}

function isOpen(path: string): boolean {
  return openPaths.some((one) => (one.endsWith('/*') ? path.startsWith(one.slice(0, -1)) : path === one));
}

function decideAll(authorizer: Authorizer, identity: Identity, accesses: readonly Access[]): object {
  let reason = 'every known caller may';
  for (const access of accesses) {
    const decision = authorizer.decide(identity, access);
    reason = decision.reason;
    if (!decision.allowed) return { allowed: false, reason };
    // A list holds the named objects alone; anything else was not asked about these.
    const isNarrowed = decision.names && access.verb !== 'list' && access.verb !== 'watch';
    if (isNarrowed) return { allowed: false, reason: `${reason}, but only for some names` };
  }
  return { allowed: true, reason };
}

/** @throws KindredError BadRequest */
async function rulesReview(
  dependencies: ReviewDependencies,
  identity: Identity,
  body: unknown,
  slice: TimeSlice,
): Promise<object> {
  const { namespace } = texts(checked(body, authorization, 'SelfSubjectRulesReview'), 'spec');
  if (!namespace) {
    const message = 'Required value: a namespace must be specified';
    throw invalidFields([{ reason: 'FieldValueRequired', field: 'spec.namespace', message }]);
  }
  const status = await rulesOf(dependencies, identity, namespace, slice);
  return answer(authorization, 'SelfSubjectRulesReview', { spec: { namespace }, status });
}

interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** By what is registered, since roles may give more than one credential of the caller does. */
async function rulesOf(
  { authorizer, models }: ReviewDependencies,
  identity: Identity,
  namespace: string,
  slice: TimeSlice,
): Promise<object> {
  const everyPath = authorizer.decide(identity, { verb: '*', path: '*' }).allowed;
  const nonResourceRules = everyPath
    ? [{ verbs: ['*'], nonResourceURLs: ['*'] }]
    : [{ verbs: ['get'], nonResourceURLs: openPaths }];
  const everything = authorizer.decide(identity, { verb: '*', group: '*', resource: '*', namespace });
  if (everything.allowed && !everything.names) {
    const resourceRules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
    return { resourceRules, nonResourceRules, incomplete: false };
  }
  const resourceRules: ResourceRule[] = [];
  for (const model of models()) {
    if (slice.isOver) await slice.renew();
    const { status, scale } = model.scheme.subresources;
    const below = [...(status ? ['status'] : []), ...(scale ? ['scale'] : [])];
    resourceRules.push(
      ...rulesFor(authorizer, identity, model, model.plural, mainVerbs, namespace),
      ...below.flatMap((sub) =>
        rulesFor(authorizer, identity, model, `${model.plural}/${sub}`, subresourceVerbs, namespace),
      ),
    );
  }
  return { resourceRules, nonResourceRules, incomplete: false };
}

const mainVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** One rule of the verbs that are allowed for every name, and one for each set of names. */
function rulesFor(
  authorizer: Authorizer,
  identity: Identity,
  { group, storedGroup, scheme }: KubeModel,
  resource: string,
  verbs: readonly string[],
  namespace: string,
): ResourceRule[] {
  const byNames = new Map<string, { verbs: string[]; names: readonly string[] }>();
  const decide = (verb: string) =>
    authorizer.decide(identity, { verb, group: storedGroup, resource, ...(scheme.isNamespaced && { namespace }) });
  for (const verb of verbs) {
    const decision = decide(verb === 'deletecollection' ? 'delete' : verb);
    if (!decision.allowed || (verb === 'deletecollection' && !decide('list').allowed)) continue;
    const names = decision.names ? [...decision.names].sort() : [];
    const key = names.join(' ');
    const known = byNames.get(key) ?? { verbs: [], names };
    byNames.set(key, known);
    known.verbs.push(verb);
  }
  return [...byNames.values()].map((one) => ({
    verbs: one.verbs,
    apiGroups: [group],
    resources: [resource],
    ...(one.names.length > 0 && { resourceNames: one.names }),
  }));
}

/**
 * @param uid tells a user from an earlier one of the name; '' for who is no user
 * @throws KindredError BadRequest
 */
function selfReview(identity: Identity, uid: string, body: unknown): object {
  checked(body, authentication, 'SelfSubjectReview');
  const groups = [...identity.roles, 'system:authenticated'];
  const userInfo = { username: identity.name, ...(uid !== '' && { uid }), groups };
  return answer(authentication, 'SelfSubjectReview', { status: { userInfo } });
}

function answer(apiVersion: string, kind: string, members: object): object {
  return { kind, apiVersion, metadata: { creationTimestamp: null }, ...members };
}

/** The spec. @throws KindredError BadRequest when the body is another kind */
function checked(body: unknown, apiVersion: string, kind: string): Members {
  const { apiVersion: version, kind: given, spec = {} } = isRecord(body) ? body : {};
  if (!isRecord(body) || (version ?? apiVersion) !== apiVersion || (given ?? kind) !== kind) {
    throw badRequest(`the object provided is unrecognized (must be of type ${kind})`);
  }
  if (!isRecord(spec)) throw badRequest('spec must be an object');
  return spec;
}

/** @throws KindredError BadRequest when a member is no text */
function texts(value: unknown, path: string): Record<string, string> {
  if (!isRecord(value)) throw badRequest(`${path} must be an object`);
  const found = Object.entries(value).filter(([, one]) => typeof one === 'string');
  return Object.fromEntries(found) as Record<string, string>;
}
