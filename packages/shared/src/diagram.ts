/**
 * Reads a plan's diagrams and the constraints that they put on the code: routes from flowcharts, components from class,
 * C4 and architecture diagrams, entities from ER diagrams, rules from decisions. Pure: the server uses it to derive the
 * constraints of a run, and screens use it to show them.
 */

import type { ConstraintFinding } from './run.ts';

export interface DiagramNode {
  readonly id: string;
  /** Plain text on one line: markup removed, entities decoded. Still hostile: escape it wherever it is shown. */
  readonly label: string;
  /** Mermaid's shape in flowcharts, else what the node is: `class`, `entity`, `state`, `container`, `person` … */
  readonly shape: string;
}

export interface DiagramEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/** `other`: valid Mermaid of a type from which nothing is read. */
export type DiagramType =
  | 'flowchart'
  | 'sequence'
  | 'class'
  | 'state'
  | 'er'
  | 'c4'
  | 'architecture'
  | 'requirement'
  | 'other';

/** A type and no interface, so that it can be sent between threads and frames as plain data. */
export type DiagramGraph = {
  readonly type: DiagramType;
  readonly nodes: readonly DiagramNode[];
  readonly edges: readonly DiagramEdge[];
};

export interface ParsedDiagram extends DiagramGraph {
  /** Line of the plan, from 1, that holds the diagram's first line. */
  readonly firstLine: number;
}

export type ValidationRule =
  | { readonly type: 'route_exists'; readonly route: string }
  | { readonly type: 'conditional_branch'; readonly from: string; readonly to: readonly string[] };

/** A type and no interface, so that it is a JSON value to the type checker too. */
export type ParsedConstraints = {
  readonly requiredRoutes: readonly string[];
  readonly requiredComponents: readonly string[];
  readonly dataEntities: readonly string[];
  readonly validationRules: readonly ValidationRule[];
};

/** A requirement of a plan that the code is checked for. */
export type Constraint = Pick<ConstraintFinding, 'kind' | 'name'>;

const DECISION_SHAPES: ReadonlySet<string> = new Set(['diamond', 'diam', 'decision', 'question']);

/** The constraints of all diagrams of a plan together, each named once, in the order in which they stand there. */
export function extractConstraints(diagrams: readonly ParsedDiagram[]): ParsedConstraints {
  const routes = new Set<string>();
  const components = new Set<string>();
  const entities = new Set<string>();
  const rules = new Map<string, ValidationRule>();

  for (const diagram of diagrams) {
    const labels = diagram.nodes.map((node) => node.label).filter((label) => label !== '');
    switch (diagram.type) {
      case 'flowchart':
        for (const node of diagram.nodes.filter((candidate) => candidate.label !== '')) {
          if (isDecision(node)) {
            const check = checkComponentOf(node.label);
            if (check !== null) components.add(check);
          } else {
            routes.add(node.label);
          }
        }
        for (const rule of flowRules(diagram)) rules.set(JSON.stringify(rule), rule);
        break;
      case 'class':
      case 'architecture':
        for (const label of labels) components.add(label);
        break;
      case 'c4':
        for (const node of diagram.nodes) if (isOwnBuildingBlock(node)) components.add(node.label);
        break;
      case 'er':
        for (const label of labels) entities.add(label);
        break;
      case 'sequence':
      case 'state':
      case 'requirement':
      case 'other':
        break;
      default:
        diagram.type satisfies never;
    }
  }
  return {
    requiredRoutes: [...routes],
    requiredComponents: [...components],
    dataEntities: [...entities],
    validationRules: [...rules.values()],
  };
}

/** The constraints one by one, in the plan's order. `route_exists` rules restate a required route and are not listed again. */
export function constraintsOf(constraints: ParsedConstraints): readonly Constraint[] {
  return [
    ...constraints.requiredRoutes.map((name): Constraint => ({ kind: 'route', name })),
    ...constraints.requiredComponents.map((name): Constraint => ({ kind: 'component', name })),
    ...constraints.dataEntities.map((name): Constraint => ({ kind: 'entity', name })),
    ...constraints.validationRules.flatMap((rule): Constraint[] =>
      rule.type === 'conditional_branch' ? [{ kind: 'branch', name: `${rule.from} → ${rule.to.join(', ')}` }] : [],
    ),
  ];
}

