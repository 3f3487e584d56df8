/** A machine's snapshot as it is stored, and read back without anything being started. */
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  createActor,
  getStateNodes,
  type StateValue,
} from 'xstate';
import { freezeJson } from './plain-json.ts';

/**
 * A snapshot from its stored form.
 * @throws when it names a state that the machine does not have, or is no snapshot at all
 */
export function restoreSnapshot(machine: AnyStateMachine, stored: unknown): AnyMachineSnapshot {
  const snapshot = createActor(machine, { snapshot: stored as never }).getSnapshot() as AnyMachineSnapshot;
  if (snapshot.status === 'error') throw new Error(`the stored state cannot be read: ${describeError(snapshot.error)}`);
  freezeJson(snapshot.context);
  return snapshot;
}

/**
 * A snapshot as it would be after it was stored and read back: what the next step is taken from is the same whether the run
 * stayed in memory or was reopened. XState's own may hold one object in two places, and after a history state that is
 * targeted from within its own parallel state it lacks active states.
 * @param context the snapshot's context as it was stored
 */
export function asReopened(
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  context: unknown,
): AnyMachineSnapshot {
  const nodes = activeNodes(snapshot);
  const named = namedNodes(machine, snapshot.value as StateValue);
  if (isSameSet(named, nodes) && remembersStates(snapshot)) return { ...snapshot, context, _nodes: named } as never;
  return restoreSnapshot(machine, plain(machine.getPersistedSnapshot({ ...snapshot, context } as never)));
}

/** State values whose nodes are kept for each machine: a run comes by the same ones again and again. */
const KEPT_VALUES = 1_000;
const kept = new WeakMap<AnyStateMachine, Map<string, readonly AnyStateNode[]>>();

/** The nodes that a value names, in the order in which a restored snapshot has them. */
function namedNodes(machine: AnyStateMachine, value: StateValue): readonly AnyStateNode[] {
  let ofMachine = kept.get(machine);
  if (ofMachine === undefined) kept.set(machine, (ofMachine = new Map<string, readonly AnyStateNode[]>()));
  const key = JSON.stringify(value);
  let nodes = ofMachine.get(key);
  if (nodes === undefined) {
    if (ofMachine.size >= KEPT_VALUES) ofMachine.clear();
    ofMachine.set(key, (nodes = [...new Set(getStateNodes(machine.root, value))]));
  }
  return nodes;
}

/** The active states of a snapshot: XState's own bookkeeping, which nothing public lists. */
export function activeNodes(snapshot: AnyMachineSnapshot): readonly AnyStateNode[] {
  return (snapshot as unknown as { readonly _nodes: readonly AnyStateNode[] })._nodes;
}

function isSameSet(a: readonly AnyStateNode[], b: readonly AnyStateNode[]): boolean {
  if (a.length !== b.length) return false;
  if (a.every((node, index) => node === b[index])) return true;
  const set = new Set(a);
  return b.every((node) => set.has(node));
}

/** Are no history states among it that remember nothing? They are not restored. */
function remembersStates({ historyValue }: AnyMachineSnapshot): boolean {
  for (const id in historyValue) if (historyValue[id]?.length === 0) return false;
  return true;
}

/** Returns the message of an error, of a failed activity's output, or of any other thrown value. */
export function describeError(error: unknown): string {
  if (error instanceof Error) return error.message;
  const message = (error as { message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : JSON.stringify(error);
}

/** Returns the value as JSON preserves it, so that it is the same before and after storing. */
export function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
