/** A machine as a Mermaid state diagram, and the signals that it would take now. */
import type { AnyStateNode } from 'xstate';
import type { RunState } from './advance.ts';
import type { WorkflowDefinition } from './definition.ts';

/** The machine's states and the transitions between them. Regions of a parallel state are divided by `--`. */
export function diagramOf({ machine }: WorkflowDefinition): string {
  const lines = ['stateDiagram-v2'];
  write(machine.root, '  ', lines);
  return lines.join('\n');
}

/** Types of declared signals that some active state handles; a guard may still refuse one. */
export function possibleSignals(definition: WorkflowDefinition, state: RunState): readonly string[] {
  if (state.snapshot === null || state.snapshot.status !== 'active') return [];
  // The active nodes are XState's own bookkeeping; nothing public lists what they handle.
  const nodes = (state.snapshot as unknown as { readonly _nodes: readonly AnyStateNode[] })._nodes;
  const handled = new Set(nodes.flatMap((node): readonly string[] => node.ownEvents as string[]));
  return Object.keys(definition.signals).filter((type) => handled.has(type));
}

function write(node: AnyStateNode, indent: string, lines: string[]): void {
  const children = Object.values(node.states);
  const initial = node.config.initial;
  if (typeof initial === 'string') {
    const first = node.states[initial];
    if (first) lines.push(`${indent}[*] --> ${idOf(first)}`);
  }
  for (const [index, child] of children.entries()) {
    if (index > 0 && node.type === 'parallel') lines.push(`${indent}--`);
    if (Object.keys(child.states).length > 0) {
      lines.push(`${indent}state "${child.key}" as ${idOf(child)} {`);
      write(child, `${indent}  `, lines);
      lines.push(`${indent}}`);
    } else {
      lines.push(`${indent}state "${child.key}" as ${idOf(child)}`);
    }
    if (child.type === 'final') lines.push(`${indent}${idOf(child)} --> [*]`);
  }
  for (const child of children) {
    for (const line of new Set(transitionsOf(child))) lines.push(`${indent}${line}`);
  }
}

function transitionsOf(node: AnyStateNode): string[] {
  const transitions = [...node.transitions.values()].flat().concat(node.always ?? []);
  return transitions.flatMap((transition) =>
    (transition.target ?? []).map(
      (target: AnyStateNode) => `${idOf(node)} --> ${idOf(target)} : ${label(String(transition.eventType))}`,
    ),
  );
}

/** Colons end a label in Mermaid; XState's own event names are shortened to what happened. */
function label(eventType: string): string {
  if (eventType === '') return 'always';
  return eventType
    .replace(/^xstate\.(done|error)\.actor\./, '$1 ')
    .replace(/^xstate\.after\.([^.]+)\..*$/, 'after $1')
    .replaceAll(':', ' ');
}

function idOf(node: AnyStateNode): string {
  return node.id.replace(/[^A-Za-z0-9_]/g, '_');
}
