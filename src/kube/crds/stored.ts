/** The models that the definitions in a database declare. */
import type { ModelType } from '../../model/model-type.ts';
import { Scheme } from '../../model/scheme.ts';
import { readJson } from '../../runtime/read-json.ts';
import { TimeSlice } from '../../runtime/time-slice.ts';
import type { Store } from '../../store/store.ts';
import type { DefinitionObject } from './kind.ts';
import { definitionGroup } from './kind.ts';
import { modelOf } from './model.ts';

const portion = 50;

export async function definedSchemes(store: Store, reservedDomain: string): Promise<Scheme[]> {
  const slice = new TimeSlice(() => performance.now());
  const models = await store.models();
  const kind = models.find((one) => one.group === definitionGroup && one.kind === 'CustomResourceDefinition');
  const found: Scheme[] = [];
  for (let after = 0; kind; ) {
    const page = await store.scan(kind.number, after, portion);
    if (page.length === 0) break;
    after = page.at(-1)!.id;
    for (const { bytes } of page) {
      const definition = readJson(Buffer.from(bytes).toString()) as DefinitionObject;
      if (!isAccepted(definition)) continue;
      const model = await slice.run(modelOf(definition, reservedDomain));
      found.push(Scheme.buildFromType(model as ModelType));
    }
  }
  return found;
}

/** Its model is served. */
export function isAccepted({ status }: DefinitionObject): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'NamesAccepted' && status === 'True') === true;
}
