/**
 * What a plan's diagrams demand of the code: routes from flowcharts, components from class, C4 and architecture
 * diagrams, entities from ER diagrams, rules from decisions. Pure; the diagrams come parsed from the Mermaid worker.
 */

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

export interface ParsedDiagram {
  readonly type: DiagramType;
  /** Line of the plan, from 1, that holds the diagram's first line. */
  readonly firstLine: number;
  readonly nodes: readonly DiagramNode[];
  readonly edges: readonly DiagramEdge[];
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

/**
 * One rule for each node: a decision demands its branches, and a route that no decision leads to demands itself
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
