/** An export as a file: the browser keeps what has arrived out of the page's memory. */

import type { SelectQuery } from 'kindred/client';
import { readJson } from '../../../../src/runtime/read-json.ts';
import { client } from '../../api/client.ts';
import type { ModelSummary } from '../../api/models.ts';
import { clientModelOf, typeOf } from '../../api/models.ts';
import type { ApiObject } from '../../api/object.ts';
import { fullNameOf, partsOf } from '../../api/object.ts';
import { valueAt } from '../../query/columns.ts';
import { csvLine } from '../../query/csv.ts';
import { termOf } from '../../query/terms.ts';

export interface Selection {
  readonly fieldSelector: string;
  readonly labelSelector: string;
  /** These instead of what the selectors match. */
  readonly names?: readonly string[];
}

/** Names in one request: its address has to stay short. */
const namesAtOnce = 50;

/** One request for all matches; several for names, which also give what has the same name in other namespaces. */
function requestsOf({ fieldSelector, labelSelector, names }: Selection): SelectQuery[] {
  if (!names) return [{ ...(fieldSelector && { fieldSelector }), ...(labelSelector && { labelSelector }) }];
  const all = [...new Set(names.map((name) => partsOf(name).name))];
  return Array.from({ length: Math.ceil(all.length / namesAtOnce) }, (_, part) => {
    const some = all.slice(part * namesAtOnce, (part + 1) * namesAtOnce);
    return { fieldSelector: termOf('metadata.name', 'in', some) };
  });
}

/** Complete, or it throws; gives the number of objects. */
export async function exportObjects(
  model: ModelSummary,
  selection: Selection,
  format: 'ndjson' | 'csv',
  columns: readonly string[],
): Promise<number> {
  const wanted = selection.names && new Set(selection.names);
  let count = 0;
  async function* parts(): AsyncGenerator<string> {
    if (format === 'csv') yield csvLine(columns);
    for (const select of requestsOf(selection)) {
      for await (const line of client.exportLines(clientModelOf(model), select)) {
        if (format === 'ndjson' && !wanted) yield `${line}\n`;
        else {
          const object = readJson(line) as ApiObject;
          if (wanted && !wanted.has(fullNameOf(object))) continue;
          yield format === 'ndjson' ? `${line}\n` : csvLine(columns.map((path) => valueAt(object, path)));
        }
        count++;
      }
    }
  }
  const type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson';
  const texts = parts();
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await texts.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await texts.return(undefined);
    },
  });
  const blob = await new Response(stream, { headers: { 'content-type': type } }).blob();
  saveAs(blob, `${typeOf(model)}.${format}`);
  return count;
}

function saveAs(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
