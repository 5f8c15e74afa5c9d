import type { Parameters, Text } from '../errors.ts';
import { KindredError } from '../errors.ts';

/** Why a plugin does not start, with the word for `status.reason`. */
export class PluginStartError extends KindredError {
  readonly reason: string;

  constructor(reason: string, text: Text, params: Parameters) {
    super('InvalidPlugin', text, { params });
    this.reason = reason;
  }
}

/** The word for `status.reason`: a start error's own, the code of the service's other errors, `StartFailed` for all else. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof KindredError)) return 'StartFailed';
  return (error as Partial<PluginStartError>).reason ?? error.code;
}
