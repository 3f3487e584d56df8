/** Determines the states, transitions and signals of a machine that a set of histories covers. */
import type { AnyStateMachine, AnyStateNode } from 'xstate';

export interface Coverage {
  /** To be called before the histories are replayed under the same machine. */
  readonly missing: () => readonly string[];
}

/**
 * Marks every state and transition of a machine, so that replaying shows which are used. It puts actions into the machine
 * that change nothing and give nothing; the machine stays marked for the rest of the process.
 */
export function markMachine(machine: AnyStateMachine): Coverage {
  const unseen = new Set<string>();
  const mark = (name: string): object => {
    unseen.add(name);
    const seen = (): void => undefined;
    // XState carries out an action that has `resolve` within the pure step; without `execute` nothing is left of it.
    return Object.assign(seen, {
      type: 'xstate.seen',
      resolve: (_scope: unknown, snapshot: unknown) => {
        unseen.delete(name);
        return [snapshot, undefined, undefined];
      },
    });
  };
  for (const node of nodesOf(machine.root)) {
    // A history state is never entered itself: the transitions to it are what counts.
    if (node.type !== 'history') node.entry = [mark(`state ${node.id}`), ...node.entry] as typeof node.entry;
    const transitions = [...node.transitions.values()].flat().concat(node.always ?? []);
    for (const transition of transitions) {
      const alike = transitions.filter((other) => other.eventType === transition.eventType);
      const event = String(transition.eventType) === '' ? 'always' : String(transition.eventType);
      const place = alike.length > 1 ? ` (${alike.indexOf(transition) + 1} of ${alike.length})` : '';
      const name = `transition of ${node.id} on ${event}${place}`;
      Object.assign(transition, { actions: [mark(name), ...transition.actions] });
    }
  }
  return { missing: () => [...unseen].sort() };
}

function* nodesOf(node: AnyStateNode): Generator<AnyStateNode> {
  yield node;
  for (const child of Object.values(node.states)) yield* nodesOf(child);
}
