/**
 * The search of Wing and Gong with Lowe's memo: is there any order of one object's operations, each between its start
 * and its end, in which every answer is right? It trusts no revision. J. M. Wing, C. Gong: Testing and verifying
 * concurrent objects (1993); G. Lowe: Testing for linearizability (2017).
 */
import type { Item, Operation } from './history.ts';
import { isWrite, sameItem, step } from './history.ts';

interface Call {
  readonly operation: Operation;
  readonly number: number;
  /** Undefined with an unknown outcome: it may come at any time after its start, or never. */
  end: End | undefined;
  previous: Node;
  next: Node | undefined;
}

interface End {
  readonly call: Call;
  previous: Node;
  next: Node | undefined;
}

type Node = Call | End | Head;

interface Head {
  next: Node | undefined;
}

/** @param operations those on one name */
export function isLinearizable(operations: readonly Operation[]): boolean {
  const answered = operations.filter(({ outcome }) => outcome.kind !== 'none');
  const head = listOf(answered);
  const seen = new Set<string>();
  const taken: { call: Call; state: Item | undefined }[] = [];
  const bits = new Uint32Array((answered.length >>> 5) + 1);
  let left = answered.filter(({ outcome }) => outcome.kind !== 'unknown').length;
  let state: Item | undefined;
  for (let node = head.next; left > 0; ) {
    if (node && 'operation' in node) {
      const next = after(state, node.operation);
      if (next) {
        bits[node.number >>> 5]! ^= 1 << (node.number & 31);
        const key = `${bits.join()} ${next.item ? JSON.stringify(next.item) : ''}`;
        if (!seen.has(key)) {
          seen.add(key);
          taken.push({ call: node, state });
          state = next.item;
          if (node.end) left--;
          lift(node);
          node = head.next;
          continue;
        }
        bits[node.number >>> 5]! ^= 1 << (node.number & 31);
      }
      node = node.next;
      continue;
    }
    // An end, or the end of all: one of the calls before it must come earlier.
    const last = taken.pop();
    if (!last) return false;
    state = last.state;
    bits[last.call.number >>> 5]! ^= 1 << (last.call.number & 31);
    if (last.call.end) left++;
    putBack(last.call);
    node = last.call.next;
  }
  return true;
}

/** The state after the operation; undefined when its answer is wrong in this state. */
function after(state: Item | undefined, { request, outcome }: Operation): { item: Item | undefined } | undefined {
  if (outcome.kind === 'refused' && outcome.code === 'NotFound') return state ? undefined : { item: state };
  // Other objects decide about it.
  if (outcome.kind === 'refused' && outcome.code === 'UniqueViolation') return { item: state };
  if (!isWrite(request))
    return outcome.kind === 'ok' && state && sameItem(outcome.item, state) ? { item: state } : undefined;
  const result = step(state, request);
  if (outcome.kind === 'refused') {
    if (!('refused' in result) || result.refused !== outcome.code) return undefined;
    if (outcome.code === 'VersionConflict' && outcome.currentVersion !== state?.version) return undefined;
    return { item: state };
  }
  if ('refused' in result) return undefined;
  if (outcome.kind === 'ok' && !sameItem(outcome.item, result.answer)) return undefined;
  return { item: result.item };
}

/** Calls and ends in the order of time; at one moment calls come first. */
function listOf(operations: readonly Operation[]): Head {
  const head: Head = { next: undefined };
  const nodes = operations.flatMap((operation, number) => {
    const call: Call = { operation, number, end: undefined, previous: head, next: undefined };
    const { start, end, outcome } = operation;
    if (outcome.kind === 'unknown') return [{ time: start, rank: 0, node: call as Call | End }];
    call.end = { call, previous: head, next: undefined };
    return [
      { time: start, rank: 0, node: call as Call | End },
      { time: end, rank: 1, node: call.end as Call | End },
    ];
  });
  nodes.sort((a, b) => a.time - b.time || a.rank - b.rank);
  let last: Node = head;
  for (const { node } of nodes) {
    last.next = node;
    node.previous = last;
    last = node;
  }
  return head;
}

function lift(call: Call): void {
  for (const node of [call, call.end]) {
    if (!node) continue;
    node.previous.next = node.next;
    if (node.next) (node.next as Call).previous = node.previous;
  }
}

function putBack(call: Call): void {
  for (const node of [call.end, call]) {
    if (!node) continue;
    node.previous.next = node;
    if (node.next) (node.next as Call).previous = node;
  }
}
