/** Reads and writes of one object. */

import { KindredError } from '../errors.ts';
import type { Exchange } from '../http/server/exchange.ts';
import { sliceSize } from '../http/server/slices.ts';
import { warningHeader } from '../http/server/warning.ts';
import { partsOf } from '../model/full-name.ts';
import { isRecord } from '../model/object.ts';
import type { SchemeRegistry } from '../model/registry.ts';
import type { Authorizer } from '../resource/access.ts';
import { answered, checkPatch } from '../resource/hidden.ts';
import type { PatchLimits } from '../resource/patch.ts';
import { checkExtent, JsonPatch, mergePatch } from '../resource/patch.ts';
import type { Stored } from '../resource/registered-model.ts';
import type { Answer, WriteOptions } from '../resource/write.ts';
import { andThen } from '../runtime/and-then.ts';
import { readJson } from '../runtime/read-json.ts';
import type { MaybePromise } from '../store/store.ts';
import { authorise } from './authorise.ts';
import type { Body, BodyDependencies } from './body.ts';
import { bodyType, objectTypes, readValue } from './body.ts';
import type { DeleteOptions, Propagation } from './delete.ts';
import { deleteOptions } from './delete.ts';
import { encoded, objectBytes } from './form.ts';
import type { Inbound } from './inbound.ts';
import { inbound } from './inbound.ts';
import { foregroundFinalizer, orphanFinalizer } from './kinds.ts';
import { cut, shownBytes } from './metadata.ts';
import type { KnownNamespaces } from './namespaces.ts';
import type { Form } from './negotiate.ts';
import { formOf } from './negotiate.ts';
import type { WriteParameters } from './parameters.ts';
import { flag, writeParameters } from './parameters.ts';
import { scaleBytes, scaledObject } from './scale.ts';
import { badRequest, failureAnswer, invalidFields, StatusError, success } from './status.ts';
import { assertMergePatch, strategicMerge, strategicPatchType } from './strategic-merge.ts';
import { includeObject } from './table.ts';
import type { ResourceTarget } from './target.ts';
import { fullName } from './target.ts';

export interface ObjectsDependencies extends BodyDependencies {
  readonly authorizer: Authorizer;
  readonly registry: SchemeRegistry;
  readonly patchLimits: PatchLimits;
  readonly namespaces: KnownNamespaces;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const mergePatchType = 'application/merge-patch+json';
const jsonPatchType = 'application/json-patch+json';
const applyPatchType = 'application/apply-patch+yaml';
/** In the order in which clients read them. */
const patchTypes: readonly string[] = [jsonPatchType, mergePatchType, applyPatchType];

/** A number of replicas has no fields that several would share. */
const scalePatchTypes = patchTypes.filter((type) => type !== applyPatchType);
const builtInPatchTypes = [...patchTypes, strategicPatchType];

/** Of all warnings of an answer: clients limit the bytes of a head. */
const warningBytes = 4 * 1024;

/** Tries of a patch that other writers keep overtaking. */
const patchAttempts = 20;

/** One request, and what is known of it from its head. */
interface Call {
  readonly exchange: Exchange;
  readonly target: ResourceTarget;
  readonly form: Form;
  readonly query: URLSearchParams;
}

/** The finalizer of a deletion that is not in the background; the collector takes it away. */
const holdsBack: Readonly<Record<Propagation, string | undefined>> = {
  Background: undefined,
  Foreground: foregroundFinalizer,
  Orphan: orphanFinalizer,
};

export class KubeObjects {
  readonly #dependencies: ObjectsDependencies;

  constructor(dependencies: ObjectsDependencies) {
    this.#dependencies = dependencies;
  }