/** Returns the constraints of each node, by node id. Nodes without constraints are left out. */
export function constraintsByNode(diagram: DiagramGraph): ReadonlyMap<string, readonly Constraint[]> {
  const found = new Map<string, readonly Constraint[]>();
  for (const node of diagram.nodes) {
    // A decision's branches are part of what it requires.
    const edges = diagram.edges.filter((edge) => edge.from === node.id);
    const targets = new Set(edges.map((edge) => edge.to));
    const own = constraintsOf(
      extractConstraints([
        { type: diagram.type, firstLine: 1, nodes: [node, ...(isDecision(node) ? others(targets) : [])], edges },
      ]),
    ).filter((constraint) => !isDecision(node) || constraint.kind !== 'route');
    if (own.length > 0) found.set(node.id, own);
  }
  return found;

  function others(ids: ReadonlySet<string>): readonly DiagramNode[] {
    // Other decisions among the targets constraint their own, which is not this node's.
    return diagram.nodes.flatMap((other) => (ids.has(other.id) ? [{ ...other, shape: 'square' }] : []));
  }
}

/**
 * One rule for each node: a decision requires its branches, and a route that no decision leads to requires itself
 * (a route that one leads to is already named by that branch).
 */
function flowRules(diagram: ParsedDiagram): readonly ValidationRule[] {
  const byId = new Map(diagram.nodes.map((node) => [node.id, node]));
  const branches = new Map<string, Set<DiagramNode>>();
  const branchTargets = new Set<string>();
  for (const edge of diagram.edges) {
    const from = byId.get(edge.from);
    const to = byId.get(edge.to);
    if (from === undefined || to === undefined || !isDecision(from)) continue;
    branches.set(from.id, (branches.get(from.id) ?? new Set()).add(to));
    branchTargets.add(to.id);
  }
  return diagram.nodes.flatMap((node): ValidationRule[] => {
    if (node.label === '') return [];
    if (!isDecision(node)) return branchTargets.has(node.id) ? [] : [{ type: 'route_exists', route: node.label }];
    const to = [...(branches.get(node.id) ?? [])].map((target) => target.label).filter((label) => label !== '');
    return to.length === 0 ? [] : [{ type: 'conditional_branch', from: node.label, to: [...new Set(to)] }];
  });
}

function isDecision(node: DiagramNode): boolean {
  return DECISION_SHAPES.has(node.shape);
}

/** People and systems of others are drawn in C4 diagrams, but not built. */
function isOwnBuildingBlock(node: DiagramNode): boolean {
  return node.label !== '' && !node.shape.includes('person') && !node.shape.startsWith('external_');
}

/** Component that carries out a decision: "Authenticated?" → `AuthenticationCheck`; `null` when no word is in the label. */
function checkComponentOf(label: string): string | null {
  const words = label.match(/[\p{L}\p{N}]+/gu) ?? [];
  if (words.length > 1 && /^(?:is|are|has|have|does|do|did|was|can|should)$/i.test(words[0] ?? '')) words.shift();
  if (words.length === 0) return null;
  const last = words.length - 1;
  words[last] = (words[last] ?? '').replace(/ated$/i, 'ation').replace(/i([sz])ed$/i, 'i$1ation');
  return `${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}Check`;
}

