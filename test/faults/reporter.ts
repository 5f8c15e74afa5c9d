/** Reporter of the runner of seeded faults: one line of JSON for each test that fails by itself, not for the suites around it. */
import type { TestEvent } from 'node:test/reporters';

export default async function* failures(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of source) {
    if (event.type !== 'test:fail') continue;
    const { name, details } = event.data;
    const { failureType, cause } = details.error as Error & { failureType?: string };
    if (failureType === 'subtestsFailed') continue;
    const message = cause instanceof Error ? cause.message : String(cause ?? details.error.message);
    yield `${JSON.stringify({ name, message, timedOut: failureType === 'testTimeoutFailure' })}\n`;
  }
}
