/** Marks on a drawing: what is new, what a node requires. Each has a sign and a line of its own, so that colour is not needed. */
import type { DiagramGraph } from '@autonomous/shared/diagram';
import type { DrawingNames } from './drawing.ts';

export interface Mark {
  /** One of the classes that `DRAWING_STYLES` knows. */
  readonly kind: MarkKind;
  /** Text for screen readers. */
  readonly label: string;
  /** Called when the node is chosen, by pointer or key. Absent: it cannot be chosen. */
  readonly onChoose?: () => void;
}

export type MarkKind =
  | 'added'
  | 'changed'
  | 'removed'
  | 'constraint-proposed'
  | 'constraint-bound'
  | 'constraint-checked'
  | 'constraint-failed'
  | 'constraint-changed';

export interface Marks {
  /** By node id. */
  readonly nodes: ReadonlyMap<string, readonly Mark[]>;
  /** By place among the graph's edges. */
  readonly edges: ReadonlyMap<number, Mark>;
}

/** Computes the marks of a drawing from its diagram. */
export type MarksOf = (graph: DiagramGraph) => Marks;

/** Also shown in legends and lists. */
export const SIGNS: Readonly<Record<MarkKind, string>> = {
  added: '+',
  changed: '~',
  removed: '−',
  'constraint-proposed': '?',
  'constraint-bound': '○',
  'constraint-checked': '◐',
  'constraint-failed': '✗',
  'constraint-changed': '↻',
};

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';
const RADIUS = 9;
const SHAPES = ':is(rect, polygon, path, circle, ellipse)';

/** Of the shadow root that a drawing stands in. */
export const DRAWING_STYLES = `
:host { display: block; }
svg { display: block; margin: 0 auto; overflow: visible; }
.current ${SHAPES} { stroke-width: 3px !important; }
.marked-added > ${SHAPES}, .marked-added > g:not(.label):not(.mark) ${SHAPES}, path.marked-added { stroke: var(--vscode-charts-green) !important; stroke-width: 3.5px !important; }
.marked-changed > ${SHAPES}, .marked-changed > g:not(.label):not(.mark) ${SHAPES}, path.marked-changed { stroke: var(--vscode-charts-yellow) !important; stroke-width: 3px !important; stroke-dasharray: 9 4 !important; }
.marked-removed > ${SHAPES}, .marked-removed > g:not(.label):not(.mark) ${SHAPES}, path.marked-removed { stroke: var(--vscode-charts-red) !important; stroke-width: 3px !important; stroke-dasharray: 2 4 !important; }
.marked-removed .label text { text-decoration: line-through; }
.mark circle { fill: var(--vscode-editor-background) !important; stroke: var(--vscode-foreground) !important; stroke-width: 1.5px !important; stroke-dasharray: none !important; }
.mark text { fill: var(--vscode-foreground) !important; font: 700 13px system-ui, sans-serif; text-anchor: middle; dominant-baseline: central; text-decoration: none; }
.mark.added circle { stroke: var(--vscode-charts-green) !important; }
.mark.changed circle { stroke: var(--vscode-charts-yellow) !important; }
.mark.removed circle { stroke: var(--vscode-charts-red) !important; }
.mark.constraint-failed circle { stroke: var(--vscode-charts-red) !important; stroke-width: 3px !important; }
.choosable, .with-choice { cursor: pointer; }
.choosable:focus { outline: none; }
.choosable:focus-visible circle { fill: var(--vscode-focusBorder) !important; stroke: var(--vscode-foreground) !important; stroke-width: 3px !important; r: 12px; }
.choosable:focus-visible text { fill: var(--vscode-editor-background) !important; }
`;

