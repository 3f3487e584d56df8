/**
 * Parses the diagrams of a plan in a worker thread with a limit on size, time and memory: what a model writes may be
 * anything, and Mermaid's parsers take minutes over some of it. A worker that exceeds a limit is ended and replaced.
 */
import { Worker } from 'node:worker_threads';
import { extractConstraints, type ParsedConstraints, type ParsedDiagram } from '@autonomous/shared/diagram';
import { explainParserError, type ParserComplaint } from '@autonomous/shared/presentation';
import { type DiagramSource, findDiagrams } from './diagram-fences.ts';
import type { WorkerReply, WorkerRequest } from './mermaid-worker.ts';

export type ParsedPlan =
  | { readonly ok: true; readonly diagrams: readonly ParsedDiagram[]; readonly constraints: ParsedConstraints }
  | {
      readonly ok: false;
      /** One or two sentences that name the diagram, the line, what was found and what was expected. */
      readonly message: string;
      /** Line of the plan, from 1; `null` when the fault lies on no line of its own. */
      readonly line: number | null;
      /** Number of the diagram in the plan, from 1; `null` when it is none of them. */
      readonly diagram: number | null;
    };

export interface MermaidParser {
  /**
   * Starts the worker where none runs, so that the next plan need not wait for it. Does not wait for it itself; a failure
   * shows with the next plan, which tries again.
   */
  warmUp(): void;
  /**
   * Parses every `mermaid` fence of a plan, or a bare diagram. Calls are taken one after the other.
   * @param markdown the plan; front matter and other Markdown are passed over
   * @throws {Error} when the worker cannot be started, or the parser was closed
   */
  parse(markdown: string): Promise<ParsedPlan>;
  /** Ends the worker; what is being parsed fails. May be called twice. */
  close(): Promise<void>;
}

/** Bytes of all diagrams of a plan together; Mermaid's own limit for one diagram. */
const MAX_BYTES = 50_000;
/** For all diagrams of a plan together, on a machine that may be busy; the worker's own start is not counted. */
const MAX_PARSE_MS = 10_000;
const MAX_START_MS = 60_000;
/** A worker holds a hundred megabytes: one that has had nothing to parse for so long is ended. */
const IDLE_MS = 120_000;

type Answer = WorkerReply | { readonly kind: 'timed_out' } | { readonly kind: 'crashed'; readonly message: string };

/**
 * A parser whose worker starts with the first plan, or when it is told that one will come, and ends when none has come for
 * a while.
 */
