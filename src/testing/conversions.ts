/** The conversions of a model with several versions, tried on random objects. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelType } from '../model/model-type.ts';
import { Scheme } from '../model/scheme.ts';
import type { ConversionOptions, ConversionReport, Property } from '../resource/conversion-trial.ts';
import { properties, tryConversions } from '../resource/conversion-trial.ts';

export type { ConversionOptions } from '../resource/conversion-trial.ts';

/**
 * Registers tests of each conversion with `node:test`, in one suite named after the model. Objects are generated from the schemas of each version,
 * the same for the same seed.
 *
 * - An object of either version converts to a valid one of the other.
 * - What a client wrote in a version is the same when it comes back from the hub.
 * - What is read in a version and written back there changes nothing.
 * - What a client changes in a version is read there as it was written, and the stored object is valid.
 * - Conversions are pure: the same result each time, JSON, and nothing of what they are given is changed.
 *
 * @example
 * ```ts
 * const spec = Type.Object({ title: Type.String() });
 * conversionTests(defineModel({
 *   gvk: { group: 'library.example.com', version: 'v2', kind: 'Note', singular: 'note', plural: 'notes' },
 *   spec: Type.Object({ heading: Type.String() }),
 *   versions: { v1: { spec, toHub: ({ title }) => ({ heading: title }), fromHub: ({ heading }) => ({ title: heading }) } },
 * }), { runs: 200 });
 * ```
 */
export function conversionTests(model: ModelType, options: ConversionOptions = {}): void {
  const scheme = Scheme.buildFromType(model);
  const { version: hub, kind } = scheme.groupVersionKind;
  const { runs = 1_000, seed = Date.now() % 1_000_000 } = options;
  const titles: Readonly<Record<Property, (version: string) => string>> = {
    valid: (version) => `objects convert from ${version} to ${hub} and back to valid ones`,
    kept: (version) => `${version} → ${hub} → ${version} is the same`,
    shown: (version) => `what is read in ${version} and written back changes nothing`,
    written: (version) => `what is written through ${version} is read there as it was written`,
    pure: (version) => `the conversions of ${version} are pure`,
  };
  describe(`conversions of ${kind} (${runs} objects of each version, seed ${seed})`, () => {
    for (const { scheme: spoke } of scheme.spokes) {
      const { version } = spoke.groupVersionKind;
      let report: ConversionReport | undefined;
      for (const property of properties) {
        it(titles[property](version), (t) => {
          report ??= tryConversions(scheme, version, { ...options, runs, seed });
          const problem = report.problems[property];
          if (problem)
            assert.fail(
              `${problem.what}\n${JSON.stringify(problem.content, undefined, 2)}\n(${problem.objects} objects, seed ${seed})`,
            );
          if (property === 'shown' && report.hidden.length > 0)
            t.diagnostic(`${version} cannot say ${report.hidden.join(', ')}: it stays as it is stored`);
        });
      }
    }
  });
}