  /** An object and its sub-resources. @param target authorised */
  serve(exchange: Exchange, target: ResourceTarget): MaybePromise<void> {
    const form = formOf(exchange.request.headers.accept);
    const call = { exchange, target, form, query: new URLSearchParams(exchange.query) };
    switch (exchange.method) {
      case 'PUT':
        return this.#update(call);
      case 'PATCH':
        return this.#patch(call);
      case 'DELETE':
        return this.#delete(call);
      default:
        return andThen(target.model.resource.get(fullName(target)), ({ stored }) => this.#send(call, 200, stored));
    }
  }

  /** POST on a collection. */
  async create(exchange: Exchange, target: ResourceTarget): Promise<void> {
    const form = formOf(exchange.request.headers.accept);
    const call = { exchange, target, form, query: new URLSearchParams(exchange.query) };
    const { model, namespace } = target;
    const parameters = parametersOf(call);
    const body = await this.#body(call);
    const { object, resourceVersion, warnings } = await this.#inbound(call, body, parameters);
    if (resourceVersion !== undefined) throw badRequest('resourceVersion should not be set on objects to be created');
    const { name } = object.metadata as { name?: string };
    about(call, object, name);
    if (namespace !== undefined) await this.#dependencies.namespaces.assertKnown(namespace);
    const options = { ...this.#options(call, parameters), ...(namespace !== undefined && { namespace }) };
    this.#sendWritten(call, 201, await model.resource.create(object, options), warnings);
  }

  async #update(call: Call): Promise<void> {
    const { target } = call;
    const { model, sub } = target;
    const parameters = parametersOf(call);
    const body = await this.#body(call);
    if (sub === 'scale') return this.#putScale(call, body, parameters);
    const sent = await this.#inbound(call, body, parameters);
    about(call, sent.object, target.name);
    // As in Kubernetes, a client may replace an object of the core group whatever it has become; Helm does so with its releases.
    if (sent.resourceVersion === undefined && !model.isCore) throw mustBeSpecified();
    const options = { ...this.#options(call, parameters), ...managersIn(sent), expect: expectation(sent) };
    const answer = await model.resource.update(fullName(target), sent.object, options);
    this.#sendWritten(call, 200, answer, sent.warnings);
  }

  async #patch(call: Call): Promise<void> {
    const { exchange, target } = call;
    const parameters = parametersOf(call);
    const type = bodyType(exchange, patchTypesOf(target));
    const body = await readValue(exchange, type, this.#dependencies, this.#limits(target).members);
    if (!body) throw badRequest('the body of a patch is missing');
    if (type === applyPatchType) return this.#apply(call, body, parameters);
    const { model } = target;
    const name = fullName(target);
    if (type !== jsonPatchType) assertMergePatch(body.value);
    else checkPatch(model.resource, name, body.value, (one) => this.#mayGet(call, one));
    for (let attempt = 1; ; attempt++) {
      const { stored } = await model.resource.get(name);
      const value = await this.#patched(call, type, body.value, stored);
      const sent = await this.#patchedObject(call, { value, duplicates: body.duplicates }, parameters, stored);
      about(call, sent.object, target.name);
      const expect = expectation({ ...sent, resourceVersion: sent.resourceVersion ?? stored.revision });
      try {
        const options = { ...this.#options(call, parameters), ...managersIn(sent), expect };
        const answer = await model.resource.update(name, sent.object, options);
        return this.#sendWritten(call, 200, answer, sent.warnings);
      } catch (error) {
        // Somebody else was quicker, and the client said nothing of the state that it patches.
        const isOvertaken = error instanceof KindredError && error.code === 'VersionConflict';
        if (!isOvertaken || expect.revision !== stored.revision || attempt === patchAttempts) throw error;
      }
    }
  }

  /** Server-side apply. */
  async #apply(call: Call, body: Body, parameters: WriteParameters): Promise<void> {
    const { exchange, target, query } = call;
    const { model, namespace } = target;
    const name = fullName(target);
    checkApplied(body.value, query);
    const force = flag(query, 'force') ?? false;
    const sent = await this.#inbound(call, body, parameters);
    about(call, sent.object, target.name);
    const { authorizer, namespaces } = this.#dependencies;
    if (model.resource.hidesValues) authorise(authorizer, exchange, target, { ...target.access, verb: 'get' });
    const answer = await model.resource.apply(name, sent.object, {
      ...this.#options(call, parameters),
      ...((sent.resourceVersion !== undefined || sent.uid !== undefined) && { expect: expectation(sent) }),
      manager: parameters.manager,
      conflicts: force ? 'force' : 'fail',
      ...(parameters.manager === 'kubectl' && {
        lastApplied: { apiVersion: model.apiVersion, body: body.value as Record<string, unknown> },
      }),
      onCreate: async () => {
        const { name: _name, ...access } = target.access;
        authorise(authorizer, exchange, target, { ...access, verb: 'create' });
        if (namespace !== undefined) await namespaces.assertKnown(namespace);
      },
    });
    this.#sendWritten(call, answer.created ? 201 : 200, answer, sent.warnings);
  }

  /** What clients see of the object, patched. */
  async #patched({ exchange, target }: Call, type: string, patch: unknown, stored: Stored): Promise<unknown> {
    const { model, sub } = target;
    const slice = exchange.timeSlice();
    const bytes = sub === 'scale' ? scaleBytes(model, stored) : shownBytes(model, stored);
    const base = readJson(bytes.toString()) as object;
    if (slice.isOver) await slice.renew();
    if (type === mergePatchType) return mergePatch(base, patch);
    if (type === strategicPatchType) return strategicMerge(base, patch);
    const patching = new JsonPatch(base, patch, this.#limits(target));
    while (patching.step()) if (slice.isOver) await slice.renew();
    return patching.result;
  }

  async #patchedObject(call: Call, body: Body, parameters: WriteParameters, stored: Stored) {
    if (typeof body.value === 'object' && body.value !== null) checkExtent(body.value, this.#limits(call.target));
    if (call.target.sub !== 'scale') return this.#inbound(call, body, parameters);
    return { ...scaledObject(call.target, stored, body.value), warnings: [] };
  }

  async #putScale(call: Call, { value }: Body, parameters: WriteParameters): Promise<void> {
    const { model } = call.target;
    const name = fullName(call.target);
    const { stored } = await model.resource.get(name);
    const sent = scaledObject(call.target, stored, value);
    const expect = expectation({ ...sent, resourceVersion: sent.resourceVersion ?? stored.revision });
    const answer = await model.resource.update(name, sent.object, { ...this.#options(call, parameters), expect });
    this.#sendWritten(call, 200, answer, []);
  }

  async #delete(call: Call): Promise<void> {
    const { exchange, target, query } = call;
    const options = await deleteOptions(exchange, query, this.#dependencies, true);
    const answer = await this.remove(exchange, target, fullName(target), options);
    const { metadata } = cut(answer.stored.bytes);
    if (metadata.deletionTimestamp === undefined || metadata.finalizers?.length) {
      return this.#sendWritten(call, 200, answer, []);
    }
    const { model, name } = target;
    const uid = model.resource.model.uidOf(answer.stored, metadata);
    const { group, plural } = model;
    this.#sendBytes(call, 200, Buffer.from(JSON.stringify(success({ name: name!, group, kind: plural, uid }))));
  }

  /** Deletes one object. @param name the full one */
  async remove(exchange: Exchange, { model }: ResourceTarget, name: string, options: DeleteOptions): Promise<Answer> {
    const { dryRun, expect, propagation } = options;
    const holds = holdsBack[propagation];
    const more = { ...(expect && { expect }), ...(holds !== undefined && { holds }) };
    try {
      return await model.resource.delete(name, { caller: exchange.caller, dryRun, ...more });
    } catch (error) {
      if (!(error instanceof KindredError && error.code === 'VersionConflict')) throw error;
      throw new StatusError('VersionConflict', `Precondition failed: ${error.message}`);
    }
  }

  async #body({ exchange, target }: Call): Promise<Body> {
    const type = bodyType(exchange, objectTypes);
    const body = await readValue(exchange, type, this.#dependencies, this.#limits(target).members);
    if (!body) throw badRequest('the body of the request is missing');
    return body;
  }

  /** What declares a kind may be as large as real definitions are. */
  #limits({ model }: ResourceTarget): PatchLimits {
    const { patchLimits } = this.#dependencies;
    const { members = patchLimits.members } = model.resource.model.hooks ?? {};
    return { ...patchLimits, members };
  }

  #inbound({ exchange, target }: Call, body: Body, { fieldValidation }: WriteParameters) {
    return inbound(body, target, fieldValidation, exchange.timeSlice());
  }

  #options({ exchange, target: { sub } }: Call, { dryRun, manager }: WriteParameters): WriteOptions {
    return { caller: exchange.caller, dryRun, manager, ...(sub && { subresource: sub }) };
  }

  #mayGet({ exchange, target: { model } }: Call, name: string): boolean {
    const access = { verb: 'get', group: model.storedGroup, resource: model.plural, ...partsOf(name) };
    return this.#dependencies.authorizer.decide(exchange.identity!, access).allowed;
  }

