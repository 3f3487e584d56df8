/**
 * Draws diagrams in a frame of its own origin, which browsers that isolate sandboxed frames give a process of its own: what
 * hangs there is ended by taking the frame away, and the page goes on meanwhile. A drawing that takes long gives way to the
 * others and is begun again with more time, as long as somebody looks at it. Where the frame shares the page's thread, nothing
 * could end it, so that only what is quickly drawn is begun.
 */
import type { DiagramGraph } from '@autonomous/shared/diagram';
import { MAX_START_MS, openFrame, type SandboxedFrame } from '../sandboxed-frame.ts';

/** As much as the server takes of a plan's diagrams. */
const MAX_BYTES = 50_000;
/** Time of a diagram's first turn, on a machine that runs tests as well; each further turn is three times as long. */
const FIRST_TURN_MS = 5_000;
/** Characters of all drawings that are kept. */
const KEPT_CHARACTERS = 20_000_000;
/** Mermaid's own limit. */
const MAX_EDGES = 500;
/** More than this takes the page itself too long to show. */
const MAX_SVG_CHARACTERS = 4_000_000;
/** Without a process of its own: what is drawn in well under three seconds, whatever its kind. */
const SHARED_LIMITS = { bytes: 6_000, lines: 120, lineCharacters: 400, depth: 8, edges: 60 };
/** Long enough to be seen by a page that is not disturbed, short enough not to be felt where it is. */
const SPIN_MS = [60, 250, 1_000];

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

export interface DrawOptions {
  /** The server has made the diagram, of a workflow: it is no agent's text. Default: it is one. */
  readonly isOwn?: boolean;
  /** Aborts when the diagram is no longer on screen. Default: it always is. */
  readonly signal?: AbortSignal;
}

export interface Drawer {
  /**
   * Draws one diagram at a time, beginning with those that had the least time. A diagram is drawn once in each look and kept. A
   * drawing is abandoned only when it is no longer on screen: its promise never settles, and it can be requested again.
   * @throws {Error} saying why it cannot be drawn
   */
  draw(source: string, look: Look, options?: DrawOptions): Promise<Drawn>;
}

/** Frame in which diagrams are drawn. `isIsolated`: the page goes on whatever happens in it. */
export interface DrawingPlace {
  readonly frame: SandboxedFrame<DrawingRequest, DrawingReply>;
  readonly isIsolated: boolean;
}

interface Job {
  readonly key: string;
  readonly source: string;
  readonly look: Look;
  readonly isOwn: boolean;
  readonly drawn: PromiseWithResolvers<Drawn>;
  /** Number of callers that still show the diagram. */
  viewers: number;
  turnMs: number;
}