/** A Mermaid label as plain text on one line. Runs inside the worker, whose time limit covers it. */
export function plainLabel(label: string): string {
  return decodeEntities(label)
    .replace(/<br\s*\/?>/gi, ' ')
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/\*\*/g, '')
    .replace(/\bfa[a-z]?:fa-[\w-]+/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

const NAMED_ENTITIES: Readonly<Record<string, string>> = {
  quot: '"',
  apos: "'",
  amp: '&',
  lt: '<',
  gt: '>',
  nbsp: ' ',
  colon: ':',
  semi: ';',
};

/** Mermaid turns `#quot;` and `#35;` into marks of its own before it parses, and leaves HTML's `&quot;` as it is. */
function decodeEntities(text: string): string {
  return text.replace(
    /(?:ﬂ°°|&#)(\d{1,7})(?:¶ß|;)|(?:ﬂ°|&)(\w{1,10})(?:¶ß|;)/g,
    (entity, code?: string, name?: string) => {
      if (code !== undefined) return Number(code) <= 0x10ffff ? String.fromCodePoint(Number(code)) : entity;
      return Object.hasOwn(NAMED_ENTITIES, name ?? '') ? (NAMED_ENTITIES[name ?? ''] ?? entity) : entity;
    },
  );
}

/**
 * The parts of Mermaid's diagram databases that are read. Each type of diagram has its own subset and Mermaid's public types name
 * none of them; all of it was checked against the version that this package pins.
 */
interface DiagramDb {
  getVertices(): ReadonlyMap<string, { id: string; text?: string; type?: string }>;
  getSubGraphs(): readonly { id: string }[];
  getEdges(): readonly { start: string; end: string; text?: string }[];
  getClasses(): ReadonlyMap<string, { id: string; label?: string }>;
  getRelations(): readonly { id1: string; id2: string; title?: string }[];
  getEntities(): ReadonlyMap<string, { id: string; label?: string; alias?: string }>;
  getRelationships(): readonly { entityA: string; entityB: string; roleA?: string }[];
  getActors(): ReadonlyMap<string, { name: string; description?: string; type?: string }>;
  getMessages(): readonly { from?: string; to?: string; message?: unknown; type?: number }[];
  getData(): {
    nodes: readonly { id: string; label?: unknown; shape?: string }[];
    edges: readonly { start?: string; end?: string; label?: unknown }[];
  };
  getC4ShapeArray(): readonly { alias: string; label: { text: string }; typeC4Shape: { text: string } }[];
  getRels(): readonly { from: string; to: string; label: { text: string } }[];
  getServices(): readonly { id: string; title?: string; icon?: string }[];
}
interface ArchitectureDb {
  getEdges(): readonly { lhsId: string; rhsId: string; title?: string }[];
}
interface RequirementDb {
  getRequirements(): ReadonlyMap<string, { name: string; type?: string }>;
  getElements(): ReadonlyMap<string, { name: string }>;
  getRelationships(): readonly { src: string; dst: string; type?: string }[];
}

/**
 * Nodes and edges of a diagram as Mermaid has parsed it.
 * @param type Mermaid's own name of the diagram's type
 * @param untyped Mermaid's database of this diagram
 */
export function readDiagram(type: string, untyped: unknown): DiagramGraph {
  const db = untyped as DiagramDb; // see DiagramDb
  if (type.startsWith('flowchart')) {
    const groups = new Set(db.getSubGraphs().map((group) => group.id));
    return {
      type: 'flowchart',
      nodes: [...db.getVertices().values()]
        .filter((vertex) => !groups.has(vertex.id))
        .map((vertex) => node(vertex.id, vertex.text ?? vertex.id, vertex.type ?? 'square')),
      edges: db.getEdges().map((line) => edge(line.start, line.end, line.text)),
    };
  }
  if (type === 'sequence') {
    return {
      type: 'sequence',
      nodes: [...db.getActors().values()].map((actor) =>
        node(actor.name, actor.description ?? actor.name, actor.type ?? 'participant'),
      ),
      edges: db
        .getMessages()
        .flatMap((message) =>
          message.from === undefined || message.to === undefined
            ? []
            : [edge(message.from, message.to, message.message)],
        ),
    };
  }
  if (type.startsWith('class')) {
    return {
      type: 'class',
      nodes: [...db.getClasses().values()].map((item) => node(item.id, item.label ?? item.id, 'class')),
      edges: db.getRelations().map((relation) => edge(relation.id1, relation.id2, relation.title)),
    };
  }
  if (type.startsWith('state')) {
    const data = db.getData();
    return {
      type: 'state',
      nodes: data.nodes.map((state) => node(state.id, state.label ?? state.id, state.shape ?? 'state')),
      edges: data.edges.map((transition) => edge(transition.start ?? '', transition.end ?? '', transition.label)),
    };
  }
  if (type === 'er') {
    return {
      type: 'er',
      nodes: [...db.getEntities()].map(([name, entity]) =>
        node(entity.id, entity.alias || entity.label || name, 'entity'),
      ),
      edges: db.getRelationships().map((relation) => edge(relation.entityA, relation.entityB, relation.roleA)),
    };
  }
  if (type === 'c4') {
    return {
      type: 'c4',
      nodes: db.getC4ShapeArray().map((shape) => node(shape.alias, shape.label.text, shape.typeC4Shape.text)),
      edges: db.getRels().map((relation) => edge(relation.from, relation.to, relation.label.text)),
    };
  }
  if (type === 'architecture') {
    return {
      type: 'architecture',
      nodes: db
        .getServices()
        .map((service) => node(service.id, service.title ?? service.id, service.icon ?? 'service')),
      edges: (untyped as ArchitectureDb).getEdges().map((line) => edge(line.lhsId, line.rhsId, line.title)),
    };
  }
  if (type === 'requirement') {
    const requirements = untyped as RequirementDb; // see DiagramDb
    return {
      type: 'requirement',
      nodes: [
        ...[...requirements.getRequirements().values()].map((item) =>
          node(item.name, item.name, item.type ?? 'requirement'),
        ),
        ...[...requirements.getElements().values()].map((item) => node(item.name, item.name, 'element')),
      ],
      edges: requirements.getRelationships().map((relation) => edge(relation.src, relation.dst, relation.type)),
    };
  }
  return { type: 'other', nodes: [], edges: [] };
}

function node(id: string, label: unknown, shape: string): DiagramNode {
  return { id, label: plainLabel(textOf(label)), shape };
}

function edge(from: string, to: string, label: unknown): DiagramEdge {
  return { from, to, label: plainLabel(textOf(label)) };
}

/** Labels are strings or, in some diagrams, lists of lines. */
function textOf(label: unknown): string {
  if (Array.isArray(label)) return label.map(textOf).join(' ');
  return typeof label === 'string' ? label : '';
}
