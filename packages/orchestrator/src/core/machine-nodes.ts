/** Lists the states, transitions and actions of a machine, as far as its configuration contains them. */
import type { AnyStateMachine, AnyStateNode } from 'xstate';

/** Properties of XState's built-in actions, which its types do not declare. */
export interface BuiltInAction {
  readonly type: string;
  readonly id?: unknown;
  readonly src?: unknown;
  readonly delay?: unknown;
  readonly systemId?: unknown;
  readonly syncSnapshot?: unknown;
  readonly event?: unknown;
  readonly assignment?: unknown;
  readonly collect?: unknown;
}

/** A name that sets the prototype of an ordinary object instead of a field: XState loses what has it. */
export const RESERVED_NAME = '__proto__';

/** All states of a machine, the root first. */
export function* nodesOf(node: AnyStateNode): Generator<AnyStateNode> {
  yield node;
  for (const child of Object.values(node.states)) yield* nodesOf(child);
}

/** The actions that a state itself names, and those of its transitions. */
export function actionsOf(node: AnyStateNode): readonly unknown[] {
  return [
    ...node.entry,
    ...node.exit,
    ...(node.initial?.actions ?? []),
    ...transitionsOf(node).flatMap((each) => each.actions as readonly unknown[]),
  ];
}

export function transitionsOf(node: AnyStateNode) {
  return [...node.transitions.values()].flat().concat(node.always ?? []);
}

const immediate = new WeakMap<AnyStateMachine, ReadonlySet<string>>();

/** Ids of events that the machine raises without a delay, as far as they do not come from `enqueueActions`. */
export function immediateRaises(machine: AnyStateMachine): ReadonlySet<string> {
  let ids = immediate.get(machine);
  if (ids === undefined) {
    const actions = [...nodesOf(machine.root)].flatMap(actionsOf);
    const named: readonly unknown[] = Object.values(machine.implementations.actions);
    const raises = [...actions, ...named].filter(
      (action): action is BuiltInAction =>
        typeof action === 'function' && (action as Partial<BuiltInAction>).type === 'xstate.raise',
    );
    ids = new Set(raises.flatMap(({ id, delay }) => (typeof id === 'string' && delay === undefined ? [id] : [])));
    immediate.set(machine, ids);
  }
  return ids;
}

const eventless = new WeakMap<AnyStateMachine, boolean>();

/** Has the machine an `always` transition, which any event may lead to? */
export function hasEventless(machine: AnyStateMachine): boolean {
  let has = eventless.get(machine);
  if (has === undefined) {
    has = [...nodesOf(machine.root)].some(({ always }) => always !== undefined && always.length > 0);
    eventless.set(machine, has);
  }
  return has;
}