export function createDrawer(open: () => Promise<DrawingPlace>): Drawer {
  /** Diagrams that are to be drawn, by source and look. */
  const jobs = new Map<string, Job>();
  const cache = createDrawingCache();
  const waiting: Job[] = [];
  let current: Job | null = null;
  let place: DrawingPlace | null = null;
  let isInterrupted = false;
  let lastId = 0;

  const endFrame = (): void => {
    place?.frame.end();
    place = null;
  };
  /** Interrupts the current turn, unless it is the diagram's first: another diagram waits, or this one left the screen. */
  const interrupt = ({ turnMs }: Job): void => {
    if (turnMs === FIRST_TURN_MS) return;
    isInterrupted = true;
    endFrame();
  };

  function begin(job: Job): void {
    jobs.set(job.key, job);
    waiting.push(job);
    if (current === null) void drawAll();
    else interrupt(current);
  }

  async function drawAll(): Promise<void> {
    while (waiting.length > 0) {
      waiting.sort((one, other) => one.turnMs - other.turnMs);
      const job = waiting.shift();
      if (job === undefined) return;
      current = job;
      isInterrupted = false;
      try {
        const drawn = await drawInTurn(job);
        if (drawn !== null) finish(job, () => job.drawn.resolve(cache.keep(job.key, drawn)));
        else if (job.viewers === 0) jobs.delete(job.key);
        else waiting.push(job);
      } catch (error) {
        finish(job, () => job.drawn.reject(error));
      }
    }
    current = null;
  }

  function finish(job: Job, settle: () => void): void {
    jobs.delete(job.key);
    settle();
  }

  /** @returns `null` where its turn was over before it was drawn */
  async function drawInTurn(job: Job): Promise<Drawn | null> {
    const { source, look, isOwn, turnMs } = job;
    place ??= await open();
    const { frame, isIsolated } = place;
    const fault = isIsolated || isOwn ? null : sharedThreadFault(source);
    if (fault !== null) throw new Error(`${fault}, and this browser could not stop a drawing that takes too long`);
    const id = ++lastId;
    const maxEdges = isIsolated || isOwn ? MAX_EDGES : SHARED_LIMITS.edges;
    const reply = await frame.ask(
      { kind: 'draw', id, source, look, maxEdges },
      (given) => (given.kind === 'drawn' || given.kind === 'refused') && given.id === id,
      turnMs,
    );
    if (reply === null) {
      endFrame();
      if (!isInterrupted) job.turnMs *= 3;
      return null;
    }
    if (reply.kind !== 'drawn') throw new Error(reply.kind === 'refused' ? reply.reason : 'the frame did not answer');
    if (reply.svg.length > MAX_SVG_CHARACTERS) throw new Error('the drawing is too large to be shown');
    return { svg: reply.svg, graph: reply.graph, names: reply.names, prefix: `drawing-${id}-` };
  }

  function leave(job: Job): void {
    job.viewers -= 1;
    if (job.viewers > 0) return;
    const at = waiting.indexOf(job);
    if (at !== -1) {
      waiting.splice(at, 1);
      jobs.delete(job.key);
    } else if (job === current) interrupt(job);
  }

  return {
    draw(source, look, { isOwn = false, signal } = {}) {
      const bytes = new TextEncoder().encode(source).length;
      if (bytes > MAX_BYTES) {
        return Promise.reject(new Error(`it has ${bytes} bytes; at most ${MAX_BYTES} are drawn`));
      }
      const key = JSON.stringify([source, look, isOwn]);
      const known = cache.find(key);
      if (known !== undefined) return Promise.resolve(known);
      const drawn = Promise.withResolvers<Drawn>();
      const job = jobs.get(key) ?? { key, source, look, isOwn, drawn, viewers: 0, turnMs: FIRST_TURN_MS };
      job.viewers += 1;
      if (!jobs.has(key)) begin(job);
      signal?.addEventListener('abort', () => leave(job), { once: true });
      return job.drawn.promise;
    },
  };
}

/** Keeps the drawings that were used last, by source and look. */
function createDrawingCache() {
  const kept = new Map<string, Drawn>();
  const keep = (key: string, drawn: Drawn): Drawn => {
    kept.delete(key);
    kept.set(key, drawn);
    let characters = [...kept.values()].reduce((sum, { svg }) => sum + svg.length, 0);
    for (const [oldest, { svg }] of kept) {
      if (characters <= KEPT_CHARACTERS) break;
      kept.delete(oldest);
      characters -= svg.length;
    }
    return drawn;
  };
  const find = (key: string): Drawn | undefined => {
    const drawn = kept.get(key);
    return drawn && keep(key, drawn);
  };
  return { keep, find };
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

/**
 * Opens a frame for a drawer.
 * @param program gives that of drawing-frame.ts, as one text
 * @param nonce by which the page's policy lets that program run
 */
export async function openDrawingFrame(program: () => Promise<string>, nonce: string): Promise<DrawingPlace> {
  const frame = await openFrame<DrawingRequest, DrawingReply>({
    program: await program(),
    nonce,
    page: document,
    title: 'Where diagrams are drawn',
    isReady: ({ kind }) => kind === 'ready',
  });
  return { frame, isIsolated: await hasThreadOfItsOwn(frame.ask) };
}

/** Whether the page goes on while the frame is busy. A page that is slow for another reason is asked again. */
async function hasThreadOfItsOwn(ask: DrawingPlace['frame']['ask']): Promise<boolean> {
  for (const ms of SPIN_MS) {
    const ticks: number[] = [];
    const ticking = setInterval(() => ticks.push(Date.now()), 4);
    const spun = await ask({ kind: 'spin', ms }, ({ kind }) => kind === 'spun', MAX_START_MS);
    clearInterval(ticking);
    if (spun?.kind === 'spun' && ticks.some((tick) => tick > spun.from && tick < spun.to)) return true;
  }
  return false;
}
