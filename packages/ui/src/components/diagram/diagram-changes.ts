/** Compares two versions of a diagram, node by node and edge by edge. */
import type { DiagramEdge, DiagramGraph, DiagramNode } from '@autonomous/shared/diagram';

export type ChangeKind = 'added' | 'changed' | 'removed';

export interface DiagramChange {
  readonly kind: ChangeKind;
  readonly what: 'node' | 'edge';
  /** A sentence: `Node “/login” is new.` */
  readonly text: string;
  /** The node's id, or the edge's place, where it stands in the earlier version; absent for what is new. */
  readonly before?: string | number;
  /** The same in the later version; absent for what is gone. */
  readonly after?: string | number;
}

/** In the order of the later diagram, what is gone last. */
export function diagramChanges(before: DiagramGraph, after: DiagramGraph): readonly DiagramChange[] {
  return [...nodeChanges(before, after), ...edgeChanges(before, after)];
}

function nodeChanges(before: DiagramGraph, after: DiagramGraph): readonly DiagramChange[] {
  const old = new Map(before.nodes.map((node) => [keyOf(node.id), node]));
  const found = new Set<DiagramNode>();
  const changes: DiagramChange[] = [];
  for (const node of after.nodes) {
    const was = old.get(keyOf(node.id));
    if (was === undefined) {
      changes.push({ kind: 'added', what: 'node', text: `Node ${nameOf(node)} is new.`, after: node.id });
      continue;
    }
    found.add(was);
    const differences = [
      was.label === node.label ? '' : `was ${nameOf(was)}`,
      was.shape === node.shape ? '' : `was drawn as ${was.shape}, is ${node.shape}`,
    ].filter((text) => text !== '');
    if (differences.length === 0) continue;
    const text = `Node ${nameOf(node)} ${differences.join(' and ')}.`;
    changes.push({ kind: 'changed', what: 'node', text, before: was.id, after: node.id });
  }
  for (const node of before.nodes) {
    if (found.has(node)) continue;
    changes.push({ kind: 'removed', what: 'node', text: `Node ${nameOf(node)} was removed.`, before: node.id });
  }
  return changes;
}

/** Edges are known by their ends; several between the same two by their order. */
function edgeChanges(before: DiagramGraph, after: DiagramGraph): readonly DiagramChange[] {
  const old = new Map(edgeKeys(before).map((key, index) => [key, index]));
  const found = new Set<number>();
  const changes: DiagramChange[] = [];
  for (const [index, key] of edgeKeys(after).entries()) {
    const edge = after.edges[index];
    const wasAt = old.get(key);
    const was = wasAt === undefined ? undefined : before.edges[wasAt];
    if (edge === undefined) continue;
    if (wasAt === undefined || was === undefined) {
      changes.push({ kind: 'added', what: 'edge', text: `Edge ${edgeName(edge, after)} is new.`, after: index });
      continue;
    }
    found.add(wasAt);
    if (was.label === edge.label) continue;
    const text = `Edge ${edgeName(edge, after)} was labelled “${was.label}”.`;
    changes.push({ kind: 'changed', what: 'edge', text, before: wasAt, after: index });
  }
  for (const [index, edge] of before.edges.entries()) {
    if (found.has(index)) continue;
    changes.push({ kind: 'removed', what: 'edge', text: `Edge ${edgeName(edge, before)} was removed.`, before: index });
  }
  return changes;
}

function edgeKeys({ edges }: DiagramGraph): readonly string[] {
  const counts = new Map<string, number>();
  return edges.map(({ from, to }) => {
    const ends = JSON.stringify([keyOf(from), keyOf(to)]);
    const count = counts.get(ends) ?? 0;
    counts.set(ends, count + 1);
    return `${ends} ${count}`;
  });
}

/** Mermaid numbers entities in the order in which they are named first, which moves with every other one. */
function keyOf(id: string): string {
  return /^entity-(.+)-\d+$/.exec(id)?.[1] ?? id;
}

function nameOf({ id, label }: DiagramNode): string {
  return `“${label === '' ? keyOf(id) : label}”`;
}

function edgeName({ from, to, label }: DiagramEdge, { nodes }: DiagramGraph): string {
  const end = (id: string): string => nameOf(nodes.find((node) => node.id === id) ?? { id, label: '', shape: '' });
  return `${end(from)} → ${end(to)}${label === '' ? '' : ` (“${label}”)`}`;
}