/** Draws the marks; the drawing has to be in the page, since places are measured. */
export function drawMarks(
  svg: SVGSVGElement,
  prefix: string,
  graph: DiagramGraph,
  names: DrawingNames,
  marks: Marks,
): void {
  for (const node of graph.nodes) {
    const own = marks.nodes.get(node.id) ?? [];
    const element = own.length === 0 ? null : nodeElement(svg, prefix, node.id, names);
    if (element === null) continue;
    const box = element.getBBox();
    // The corners of a diamond's box lie outside of it, where edges are.
    const top = element.querySelector(':scope > polygon') === null ? box.y : box.y + box.height / 2;
    for (const [index, mark] of own.entries()) {
      const isConstraint = mark.kind.startsWith('constraint');
      if (!isConstraint) element.classList.add(`marked-${mark.kind}`);
      // Constraints on the left, differences on the right, so that both can be seen.
      const down = top + index * 2.2 * RADIUS;
      const drawn = isConstraint ? badge(mark, box.x, down) : badge(mark, box.x + box.width, top);
      makeChoosable(drawn, node.label || node.id, mark);
      element.append(drawn);
    }
    const first = own.find(({ onChoose }) => onChoose !== undefined)?.onChoose;
    if (first === undefined) continue;
    // The whole of a node is easier to hit than its badge.
    element.classList.add('with-choice');
    element.addEventListener('click', first);
  }
  for (const [index, mark] of marks.edges) {
    const path = edgeElement(svg, graph, index, names);
    if (path === null) continue;
    path.classList.add(`marked-${mark.kind}`);
    if (!(path instanceof SVGGeometryElement)) continue;
    // Beside the middle, where the edge's own label stands.
    const { x, y } = path.getPointAtLength(path.getTotalLength() * 0.3);
    const drawn = badge(mark, x, y);
    drawn.setAttribute('aria-hidden', 'true');
    path.parentElement?.append(drawn);
  }
}

/** A badge is the button, so that a node with several constraints has several. */
function makeChoosable(badgeOf: SVGGElement, label: string, { label: words, onChoose }: Mark): void {
  if (onChoose === undefined) {
    // Lists say it in words.
    badgeOf.setAttribute('aria-hidden', 'true');
    return;
  }
  badgeOf.classList.add('choosable');
  badgeOf.setAttribute('tabindex', '0');
  badgeOf.setAttribute('role', 'button');
  badgeOf.setAttribute('aria-label', `${label}: ${words}`);
  badgeOf.dataset['mark'] = words;
  badgeOf.addEventListener('click', (event) => {
    event.stopPropagation();
    onChoose();
  });
  badgeOf.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    onChoose();
  });
}

function badge({ kind, label, onChoose }: Mark, x: number, y: number): SVGGElement {
  const group = document.createElementNS(SVG_NAMESPACE, 'g');
  group.setAttribute('class', `mark ${kind}`);
  group.setAttribute('transform', `translate(${x}, ${y})`);
  const circle = document.createElementNS(SVG_NAMESPACE, 'circle');
  circle.setAttribute('r', String(RADIUS));
  const sign = document.createElementNS(SVG_NAMESPACE, 'text');
  sign.textContent = SIGNS[kind];
  group.append(circle, sign);
  if (onChoose === undefined) {
    // A tip for the pointer; what can be chosen has a name.
    const title = document.createElementNS(SVG_NAMESPACE, 'title');
    title.textContent = label;
    group.prepend(title);
  }
  return group;
}

/** A node's element; `null` where its kind of diagram has no such thing. */
export function nodeElement(
  svg: SVGSVGElement,
  prefix: string,
  id: string,
  { nodes }: DrawingNames,
): SVGGraphicsElement | null {
  const named = Object.hasOwn(nodes, id) ? nodes[id] : undefined;
  const candidates = [
    ...(named === undefined ? [] : [`[id="${CSS.escape(prefix + named)}"]`]),
    `[id="${CSS.escape(prefix + id)}"]`,
    `[id="${CSS.escape(`${prefix}service-${id}`)}"]`,
    `g[data-et="participant"][data-id="${CSS.escape(id)}"]`,
  ];
  for (const selector of candidates) {
    const found = svg.querySelector(selector);
    if (found instanceof SVGGraphicsElement) return found;
  }
  return null;
}

function edgeElement(
  svg: SVGSVGElement,
  graph: DiagramGraph,
  index: number,
  { edges }: DrawingNames,
): SVGElement | null {
  if (graph.type === 'sequence') return svg.querySelectorAll<SVGElement>('[data-et="message"]')[index] ?? null;
  const id = edges[index] ?? '';
  return id === '' ? null : svg.querySelector<SVGElement>(`[data-et="edge"][data-id="${CSS.escape(id)}"]`);
}