export function createMermaidParser(idleMs: number = IDLE_MS, parseMs: number = MAX_PARSE_MS): MermaidParser {
  let worker: Worker | null = null;
  let resting: NodeJS.Timeout | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let closed = false;
  let lastId = 0;

  function warmUp(): void {
    turn = turn.then(startedWorker).then(rest, () => undefined);
  }

  async function parse(markdown: string): Promise<ParsedPlan> {
    const found = findDiagrams(markdown);
    if (!found.ok) return found;
    const bytes = found.diagrams.reduce((sum, diagram) => sum + Buffer.byteLength(diagram.text), 0);
    if (bytes > MAX_BYTES) {
      return {
        ok: false,
        message: `The plan's diagrams have ${bytes} bytes together and at most ${MAX_BYTES} are parsed; draw less, or split the work into several runs.`,
        line: null,
        diagram: null,
      };
    }
    const mine = turn.then(() => parseDiagrams(found.diagrams));
    turn = mine.then(rest, rest);
    return mine;
  }

  async function parseDiagrams(sources: readonly DiagramSource[]): Promise<ParsedPlan> {
    const diagrams: ParsedDiagram[] = [];
    const running = await startedWorker();
    const deadline = performance.now() + parseMs;
    for (const [index, source] of sources.entries()) {
      const request: WorkerRequest = { id: ++lastId, text: source.text };
      const answer = await ask(running, request, Math.max(deadline - performance.now(), 1));
      if (answer.kind === 'parsed') {
        diagrams.push({ type: answer.type, firstLine: source.firstLine, nodes: answer.nodes, edges: answer.edges });
        continue;
      }
      if (answer.kind === 'refused') return refusal(index + 1, source, answer.complaint);
      await stopWorker();
      if (closed) throw new Error('The Mermaid parser was closed while it parsed a plan.');
      return {
        ok: false,
        message: `Diagram ${index + 1} (line ${source.firstLine} of the plan) ${whyStopped(answer, parseMs)}; draw it smaller and less deeply nested.`,
        line: source.firstLine,
        diagram: index + 1,
      };
    }
    return { ok: true, diagrams, constraints: extractConstraints(diagrams) };
  }

  function rest(): void {
    clearTimeout(resting);
    resting = setTimeout(() => {
      turn = turn.then(stopWorker);
    }, idleMs).unref();
  }

  async function startedWorker(): Promise<Worker> {
    clearTimeout(resting);
    if (closed) throw new Error('The Mermaid parser is closed.');
    if (worker !== null) return worker;
    const starting = startWorker();
    worker = starting;
    // One that ends by itself between two plans is replaced with the next plan.
    starting.once('exit', () => {
      if (worker === starting) worker = null;
    });
    const answer = await ask(starting, null, MAX_START_MS);
    if (answer.kind === 'ready') return starting;
    await stopWorker();
    throw new Error(`The Mermaid worker did not start: ${answer.kind === 'crashed' ? answer.message : answer.kind}`);
  }

  async function stopWorker(): Promise<void> {
    const stopping = worker;
    worker = null;
    await stopping?.terminate();
  }

  async function close(): Promise<void> {
    closed = true;
    clearTimeout(resting);
    await stopWorker();
  }

  return { warmUp, parse, close };
}

function startWorker(): Worker {
  // Only static imports are rewritten by the build, so the ending follows this file's own.
  const file = import.meta.url.endsWith('.ts') ? './mermaid-worker.ts' : './mermaid-worker.js';
  const worker = new Worker(new URL(file, import.meta.url), {
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 256 },
    stdout: true,
    stderr: true,
  });
  // Mermaid writes complaints to the console; they come back as answers, so the streams are only drained.
  worker.stdout.resume();
  worker.stderr.resume();
  // Without a listener an error would end this process; whoever waits for an answer hears of it in `ask`.
  worker.on('error', () => undefined);
  return worker;
}

/** Sends a request, or waits for the start when it is `null`, and gives the first of: reply, crash, time limit. */
function ask(worker: Worker, request: WorkerRequest | null, maxMs: number): Promise<Answer> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle({ kind: 'timed_out' }), maxMs);
    const onMessage = (reply: WorkerReply): void => {
      if (reply.kind === 'ready' || reply.id === request?.id) settle(reply);
    };
    const onError = (error: unknown): void =>
      settle({ kind: 'crashed', message: error instanceof Error ? error.message : String(error) });
    const onExit = (): void => settle({ kind: 'crashed', message: 'it ended' });
    function settle(answer: Answer): void {
      clearTimeout(timer);
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      resolve(answer);
    }
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    if (request !== null) worker.postMessage(request);
  });
}

function refusal(diagram: number, source: DiagramSource, complaint: ParserComplaint): ParsedPlan {
  const fault = explainParserError(source.text, complaint);
  const line = fault.line === null ? null : source.firstLine + fault.line - 1;
  const place =
    line === null
      ? `line ${source.firstLine} of the plan`
      : `line ${fault.line} of the diagram, line ${line} of the plan`;
  return {
    ok: false,
    message: `Diagram ${diagram} (${place}): ${fault.problem}.`,
    line: line ?? source.firstLine,
    diagram,
  };
}

function whyStopped(answer: Answer, parseMs: number): string {
  if (answer.kind === 'timed_out') return `took longer than ${parseMs / 1_000} seconds to parse`;
  const message = answer.kind === 'crashed' ? answer.message : answer.kind;
  return message.includes('memory') ? 'took more memory than its parser is given' : `made its parser end (${message})`;
}
