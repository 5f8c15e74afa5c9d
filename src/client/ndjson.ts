/** The lines of a body, without their ends, as they arrive; a last line without an end counts, empty lines do not. */
export async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const parts = rest.split('\n');
      rest = done ? '' : parts.pop()!;
      for (const part of parts) if (part !== '' && part !== '\r') yield part;
      if (done) return;
    }
  } finally {
    // Reached by a consumer that stops early too: the connection is not worth keeping then.
    await reader.cancel().catch(() => {});
  }
}
