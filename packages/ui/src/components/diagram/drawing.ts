/**
 * Draws diagrams in a frame of its own origin, which browsers that isolate sandboxed frames give a process of its own: what
 * hangs there is ended by taking the frame away, and the page goes on meanwhile. Where the frame shares the page's thread,
 * nothing could end it, so that only what is quickly drawn is begun.
 */
import type { DiagramGraph } from '@autonomous/shared/diagram';
import { MAX_START_MS, openFrame, type SandboxedFrame } from '../sandboxed-frame.ts';

/** As much as the server takes of a plan's diagrams. */
const MAX_BYTES = 50_000;
const MAX_MS = 3_000;
/** Of a diagram that the server itself has made: it ends by itself, on a busy machine as well. */
const OWN_MAX_MS = 30_000;
/** Mermaid's own limit. */
const MAX_EDGES = 500;
/** More than this takes the page itself too long to show. */
const MAX_SVG_CHARACTERS = 4_000_000;
/** Without a process of its own: what is drawn in well under three seconds, whatever its kind. */
const SHARED_LIMITS = { bytes: 6_000, lines: 120, lineCharacters: 400, depth: 8, edges: 60 };
/** Long enough to be seen by a page that is not disturbed, short enough not to be felt where it is. */
const SPIN_MS = [60, 250];

export interface Look {
  readonly isDark: boolean;
  readonly fontFamily: string;
}

export interface Drawn {
  /** As Mermaid wrote it: to be read by `readSvg` before it is shown. */
  readonly svg: string;
  /** The prefix of the ids in it. */
  readonly prefix: string;
  readonly graph: DiagramGraph;
  readonly names: DrawingNames;
}

export interface DrawingNames {
  /** By node id: the id of its element without the prefix. */
  readonly nodes: Readonly<Record<string, string>>;
  /** In the order of the graph's edges: their `data-id`. */
  readonly edges: readonly string[];
}

export type DrawingRequest =
  | {
      readonly kind: 'draw';
      readonly id: number;
      readonly source: string;
      readonly look: Look;
      readonly maxEdges: number;
    }
  | { readonly kind: 'spin'; readonly ms: number };

export type DrawingReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'spun'; readonly from: number; readonly to: number }
  | {
      readonly kind: 'drawn';
      readonly id: number;
      readonly svg: string;
      readonly graph: DiagramGraph;
      readonly names: DrawingNames;
    }
  | { readonly kind: 'refused'; readonly id: number; readonly reason: string };

export interface Drawer {
  /**
   * Calls are taken one after the other; the limit of time counts from a call's own turn.
   * @param isOwn the server has made the diagram, of a workflow: it is no agent's text
   * @throws {Error} saying why it cannot be drawn
   */
  draw(source: string, look: Look, isOwn?: boolean): Promise<Drawn>;
}

/**
 * @param program gives that of drawing-frame.ts, as one text
 * @param nonce by which the page's policy lets that program run
 */
export function createDrawer(program: () => Promise<string>, nonce: string, page: Document = document): Drawer {
  let opened: Awaited<ReturnType<typeof openDrawingFrame>> | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  let lastId = 0;

  const drawInTurn = async (source: string, look: Look, isOwn: boolean): Promise<Drawn> => {
    opened ??= await openDrawingFrame(await program(), nonce, page);
    const { frame, isIsolated } = opened;
    const fault = isIsolated || isOwn ? null : sharedThreadFault(source);
    if (fault !== null) throw new Error(`${fault}, and this browser could not stop a drawing that takes too long`);
    const id = ++lastId;
    const maxMs = isOwn ? OWN_MAX_MS : MAX_MS;
    const maxEdges = isIsolated || isOwn ? MAX_EDGES : SHARED_LIMITS.edges;
    const reply = await frame.ask(
      { kind: 'draw', id, source, look, maxEdges },
      (given) => (given.kind === 'drawn' || given.kind === 'refused') && given.id === id,
      maxMs,
    );
    if (reply === null) {
      frame.end();
      opened = null;
      throw new Error(`it took longer than ${maxMs / 1_000} s`);
    }
    if (reply.kind !== 'drawn') throw new Error(reply.kind === 'refused' ? reply.reason : 'the frame did not answer');
    if (reply.svg.length > MAX_SVG_CHARACTERS) throw new Error('the drawing is too large to be shown');
    return { svg: reply.svg, graph: reply.graph, names: reply.names, prefix: `drawing-${id}-` };
  };

  return {
    draw(source, look, isOwn = false) {
      const bytes = new TextEncoder().encode(source).length;
      if (bytes > MAX_BYTES) {
        return Promise.reject(new Error(`it has ${bytes} bytes; at most ${MAX_BYTES} are drawn`));
      }
      const mine = turn.then(() => drawInTurn(source, look, isOwn));
      turn = mine.catch(() => undefined);
      return mine;
    },
  };
}

const OPENS_A_BOX = /^(?:subgraph|state\b.*\{|namespace\b.*\{|\w*_?[Bb]oundary\b.*\{)/;

/** Why a diagram is not begun on the page's own thread; `null` where it is small enough. */
export function sharedThreadFault(source: string): string | null {
  const lines = source.split(/[\n;]/);
  const longest = Math.max(...lines.map((line) => line.length));
  const nested = source.split('\n').filter((line) => OPENS_A_BOX.test(line.trimStart())).length;
  if (source.length > SHARED_LIMITS.bytes) return `it has more than ${SHARED_LIMITS.bytes} characters`;
  if (lines.length > SHARED_LIMITS.lines) return `it has more than ${SHARED_LIMITS.lines} lines`;
  if (longest > SHARED_LIMITS.lineCharacters)
    return `a line of it has more than ${SHARED_LIMITS.lineCharacters} characters`;
  if (nested > SHARED_LIMITS.depth) return `it has more than ${SHARED_LIMITS.depth} groups`;
  return null;
}

type DrawingFrame = SandboxedFrame<DrawingRequest, DrawingReply>;

/** A frame in which diagrams are drawn, and whether the page goes on whatever happens in it. */
async function openDrawingFrame(
  program: string,
  nonce: string,
  page: Document,
): Promise<{ readonly frame: DrawingFrame; readonly isIsolated: boolean }> {
  const frame = await openFrame<DrawingRequest, DrawingReply>({
    program,
    nonce,
    page,
    title: 'Where diagrams are drawn',
    isReady: ({ kind }) => kind === 'ready',
  });
  return { frame, isIsolated: await hasThreadOfItsOwn(frame.ask) };
}

/** Whether the page goes on while the frame is busy. A page that is slow for another reason is asked twice. */
async function hasThreadOfItsOwn(ask: DrawingFrame['ask']): Promise<boolean> {
  for (const ms of SPIN_MS) {
    const ticks: number[] = [];
    const ticking = setInterval(() => ticks.push(Date.now()), 4);
    const spun = await ask({ kind: 'spin', ms }, ({ kind }) => kind === 'spun', MAX_START_MS);
    clearInterval(ticking);
    if (spun?.kind === 'spun' && ticks.some((tick) => tick > spun.from && tick < spun.to)) return true;
  }
  return false;
}
