import { KindredError, messageOf } from '../errors.ts';
import { UsageError } from './io.ts';
import { printable } from './table.ts';

/** An error for people: one line, the violations of an object below it, never a stack. `place`: what it is about. */
export function describe(error: unknown, place = 'kindred'): string {
  if (error instanceof UsageError) return error.mistakes.map((one) => `${place}: ${printable(one)}\n`).join('');
  const message = messageOf(error);
  const violations = error instanceof KindredError ? (error.errors ?? []) : [];
  const rest = violations.map((one) => `  ${printable(one.pointer) || '(object)'}: ${printable(one.message)}\n`);
  return `${place}: ${printable(message)}${wayOut(error)}\n${rest.join('')}`;
}

/** What can be done on the command line about an error of the service, where its text cannot know of a command line. */
function wayOut(error: unknown): string {
  const isUnknown = error instanceof KindredError && error.code === 'Unauthenticated';
  return isUnknown ? '; --token, or the variable KINDRED_TOKEN, says who is asking' : '';
}
