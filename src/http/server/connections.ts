/**
 * How many connections there may be: of all, since each takes one of the files that the process may open, and of one
 * address, so that nobody keeps the others out. One more is closed at once. When there are too many of all, it takes the
 * place of the oldest one on which nothing was sent yet: silent connections keep nobody out, wherever they come from.
 */
import type { Server, Socket } from 'node:net';
import { isLoopback, sourceOf } from '../../runtime/source-address.ts';
import { Refusals } from './refusals.ts';

export interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
}

export class Connections {
  readonly refusals: Refusals<'all' | 'address'>;
  readonly #limit: number;
  readonly #now: () => number;
  readonly #byAddress = new Map<string, number>();
  /** What is done when the connection ends. */
  readonly #places = new Map<Socket, () => void>();
  /** On which nothing was sent when they were looked at last, the oldest first. */
  readonly #silent = new Set<Socket>();
  #lastRefused: string | undefined;

  /**
   * @param now milliseconds, never going back
   * @param warn told now and then how many were refused, and the address of the last one
   */
  constructor(
    server: Server,
    limits: ConnectionLimits,
    now: () => number,
    warn: (refused: number, address: string | undefined) => void,
  ) {
    this.refusals = new Refusals(['all', 'address'], (refused) => warn(refused, this.#lastRefused));
    this.#limit = limits.connectionsPerAddress;
    this.#now = now;
    server.on('connection', (socket) => {
      const { remoteAddress } = socket;
      // An address that has too many already takes nobody's place.
      if (this.open >= limits.connections && (this.#hasTooMany(remoteAddress) || !this.#makeRoom())) {
        this.#refuse('all', remoteAddress);
        socket.destroy();
        return;
      }
      const leave = this.#enter(remoteAddress);
      if (!leave) {
        socket.destroy();
        return;
      }
      this.#places.set(socket, leave);
      this.#silent.add(socket);
      socket.once('close', () => this.#free(socket));
    });
  }

  get open(): number {
    return this.#places.size;
  }

  closeAll(): void {
    for (const socket of this.#places.keys()) socket.destroy();
  }

  /** Closes the oldest connection on which nothing was sent yet. False: there is none. */
  #makeRoom(): boolean {
    for (const socket of this.#silent) {
      this.#silent.delete(socket);
      if (socket.bytesRead !== 0) continue;
      this.#refuse('all', socket.remoteAddress);
      this.#free(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  #free(socket: Socket): void {
    this.#places.get(socket)?.();
    this.#places.delete(socket);
    this.#silent.delete(socket);
  }

  /** Whether it may have no more. The connections of a proxy on the same machine are those of everybody. */
  #hasTooMany(address: string | undefined): boolean {
    if (address === undefined || isLoopback(address)) return false;
    return (this.#byAddress.get(sourceOf(address)) ?? 0) >= this.#limit;
  }

  /** Undefined: there are too many of this address. */
  #enter(address: string | undefined): (() => void) | undefined {
    if (address === undefined || isLoopback(address)) return () => {};
    if (this.#hasTooMany(address)) {
      this.#refuse('address', address);
      return undefined;
    }
    const source = sourceOf(address);
    this.#byAddress.set(source, (this.#byAddress.get(source) ?? 0) + 1);
    return () => this.#leave(source);
  }

  #refuse(tooMany: 'all' | 'address', address: string | undefined): void {
    this.#lastRefused = address;
    this.refusals.add(tooMany, this.#now());
  }

  #leave(source: string): void {
    const count = this.#byAddress.get(source)! - 1;
    if (count === 0) this.#byAddress.delete(source);
    else this.#byAddress.set(source, count);
  }
}
