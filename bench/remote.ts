/** A process of the benchmark, and what it is asked to do, over Node's own channel between parent and child. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';

interface Question {
  readonly id: number;
  readonly task: string;
  readonly order: unknown;
}

type Reply = { readonly id: number } & ({ readonly result: unknown } | { readonly error: string });

export class Remote {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(result: any): void; reject(error: unknown): void }>();
  readonly #ended: Promise<void>;
  #asked = 0;

  /** @param file of this folder, which calls `answer`; runs with the Node flags given */
  constructor(file: string, args: readonly string[] = [], flags: readonly string[] = []) {
    this.#child = fork(new URL(file, import.meta.url), args, { execArgv: [...flags], serialization: 'advanced' });
    this.#child.on('message', (reply: Reply) => {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ('error' in reply) waiting?.reject(new Error(reply.error));
      else waiting?.resolve(reply.result);
    });
    this.#ended = new Promise((resolve) => this.#child.once('exit', () => resolve()));
    this.#child.on('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`${file} ended: ${signal ?? code}`));
      this.#waiting.clear();
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  ask<T>(task: string, order: unknown = {}): Promise<T> {
    const id = ++this.#asked;
    const question: Question = { id, task, order };
    this.#child.send(question);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** May be called again. */
  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }
}

/** Carries out the tasks that the parent asks for; the process ends when the parent lets go of it. */
export function answer(tasks: Readonly<Record<string, (order: any) => unknown>>, end?: () => Promise<unknown>): void {
  process.on('message', async ({ id, task, order }: Question) => {
    try {
      process.send!({ id, result: await tasks[task]!(order) } satisfies Reply);
    } catch (error) {
      process.send!({
        id,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      } satisfies Reply);
    }
  });
  process.on('disconnect', () => void Promise.resolve(end?.()).then(() => process.exit()));
}
