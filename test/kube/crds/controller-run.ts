/**
 * A controller of cert-manager's Certificates against their real definitions:
 * `node test/kube/crds/controller-run.ts --folder FOLDER --certificates 50`, where `definitions/` has the definitions.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { certificates } from './certificates.ts';
import { definitionsIn } from './definitions.ts';

const { values } = parseArgs({
  options: { folder: { type: 'string', default: '' }, certificates: { type: 'string', default: '50' } },
});
const all = definitionsIn(join(values.folder, 'definitions'));
const own = all.filter(({ spec }) => spec.group === 'cert-manager.io');
console.log(await certificates(own, Number(values.certificates)));
