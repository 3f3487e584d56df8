/**
 * The worker thread that runs Mermaid: one text in, nodes and edges or the parser's complaint out.
 * Mermaid wants a browser; linkedom gives as much of one as its parsers need. Rendering never happens here.
 */
import { parentPort } from 'node:worker_threads';
import { parseHTML } from 'linkedom';
import type { MermaidConfig } from 'mermaid';
import { type DiagramEdge, type DiagramNode, type DiagramType, plainLabel } from './constraints.ts';
import type { ParserComplaint } from './mermaid-fault.ts';

export interface WorkerRequest {
  readonly id: number;
  readonly text: string;
}

export type WorkerReply =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'parsed';
      readonly id: number;
      readonly type: DiagramType;
      readonly nodes: readonly DiagramNode[];
      readonly edges: readonly DiagramEdge[];
    }
  | { readonly kind: 'refused'; readonly id: number; readonly complaint: ParserComplaint };

/**
 * What is read of Mermaid's diagram databases. Each type of diagram has its own subset and Mermaid's public types name
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

type Graph = {
  readonly type: DiagramType;
  readonly nodes: readonly DiagramNode[];
  readonly edges: readonly DiagramEdge[];
};

const port = parentPort;
if (port === null) throw new Error('mermaid-worker is started as a worker thread by mermaid.ts');

// linkedom types its window as a browser's, which this package does not know.
const openPage: (html: string) => { readonly window: unknown; readonly document: unknown } = parseHTML;
const browser = openPage('<html><body></body></html>');
Object.assign(globalThis, { window: browser.window, document: browser.document });
// Mermaid looks for its browser when it is loaded, so it is loaded after the browser is there.
const { default: mermaid } = await import('mermaid');
const strict: MermaidConfig = {
  startOnLoad: false,
  securityLevel: 'strict',
  logLevel: 'fatal',
  suppressErrorRendering: true,
  maxEdges: 2_000,
};
mermaid.initialize(strict);
// Mermaid registers its diagram types at the first parse and at nothing else.
await mermaid.parse('flowchart TD\n  ready');

port.on('message', async (request: WorkerRequest) => {
  try {
    // Unlike `parse`, this does not apply what a diagram's directives and front matter ask for.
    // oxlint-disable-next-line typescript/no-deprecated -- it is the only way to a diagram's nodes and edges, and the version is pinned
    const diagram = await mermaid.mermaidAPI.getDiagramFromText(request.text);
    send({ kind: 'parsed', id: request.id, ...graphOf(diagram.type, diagram.db) });
  } catch (error) {
    send({ kind: 'refused', id: request.id, complaint: complaintOf(error) });
  }
});
send({ kind: 'ready' });

function send(reply: WorkerReply): void {
  port?.postMessage(reply);
}

function graphOf(type: string, untyped: unknown): Graph {
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

function complaintOf(error: unknown): ParserComplaint {
  const { message, hash } = error as {
    message?: unknown;
    hash?: { token?: unknown; loc?: { first_line?: unknown }; expected?: unknown };
  };
  const line = hash?.loc?.first_line;
  return {
    message: String(message ?? error).slice(0, 2_000),
    line: typeof line === 'number' ? line : null,
    token: hash?.token === undefined ? null : String(hash.token).slice(0, 100),
    expected: Array.isArray(hash?.expected) ? hash.expected.slice(0, 50).map(String) : [],
  };
}
