/**
 * Draws diagrams in a frame of its own origin, which browsers that isolate sandboxed frames give a process of its own: what
 * hangs there is ended by taking the frame away, and the page goes on meanwhile. Where the frame shares the page's thread,
 * nothing could end it, so that only what is quickly drawn is begun.
 */
import type { DiagramGraph } from '@autonomous/shared/diagram';

/** As much as the server takes of a plan's diagrams. */
const MAX_BYTES = 50_000;
const MAX_MS = 3_000;
/** Of a diagram that the server itself has made: it ends by itself, on a busy machine as well. */
const OWN_MAX_MS = 30_000;
/** Mermaid's own limit. */
const MAX_EDGES = 500;
/** The frame loads several megabytes of program, on a machine that may be busy. */
const MAX_START_MS = 30_000;
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
  let frame: Frame | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  let lastId = 0;

  const drawInTurn = async (source: string, look: Look, isOwn: boolean): Promise<Drawn> => {
    frame ??= await openFrame(await program(), nonce, page);
    const { isIsolated } = frame;
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
      frame = null;
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

interface Frame {
  /** It has a thread of its own: the page goes on whatever happens in it. */
  readonly isIsolated: boolean;
  /** @returns `null` where no such reply came in time */
  ask(request: DrawingRequest, isReply: (reply: DrawingReply) => boolean, maxMs: number): Promise<DrawingReply | null>;
  end(): void;
}

/** Loads the program it is sent, once; it can load nothing else, from anywhere. */
const frameHtml = (nonce: string): string => `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-${nonce}'; style-src 'unsafe-inline'">
<title>Drawing</title></head><body><script nonce="${nonce}">
addEventListener('message', ({ data, source }) => {
  if (source !== parent) return;
  const script = document.createElement('script');
  script.nonce = '${nonce}';
  script.textContent = data;
  document.head.append(script);
}, { once: true });
parent.postMessage({ kind: 'loaded' }, '*');
</script></body></html>`;

async function openFrame(program: string, nonce: string, page: Document): Promise<Frame> {
  const element = page.createElement('iframe');
  // Scripts and nothing else: no origin of the page, no forms, no windows, no way to move the page elsewhere.
  element.setAttribute('sandbox', 'allow-scripts');
  element.setAttribute('aria-hidden', 'true');
  element.tabIndex = -1;
  element.title = 'Where diagrams are drawn';
  element.className = 'drawing-room';
  element.srcdoc = frameHtml(nonce);
  const ended = new AbortController();
  const heard = <Reply>(isReply: (reply: Reply) => boolean, maxMs: number): Promise<Reply | null> =>
    new Promise((resolve) => {
      const settle = (reply: Reply | null): void => {
        clearTimeout(timer);
        window.removeEventListener('message', onMessage);
        resolve(reply);
      };
      const onMessage = ({ data, source }: MessageEvent): void => {
        if (source !== element.contentWindow || typeof data !== 'object' || data === null) return;
        // From our own frame; whatever it says is read with care, since diagrams are drawn there.
        if (isReply(data as Reply)) settle(data as Reply);
      };
      const timer = setTimeout(() => settle(null), maxMs);
      ended.signal.addEventListener('abort', () => settle(null), { once: true });
      window.addEventListener('message', onMessage);
    });
  const post = (message: DrawingRequest | string): void => element.contentWindow?.postMessage(message, '*');
  const ask: Frame['ask'] = (request, isReply, maxMs) => {
    const reply = heard<DrawingReply>(isReply, maxMs);
    post(request);
    return reply;
  };
  const end = (): void => {
    ended.abort();
    element.remove();
  };

  const loaded = heard<{ readonly kind: string }>(({ kind }) => kind === 'loaded', MAX_START_MS);
  page.body.append(element);
  await loaded;
  const ready = heard<DrawingReply>(({ kind }) => kind === 'ready', MAX_START_MS);
  post(program);
  if ((await ready) === null) {
    end();
    throw new Error('the frame that it is drawn in did not start');
  }
  return { isIsolated: await hasThreadOfItsOwn(ask), ask, end };
}

/** Whether the page goes on while the frame is busy. A page that is slow for another reason is asked twice. */
async function hasThreadOfItsOwn(ask: Frame['ask']): Promise<boolean> {
  for (const ms of SPIN_MS) {
    const ticks: number[] = [];
    const ticking = setInterval(() => ticks.push(Date.now()), 4);
    const spun = await ask({ kind: 'spin', ms }, ({ kind }) => kind === 'spun', MAX_START_MS);
    clearInterval(ticking);
    if (spun?.kind === 'spun' && ticks.some((tick) => tick > spun.from && tick < spun.to)) return true;
  }
  return false;
}
