import type { Silence } from './connection.ts';

/**
 * The lines of a body, without their ends, as they arrive; a last line without an end counts, empty lines do not.
 * While the consumer works on a line the clock of `silence` stands still.
 */
export async function* lines(
  body: ReadableStream<Uint8Array>,
  silence?: Silence,
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  try {
    for (;;) {
      silence?.begin();
      const { done, value } = await reader.read();
      silence?.end();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const parts = rest.split('\n');
      rest = done ? '' : parts.pop()!;
      for (const part of parts) if (part !== '' && part !== '\r') yield part;
      if (done) return;
    }
  } finally {
    silence?.end();
    // Reached by a consumer that stops early too: the connection is not worth keeping then.
    await reader.cancel().catch(() => {});
  }
}
