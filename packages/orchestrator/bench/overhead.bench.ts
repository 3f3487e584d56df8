/**
 * Measures the orchestrator's own cost in the demo's run: real git, real bubblewrap, and a scripted model that answers
 * at once, so that the rest beside git and the sandboxes is our own.
 *
 * transitionP95Ms: from an input to the disk, machine and database · ownMs: neither git nor a sandbox was under way ·
 * gitMs, sandboxMs: at least one call was under way; they overlap. Each is the median of its runs.
 */
import { DEMO_SCRIPT, startDemoServer } from '../test/fixtures/demo-server.fixture.ts';
import type { ActivityTools } from '../src/activities/tools.ts';
import type { CommandRequest } from '../src/sandboxes/sandbox.ts';
import type { BenchResult } from './bench.ts';

export const name = 'overhead';
export const description =
  "the demo's run: transitions, git, sandboxed commands, and what the orchestrator itself adds";

const RUNS = 3;

/** What took time, as it began and ended. */
interface Span {
  readonly kind: string;
  /** Milliseconds of one clock. */
  readonly from: number;
  readonly to: number;
}

export async function run(): Promise<BenchResult> {
  const measured = [];
  for (let count = 0; count < RUNS; count++) measured.push(await measureRun());
  const spans = measured.flatMap((each) => each.spans);
  return {
    table: {
      columns: [`kind, of ${RUNS} runs`, 'calls', 'total ms', 'p50 ms', 'p95 ms'],
      rows: [...Map.groupBy(spans, (span) => span.kind)]
        .map(([kind, of]) => [kind, of.length, ...figuresOf(of)] as const)
        .toSorted((a, b) => b[2] - a[2]),
    },
    figures: {
      transitionP95Ms: medianOf(measured.map(({ spans: of }) => percentile(durations(of, 'transition'), 95))),
      ownMs: medianOf(measured.map(({ from, to, spans: of }) => to - from - covered(of.filter(isForeign), from, to))),
      gitMs: medianOf(measured.map(({ from, to, spans: of }) => covered(of.filter(isGit), from, to))),
      sandboxMs: medianOf(measured.map(({ from, to, spans: of }) => covered(of.filter(isSandbox), from, to))),
    },
  };
}

/** One run on a server of its own, from the request to its end as a client hears of it. */
async function measureRun(): Promise<{ readonly from: number; readonly to: number; readonly spans: readonly Span[] }> {
  const spans: Span[] = [];
  const add = (kind: string, from: number): void => void spans.push({ kind, from, to: performance.now() });
  const server = await startDemoServer(
    { AUTONOMOUS_SCRIPT: DEMO_SCRIPT },
    { instrument: (tools) => instrumented(tools, add), onStep: (ms) => add('transition', performance.now() - ms) },
  );
  try {
    const from = performance.now();
    const { status, gate } = await server.finish((await server.launch()).id);
    const to = performance.now();
    if (status !== 'completed') throw new Error(`The run is ${status}${gate ? `: ${gate.summary}` : ''}.`);
    // What was before is the set-up; what comes later is the last record in git.
    return { from, to, spans: spans.filter((span) => span.from >= from && span.from < to) };
  } finally {
    await server.stop();
  }
}

/** The same ports, each call of which leaves a span. */
function instrumented(tools: ActivityTools, add: (kind: string, from: number) => void): ActivityTools {
  const { sandboxes } = tools;
  return {
    ...tools,
    repository: timed(tools.repository, (method) => `git ${method}`, add),
    agent: timed(tools.agent, (method) => `agent ${method}`, add),
    parser: timed(tools.parser, (method) => `parser ${method}`, add),
    sandboxes: {
      name: sandboxes.name,
      availability: () => sandboxes.availability(),
      open: async (spec) => {
        const from = performance.now();
        const sandbox = await sandboxes.open(spec);
        add('sandbox open', from);
        return timed(sandbox, (method, [request]) => kindOfSandboxCall(method, request), add);
      },
    },
  };
}

/** The demo's script runs no command but the project's tests; everything else are file tools. */
function kindOfSandboxCall(method: string, request: unknown): string {
  if (method !== 'run') return `sandbox ${method}`;
  return (request as CommandRequest).command === 'npm test' ? 'sandbox npm test' : 'sandbox file tool';
}

function timed<Port extends object>(
  port: Port,
  kindOf: (method: string, args: readonly unknown[]) => string,
  add: (kind: string, from: number) => void,
): Port {
  return new Proxy(port, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return async (...args: readonly unknown[]) => {
        const from = performance.now();
        try {
          return (await Reflect.apply(value, target, args)) as unknown;
        } finally {
          add(kindOf(String(property), args), from);
        }
      };
    },
  });
}

const isGit = ({ kind }: Span): boolean => kind.startsWith('git ');
const isSandbox = ({ kind }: Span): boolean => kind.startsWith('sandbox ');
const isForeign = (span: Span): boolean => isGit(span) || isSandbox(span);

/** Milliseconds of a time in which at least one of the spans was under way: they overlap. */
function covered(spans: readonly Span[], from: number, to: number): number {
  let total = 0;
  let end = from;
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    total += Math.max(0, Math.min(span.to, to) - Math.max(span.from, end));
    end = Math.max(end, span.to);
  }
  return total;
}

function durations(spans: readonly Span[], kind: string): readonly number[] {
  return spans.filter((span) => span.kind === kind).map(({ from, to }) => to - from);
}

function figuresOf(spans: readonly Span[]): readonly [total: number, p50: number, p95: number] {
  const ms = spans.map(({ from, to }) => to - from);
  return [rounded(ms.reduce((sum, each) => sum + each, 0)), percentile(ms, 50), percentile(ms, 95)];
}

/** The smallest value that is not exceeded by so many percent of them. */
function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return rounded(sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? 0);
}

function medianOf(values: readonly number[]): number {
  return percentile(values, 50);
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
