/**
 * Measures the overhead of our own agent loop against the bare AI SDK: the same model over real HTTP, the same
 * conversation. Model and sandbox answer at once, so that only the client's cost remains. The cost of a sandbox is
 * measured elsewhere.
 *
 * modelCallOverheadP50Ms: one request with all that is done around it, booked and settled in the log of a run on a real disk ·
 * withoutBooksP50Ms: the same without the log · toolCallOverheadP50Ms: one call of a tool, from its name to its result.
 *
 * Options: --rounds N (conversations of each kind, taken in turn; the first of each only warms up)
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { jsonSchema, type ModelMessage, streamText, type ToolSet, tool } from 'ai';
import { setup } from 'xstate';
import { z } from 'zod';
import { createCallMeter } from '../src/activities/agents/call-meter.ts';
import type { AgentRequest, CallMeter } from '../src/agents/agent.ts';
import { createToolLoopAgent } from '../src/agents/tool-loop/tool-loop.ts';
import { createEngine } from '../src/engine/create-engine.ts';
import { openSqliteEventStore } from '../src/event-store/sqlite/sqlite-event-store.ts';
import { createPrices } from '../src/models/prices.ts';
import { createModels } from '../src/models/registry.ts';
import type { Sandbox } from '../src/sandboxes/sandbox.ts';
import { type ActivityContext, ONE_TRY } from '../src/core/activity.ts';
import { activity, defineWorkflow } from '../src/core/definition.ts';
import type { BenchResult } from './bench.ts';
import { readNumbers } from './contest/options.ts';

export const name = 'agents';
export const description = 'our own overhead per model call and per tool call, beside the bare AI SDK';

const MODEL = 'openai-compatible:instant';
/** Model calls of a conversation; each but the last calls one tool. */
const STEPS = 20;
const PROMPT = 'Call: implementer 1\n\nLook again and again.';
/** Each another one: who asks the same again and again is taken for stuck. */
const command = (step: number): string => `ls ${step}`;
const OUTPUT = 'README.md\nsrc\ntest\n';
const INSTRUCTIONS = 'You are the implementer.';

const INSTANT_SANDBOX: Sandbox = {
  provider: 'none',
  run: async () => ({ exitCode: 0, stdout: OUTPUT, stderr: '', timedOut: false, durationMs: 0 }),
  start: async () => {
    throw new Error('no agent here stays');
  },
  sync: async () => undefined,
  dispose: async () => undefined,
};

interface Times {
  readonly model: number[];
  readonly tool: number[];
}
type Kind = 'bare' | 'loop' | 'booked';

export async function run(args: readonly string[]): Promise<BenchResult> {
  const { rounds } = readNumbers(args, { rounds: 16 });
  const folder = await mkdtemp(path.join(tmpdir(), 'bench-agents-'));
  const provider = await startInstantModel();
  try {
    const models = createModels({ keys: {}, baseUrls: { openaiCompatible: provider.url } });
    const times: Record<Kind, Times> = { bare: aTimes(), loop: aTimes(), booked: aTimes() };
    const engine = await startEngine(folder, models, times);
    for (let round = 0; round < rounds; round++) {
      if (round === 1) for (const each of Object.values(times)) each.model.length = each.tool.length = 0;
      await bareConversation(models, times.bare);
      await ownConversation(models, times.loop);
      await engine.conversation();
    }
    await engine.stop();
    const over = (kind: Kind, what: keyof Times, percent: number): number =>
      rounded(percentile(times[kind][what], percent) - percentile(times.bare[what], percent));
    const row = (title: string, kind: Kind) =>
      [
        title,
        ...(['model', 'tool'] as const).flatMap((what) =>
          [50, 95].map((percent) => rounded(percentile(times[kind][what], percent))),
        ),
      ] as const;
    return {
      table: {
        columns: [`of ${(rounds - 1) * STEPS} calls`, 'model p50 ms', 'model p95 ms', 'tool p50 ms', 'tool p95 ms'],
        rows: [row('bare AI SDK', 'bare'), row('our loop', 'loop'), row('our loop, each call booked', 'booked')],
      },
      figures: {
        modelCallOverheadP50Ms: over('booked', 'model', 50),
        modelCallOverheadP95Ms: over('booked', 'model', 95),
        withoutBooksP50Ms: over('loop', 'model', 50),
        toolCallOverheadP50Ms: over('booked', 'tool', 50),
        toolCallOverheadP95Ms: over('booked', 'tool', 95),
      },
    };
  } finally {
    await provider.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

type Models = ReturnType<typeof createModels>;

/** What somebody would write who has nothing but the SDK. */
async function bareConversation(models: Models, times: Times): Promise<void> {
  const { model } = models.resolve(MODEL);
  const inputSchema = jsonSchema({
    type: 'object',
    properties: { command: { type: 'string' } },
    required: ['command'],
  });
  // The SDK's own types of a tool and of a set of tools differ under exactOptionalPropertyTypes.
  const tools = {
    run: tool({ description: 'Runs a command.', inputSchema }),
    finish: tool({ description: 'Ends the work.', inputSchema }),
  } as ToolSet;
  const messages: ModelMessage[] = [{ role: 'user', content: PROMPT }];
  for (let step = 0; step < STEPS; step++) {
    const from = performance.now();
    const result = streamText({ model, instructions: INSTRUCTIONS, messages, tools, maxRetries: 0 });
    await result.consumeStream();
    const [call] = await result.toolCalls;
    messages.push(...(await result.responseMessages));
    times.model.push(performance.now() - from);
    if (call === undefined || call.toolName === 'finish') return;
    const begun = performance.now();
    const value = (await INSTANT_SANDBOX.run({ command: command(step), timeoutMs: 1_000 })).stdout;
    times.tool.push(performance.now() - begun);
    const { toolCallId, toolName } = call;
    messages.push({
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }],
    });
  }
}