  #sendWritten(call: Call, status: number, answer: Answer, told: readonly string[]): void {
    const { stored, warning, warnings = [] } = answer;
    const { resource } = call.target.model;
    const shown = answered(resource, stored, (name) => this.#mayGet(call, name));
    this.#send(call, status, shown, [...told, ...warnings, ...(warning === undefined ? [] : [warning])]);
  }

  #send(call: Call, status: number, stored: Stored, warnings: readonly string[] = []): void {
    const { exchange, target, form, query } = call;
    const { model, sub } = target;
    if (stored.bytes.length > sliceSize) exchange.assertRoom(stored.bytes.length);
    const shown = { form, includeObject: includeObject(query), now: this.#dependencies.now() };
    const bytes = sub === 'scale' ? scaleBytes(model, stored) : objectBytes(model, stored, shown);
    this.#sendBytes(call, status, bytes, warnings);
  }

  #sendBytes({ exchange, target, form }: Call, status: number, bytes: Buffer, warnings: readonly string[] = []): void {
    const headers = ['Content-Type', form.type];
    let left = warningBytes;
    for (const text of warnings) {
      if (left <= 0) break;
      const header = warningHeader(text);
      headers.push('Warning', header);
      left -= header.length;
    }
    if (target.model.resource.isConfidential) headers.push('Cache-Control', 'no-store');
    exchange.send(status, headers, encoded(bytes, form));
  }
}

