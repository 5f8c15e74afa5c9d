/** What a write of a Webhook must fulfil beside its schema: a webhook shows its receiver what its author may see, and no more. */

import type { Text, Violation } from '../errors.ts';
import { invalid, KindredError, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Scheme } from '../model/scheme.ts';
import { typeNameOf, versionNamed } from '../model/scheme.ts';
import { parseLabelSelector } from '../query/selector.ts';
import type { Access, Author, Authorizer, Authors, Caller, Decision, Identity } from '../resource/access.ts';
import type { ModelHooks } from '../resource/hooks.ts';
import type { WebhookObject, WebhookSpec, WebhookStatus } from './model.ts';

const texts = {
  url: localized('must be an absolute http or https URL without user name, password and fragment'),
  selector: localized('must be a label selector: {problem}'),
  rights: localized('"{identity}" cannot create this webhook: it may not {verb} {resource}: {reason}'),
  passing: localized(
    '"{identity}" may {verb} {resource} only as long as the credential lasts, and a webhook goes on without it: bind a role with this right to the name',
  ),
} satisfies Record<string, Text>;

/** What an entry of `spec.resources` means. */
export interface ResourceName {
  readonly plural: string;
  readonly group: string;
  /** In which objects are delivered; undefined: in the one that is the hub. */
  readonly version?: string;
  /** Of the model; undefined when there is none. */
  readonly scheme?: Scheme;
}

/** `persons.demo.example.com`, or `persons.v1.demo.example.com` for one version. @param schemes of the models that there are */
export function resourceNamed(text: string, schemes: readonly Scheme[]): ResourceName {
  const exact = schemes.find((scheme) => typeNameOf(scheme) === text);
  const scheme = exact ?? schemes.find((one) => versionNamed(text, one) !== undefined);
  if (scheme) {
    const version = exact ? undefined : versionNamed(text, scheme);
    const { plural, groupVersionKind: gvk } = scheme;
    return { plural, group: gvk.group, scheme, ...(version !== undefined && { version }) };
  }
  const dot = text.indexOf('.');
  return dot < 0 ? { plural: text, group: '' } : { plural: text.slice(0, dot), group: text.slice(dot + 1) };
}

/**
 * @param authorizer decides by the credential of whoever writes
 * @param authors decide without one, as deliveries do later
 * @param schemes of the models that there are
 */
export function webhookHooks(authorizer: Authorizer, authors: Authors, schemes: () => readonly Scheme[]): ModelHooks {
  /** @throws Forbidden */
  function checkRights({ identity }: Caller, author: Author, spec: WebhookSpec): void {
    const missing = missingRight((access) => authorizer.decide(identity, access), spec, schemes());
    if (missing) throw refused(texts.rights, identity, missing);
    const passing = missingRight((access) => authors.decide(author, access), spec, schemes());
    if (passing) throw refused(texts.passing, identity, passing);
  }

  /** Whoever made the specification what it is. Who changes labels, or the service its status, gives nothing away. */
  function authorOf(caller: Caller, spec: WebhookSpec, before: WebhookObject | undefined): Author | undefined {
    if (before && JSON.stringify(before.spec) === JSON.stringify(spec)) return before.status?.author;
    const violations = violationsOf(spec);
    if (violations.length > 0) throw invalid(violations);
    const author = authors.of(caller);
    if (caller.origin !== 'host') checkRights(caller, author, spec);
    return author;
  }

  return {
    prepareWrite(object, before, caller) {
      const { spec, status = nothingDelivered } = object as unknown as WebhookObject;
      const author = authorOf(caller, spec, before as WebhookObject | undefined);
      // Whatever the status in the request says.
      const { author: _given, ...rest } = status;
      return { ...object, status: author ? { author, ...rest } : rest };
    },
  };
}

const nothingDelivered: WebhookStatus = { lastRevision: 0, failures: 0, dropped: 0, conditions: [] };

/** A right that a webhook with this specification needs and that is not there. */
export function missingRight(
  decide: (access: Access) => Decision,
  { resources, secretName }: WebhookSpec,
  schemes: readonly Scheme[],
): MissingRight | undefined {
  const names = resources.map((text) => resourceNamed(text, schemes));
  for (const access of neededFor(names, secretName)) {
    const decision = decide(access);
    // A right to some objects is none to all of them.
    if (!decision.allowed || decision.names) return { ...access, reason: decision.reason };
  }
  return undefined;
}

interface MissingRight {
  readonly verb: string;
  readonly resource: string;
  /** Why it is not there. */
  readonly reason: string;
}

function* neededFor(resources: readonly ResourceName[], secretName: string): Generator<Access & { resource: string }> {
  for (const { plural, group } of resources) {
    for (const verb of ['list', 'watch']) yield { verb, group, resource: plural };
  }
  yield { verb: 'get', group: '', resource: 'secrets', name: secretName };
}

function refused(text: Text, { name }: Identity, { verb, resource, reason }: MissingRight): KindredError {
  return new KindredError('Forbidden', text, { params: { identity: name, verb, resource, reason } });
}

function violationsOf({ url, labelSelector }: WebhookSpec): Violation[] {
  const violations: Violation[] = [];
  const target = URL.parse(url);
  const isWeb = target && (target.protocol === 'http:' || target.protocol === 'https:');
  if (!isWeb || target.username !== '' || target.password !== '' || target.hash !== '') {
    violations.push(violation('/spec/url', 'format', texts.url));
  }
  try {
    parseLabelSelector(labelSelector ?? '');
  } catch (error) {
    const problem = (error as Error).message;
    violations.push(violation('/spec/labelSelector', 'format', texts.selector, { problem }));
  }
  return violations;
}
