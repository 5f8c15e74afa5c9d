/** The service's own validator for the schema of a model, in the browser: what few schemas need is loaded when one does. */

import type { SchemaDocument } from '../../../src/schema/document.ts';
import type { JsonSchema, SchemaObject } from '../../../src/schema/keywords.ts';
import type { LinearEngine, Loader } from '../../../src/schema/loader.ts';

/** Something that has to be loaded first. */
class Missing extends Error {
  readonly load: () => Promise<void>;

  constructor(load: () => Promise<void>) {
    super();
    this.load = load;
  }
}

/** Comes beside the model, not before the screen. */
const validator = import('../../../src/schema/document.ts');
const metaSchemas = import.meta.glob<SchemaObject>('../../../src/schema/meta-schemas/**/*.json', { import: 'default' });
const loadedSchemas = new Map<string, SchemaObject>();
let engine: LinearEngine | undefined;

const loader: Loader = {
  linearEngine() {
    if (engine) return engine;
    throw new Missing(async () => {
      engine = (await import('re2js')).RE2JS;
    });
  },
  metaSchema(name) {
    const known = loadedSchemas.get(name);
    const load = metaSchemas[`../../../src/schema/meta-schemas/${name}.json`];
    if (known || !load) return known;
    throw new Missing(async () => {
      loadedSchemas.set(name, await load());
    });
  },
};

/** @param model for messages */
export async function openDocument(schema: JsonSchema, model: string): Promise<SchemaDocument> {
  const { SchemaDocument } = await validator;
  for (;;) {
    try {
      const document = new SchemaDocument(schema, { model, path: '', closed: true, loader });
      // Compiles all of it, so that what it needs is asked for now.
      document.validate({}, '');
      return document;
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      await error.load();
    }
  }
}