/** What clients ask for may be refused with the object that they sent. */
function about({ exchange, target: { model } }: Call, object: unknown, name: string | undefined): void {
  const { group, storedGroup, plural, kind } = model;
  exchange.errorForm = (error) => failureAnswer(error, { group, storedGroup, plural, kind, name, object });
}

function patchTypesOf({ sub, model }: ResourceTarget): readonly string[] {
  if (sub === 'scale') return scalePatchTypes;
  return model.isBuiltIn ? builtInPatchTypes : patchTypes;
}

function parametersOf({ exchange, query }: Call): WriteParameters {
  return writeParameters(query, exchange.request.headers['user-agent']);
}

function expectation({ resourceVersion, uid }: Pick<Inbound, 'resourceVersion' | 'uid'>) {
  return { revision: resourceVersion, uid };
}

function managersIn({ managedFields }: Pick<Inbound, 'managedFields'>) {
  return managedFields && { managedFields };
}

/** What is asked of an apply alone. @throws KindredError Invalid, BadRequest */
function checkApplied(value: unknown, query: URLSearchParams): void {
  if (!query.get('fieldManager')) {
    const message = 'Required value: is required for apply patch';
    throw invalidFields([{ reason: 'FieldValueRequired', message, field: 'fieldManager' }]);
  }
  if (!isRecord(value)) throw badRequest('the body of an apply is an object');
  for (const member of ['apiVersion', 'kind']) {
    if (value[member] === undefined) throw badRequest(`Object '${member === 'kind' ? 'Kind' : member}' is missing`);
  }
  const { managedFields = null } = isRecord(value.metadata) ? value.metadata : {};
  if (managedFields !== null) throw badRequest('metadata.managedFields must be nil');
}

function mustBeSpecified(): KindredError {
  const message = 'Invalid value: 0: must be specified for an update';
  return invalidFields([{ reason: 'FieldValueInvalid', message, field: 'metadata.resourceVersion' }]);
}
