/** What a definition makes of an object on its way in: pruned, with defaults, checked by schema and by rules. */
import type { CompiledRules } from '../../cel/rules.ts';
import { escapeToken, Violations } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';
import { checkMetadata } from '../../model/metadata.ts';
import type { ExtensionObject } from '../../model/object.ts';
import { isRecord } from '../../model/object.ts';
import type { Validator } from '../../model/validator.ts';
import { checkRules } from '../../model/validator.ts';
import type { SchemaDocument } from '../../schema/document.ts';
import type { SchemaObject } from '../../schema/keywords.ts';
import type { Structural } from './structural-type.ts';
import { pruneUnknown, setDefaults } from './values.ts';

export interface Checked {
  readonly structural: Structural;
  readonly document: SchemaDocument;
  /** Of `metadata`, when the definition restricts it. */
  readonly metadata: SchemaObject | undefined;
  readonly rules: CompiledRules;
}

const required = localized('is required');

export function structuralValidator({ structural, document, metadata, rules: compiled }: Checked): Validator {
  const rules = compiled.isEmpty ? undefined : compiled;
  const embedded = hasEmbedded(structural);
  const checkParts = (object: ExtensionObject, found: Violations): void => {
    if (metadata) document.validatePart(metadata, object.metadata, '/metadata', found);
    if (embedded) checkEmbedded(object, structural, '', found);
  };
  return {
    rules,
    prune: (object) => pruneUnknown(object, structural, true),
    applyDefaults: (object, limits) => setDefaults(object, structural, limits),
    validate(object, found = new Violations()) {
      document.validate(contentOf(object), '', found);
      checkParts(object, found);
      return checkRules({ rules }, object, found);
    },
    validateInParts(object, found, slice) {
      const rest = document.validateInParts(contentOf(object), '', found, slice);
      return rest ? rest.then(() => checkParts(object, found)) : void checkParts(object, found);
    },
  };
}

function contentOf({ apiVersion, kind, metadata, ...content }: ExtensionObject): object {
  return content;
}

function hasEmbedded(node: Structural): boolean {
  const below = [...node.properties.values(), node.items, node.additional];
  return below.some((one) => typeof one === 'object' && (one.isEmbedded || hasEmbedded(one)));
}

function checkEmbedded(value: unknown, node: Structural, pointer: string, found: Violations): void {
  if (Array.isArray(value)) {
    const { items } = node;
    for (const [i, one] of items ? value.entries() : []) checkNode(one, items!, `${pointer}/${i}`, found);
    return;
  }
  if (!isRecord(value)) return;
  for (const [name, one] of Object.entries(value)) {
    const below = node.properties.get(name) ?? node.additional;
    if (typeof below === 'object') checkNode(one, below, `${pointer}/${escapeToken(name)}`, found);
  }
}

function checkNode(value: unknown, node: Structural, pointer: string, found: Violations): void {
  if (node.isEmbedded && isRecord(value)) {
    for (const name of ['apiVersion', 'kind'] as const) {
      if (typeof value[name] !== 'string' || value[name] === '') found.add(`${pointer}/${name}`, 'required', required);
    }
    if (value.metadata !== undefined) {
      const rules = { nameRequired: false, isNamespaced: true, naming: 'kubernetes' } as const;
      const problems = checkMetadata(value.metadata, rules);
      for (const one of problems.listed) {
        if (one.keyword !== 'additionalProperties') found.take({ ...one, pointer: `${pointer}${one.pointer}` });
      }
    }
  }
  checkEmbedded(value, node, pointer, found);
}
