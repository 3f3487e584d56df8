/**
 * The worker thread that runs Mermaid: one text in, nodes and edges or the parser's complaint out.
 * Mermaid wants a browser; linkedom gives as much of one as its parsers need. Rendering never happens here.
 */
import { parentPort } from 'node:worker_threads';
import { parseHTML } from 'linkedom';
import type { MermaidConfig } from 'mermaid';
import { type DiagramGraph, readDiagram } from '@autonomous/shared/diagram';
import { complaintOf, type ParserComplaint } from '@autonomous/shared/presentation';

export interface WorkerRequest {
  readonly id: number;
  readonly text: string;
}

export type WorkerReply =
  | { readonly kind: 'ready' }
  | ({ readonly kind: 'parsed'; readonly id: number } & DiagramGraph)
  | { readonly kind: 'refused'; readonly id: number; readonly complaint: ParserComplaint };

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
    send({ kind: 'parsed', id: request.id, ...readDiagram(diagram.type, diagram.db) });
  } catch (error) {
    send({ kind: 'refused', id: request.id, complaint: complaintOf(error) });
  }
});
send({ kind: 'ready' });

function send(reply: WorkerReply): void {
  port?.postMessage(reply);
}
