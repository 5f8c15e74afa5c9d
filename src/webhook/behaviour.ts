/** What a write of a Webhook must fulfil beside its schema: a webhook shows its receiver what its author may see, and no more. */
import type { Text, Violation } from '../errors.ts';
import { invalid, KindredError, violation } from '../errors.ts';
import { parseLabelSelector } from '../query/selector.ts';
import type { Access, Authorizer, Caller } from '../resource/access.ts';
import type { ModelBehaviour } from '../resource/behaviour.ts';
import type { WebhookObject, WebhookSpec } from './model.ts';

const texts = {
  url: {
    en: 'is an absolute URL with http or https, without user name, password and fragment',
    zh: '应为使用 http 或 https 的绝对 URL，且不含用户名、密码和片段',
  },
  selector: { en: 'is a label selector: {problem}', zh: '应为标签选择器：{problem}' },
  rights: {
    en: '"{identity}" may not make a webhook for this, lacking the right to {verb} {resource}: {reason}',
    zh: '"{identity}" 无权为此创建 Webhook，缺少对 {resource} 执行 {verb} 的权限：{reason}',
  },
} satisfies Record<string, Text>;

/** `persons.demo.example.com` as plural and group; the empty group has no dot. */
function resourceOf(text: string): { readonly plural: string; readonly group: string } {
  const dot = text.indexOf('.');
  return dot < 0 ? { plural: text, group: '' } : { plural: text.slice(0, dot), group: text.slice(dot + 1) };
}

export function webhookBehaviour(authorizer: Authorizer): ModelBehaviour {
  return {
    prepareWrite(object, before, caller) {
      const { spec } = object as unknown as WebhookObject;
      const known = (before as WebhookObject | undefined)?.spec;
      // Whoever changes labels, or the service its status, gives nothing away.
      if (JSON.stringify(known) === JSON.stringify(spec)) return object;
      const violations = violationsOf(spec);
      if (violations.length > 0) throw invalid(violations);
      if (caller.origin !== 'host') checkRights(authorizer, caller, spec);
      return object;
    },
  };
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

/** @throws Forbidden */
function checkRights(authorizer: Authorizer, { identity }: Caller, { resources, secretName }: WebhookSpec): void {
  const needed: Access[] = resources.flatMap((text) => {
    const { plural, group } = resourceOf(text);
    return ['list', 'watch'].map((verb) => ({ verb, group, resource: plural }));
  });
  needed.push({ verb: 'get', group: '', resource: 'secrets', name: secretName });
  for (const access of needed) {
    const decision = authorizer.decide(identity, access);
    // A right to some objects is none to all of them.
    if (decision.allowed && !decision.names) continue;
    const resource = 'resource' in access ? access.resource : '';
    const { verb } = access;
    throw new KindredError('Forbidden', texts.rights, {
      identity: identity.name,
      verb,
      resource,
      reason: decision.reason,
    });
  }
}