async function ownConversation(models: Models, times: Times, meter?: CallMeter): Promise<void> {
  let at = performance.now();
  const onProgress: AgentRequest<unknown>['onProgress'] = ({ kind }) => {
    if (kind !== 'tool_call' && kind !== 'tool_result') return;
    const now = performance.now();
    (kind === 'tool_call' ? times.model : times.tool).push(now - at);
    at = now;
  };
  await createToolLoopAgent({ models }).perform({
    runId: 'bench',
    key: 'bench/1/agent',
    role: 'implementer',
    model: MODEL,
    instructions: INSTRUCTIONS,
    prompt: PROMPT,
    tools: ['run'],
    resultSchema: z.object({ command: z.string() }),
    sandbox: INSTANT_SANDBOX,
    maxSteps: STEPS + 1,
    signal: new AbortController().signal,
    ...(meter === undefined ? {} : { meter }),
    onProgress,
  });
}

/** An engine on a real disk whose one activity is an agent's call. */
async function startEngine(folder: string, models: Models, times: Readonly<Record<Kind, Times>>) {
  const store = openSqliteEventStore({ file: path.join(folder, 'runs.db') });
  const machine = setup({ actors: { talk: activity<null, null>() } }).createMachine({
    id: 'talk',
    initial: 'talking',
    states: {
      talking: {
        meta: { status: 'running', stage: 'talking' },
        invoke: { id: 'talk', src: 'talk', input: null, onDone: 'done' },
      },
      done: { type: 'final', meta: { status: 'completed' } },
    },
  });
  const definition = defineWorkflow({
    name: 'talk',
    version: 1,
    description: 'One call of an agent',
    machine,
    signals: {},
  });
  const prices = createPrices();
  const perform = async (_input: never, context: ActivityContext): Promise<null> => {
    const meter = createCallMeter(context, prices, 'implementer');
    await ownConversation(models, times.booked, meter);
    return null;
  };
  const engine = createEngine({ store, definitions: [definition], activities: { talk: { retry: ONE_TRY, perform } } });
  await engine.start();
  return {
    async conversation(): Promise<void> {
      const { status, cost } = await engine.finished((await engine.run('talk')).id);
      if (status !== 'completed' || cost.calls !== STEPS) throw new Error(`The run is ${status}, ${cost.calls} calls.`);
    },
    async stop(): Promise<void> {
      await engine.stop();
      await store.close();
    },
  };
}

/** A server that answers at once: with a tool call, until the conversation has enough results. */
async function startInstantModel(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const chunk = (delta: object, more: object = {}): string =>
    `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'instant', choices: [{ index: 0, delta, ...more }] })}\n\n`;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      const results = body.split('"role":"tool"').length - 1;
      const called = {
        name: results < STEPS - 1 ? 'run' : 'finish',
        arguments: JSON.stringify({ command: command(results) }),
      };
      const toolCalls = [{ index: 0, id: `c${results}`, type: 'function', function: called }];
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        `${chunk({ role: 'assistant', tool_calls: toolCalls })}${chunk({}, { finish_reason: 'tool_calls' })}data: [DONE]\n\n`,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function aTimes(): Times {
  return { model: [], tool: [] };
}

/** The smallest value that is not exceeded by so many percent of them. */
function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? 0;
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
