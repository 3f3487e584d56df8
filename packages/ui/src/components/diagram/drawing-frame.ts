/**
 * The program of the frame that diagrams are drawn in: Mermaid, and nothing of ours that would matter if a diagram got the
 * better of it. It is built into one text and handed to the frame; see drawing.ts.
 */
import { readDiagram } from '@autonomous/shared/diagram';
import { complaintOf, explainParserError } from '@autonomous/shared/presentation';
import mermaid from 'mermaid';
import type { DrawingReply, DrawingRequest } from './drawing.ts';

/** Settings that neither a diagram's directives nor its front matter may change. */
const SECURE = [
  'secure',
  'securityLevel',
  'startOnLoad',
  'maxTextSize',
  'maxEdges',
  'suppressErrorRendering',
  'htmlLabels',
  'layout',
  'themeCSS',
  'fontFamily',
  'altFontFamily',
  'dompurifyConfig',
  'legacyMathML',
  'forceLegacyMathML',
];

addEventListener('message', ({ data, source }) => {
  if (source !== parent) return;
  // The parent of this frame is the page that made it.
  const request = data as DrawingRequest;
  if (request.kind === 'spin') return spin(request.ms);
  draw(request).then(answer, (error: unknown) =>
    answer({ kind: 'refused', id: request.id, reason: reasonOf(request.source, error) }),
  );
});
// The first drawing costs most, on a busy machine more than a diagram is given: it is one of ours, and part of the start.
const FIRST = { kind: 'draw', id: 0, source: 'flowchart TD\n  a["a"] --> b{"b"}', maxEdges: 1 } as const;
void draw({ ...FIRST, look: { isDark: false, fontFamily: 'sans-serif' } })
  .catch(() => undefined)
  .then(() => answer({ kind: 'ready' }));

function answer(reply: DrawingReply): void {
  // The page's origin is not known in here; what is said holds nothing but the drawing.
  parent.postMessage(reply, '*');
}

/** Keeps this thread busy, for the page to see whether it is its own as well. */
function spin(ms: number): void {
  const from = Date.now();
  while (Date.now() - from < ms);
  answer({ kind: 'spun', from, to: Date.now() });
}

async function draw({ id, source, look, maxEdges }: Extract<DrawingRequest, { kind: 'draw' }>): Promise<DrawingReply> {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    secure: SECURE,
    maxEdges,
    // Mermaid's other one is 8 MB large and not in this bundle.
    layout: 'dagre',
    theme: look.isDark ? 'dark' : 'default',
    fontFamily: look.fontFamily,
    // Labels as text of the SVG: HTML in it would need styles of its own.
    htmlLabels: false,
    flowchart: { useMaxWidth: false },
    state: { useMaxWidth: false },
    sequence: { useMaxWidth: false },
    class: { useMaxWidth: false },
    er: { useMaxWidth: false },
    suppressErrorRendering: true,
  });
  // oxlint-disable-next-line typescript/no-deprecated -- it is the only way to a diagram's nodes and edges, and the version is pinned
  const { type, db } = await mermaid.mermaidAPI.getDiagramFromText(source);
  const { svg } = await mermaid.render(`drawing-${id}`, source);
  return { kind: 'drawn', id, svg, graph: readDiagram(type, db), names: namesIn(db) };
}

/** Returns the elements of the drawing by node and edge, as far as Mermaid states them: ids without the drawing's own prefix. */
function namesIn(db: unknown): { readonly nodes: Record<string, string>; readonly edges: readonly string[] } {
  const { getData } = db as {
    getData?: () => {
      readonly nodes: readonly { readonly id: string; readonly domId?: string }[];
      readonly edges: readonly { readonly id?: string }[];
    };
  };
  if (typeof getData !== 'function') return { nodes: {}, edges: [] };
  const data = getData.call(db);
  return {
    nodes: Object.fromEntries(data.nodes.map(({ id, domId }) => [id, domId ?? id])),
    edges: data.edges.map(({ id }) => id ?? ''),
  };
}

/** Says the same of a diagram as the server does at the gate of its plan. */
function reasonOf(source: string, error: unknown): string {
  const { line, problem } = explainParserError(source, complaintOf(error));
  return line === null ? problem : `line ${line}: ${problem}`;
}
