/**
 * An agent that is a model in a loop: it answers with tool calls, they are carried out in the sandbox, their results go
 * back to it, until it calls `finish` or `ask`. The loop is ours, step by step, so that nothing of an incomplete answer
 * is ever carried out.
 */
import {
  InvalidRequest,
  type JsonObject,
  NeedsHuman,
  type Question,
  RESPONSE_TYPES,
  RetryableFailure,
  TerminalFailure,
} from '@autonomous/shared';
import { jsonSchema, type ModelMessage, type ToolResultPart, type ToolSet, tool, zodSchema } from 'ai';
import { z } from 'zod';
import type { Models, ResolvedModel } from '../models/model.ts';
import type { Agent, AgentOutcome, AgentRequest, AgentUsage } from './agent.ts';
import {
  askModel,
  MODEL_TRIES,
  type RetryDelays,
  type StepAnswer,
  type StepTimeouts,
  type ToolCall,
} from './model-step.ts';
import { SANDBOX_TOOLS, type SandboxTool } from './sandbox-tools.ts';

export interface ToolLoopOptions {
  readonly models: Models;
  /** Most tokens of one answer; absent means the model's own figure. */
  readonly maxOutputTokens?: number;
  readonly timeouts?: Partial<StepTimeouts>;
  readonly delays?: Partial<RetryDelays>;
}

const TIMEOUTS: StepTimeouts = { firstChunkMs: 300_000, idleMs: 180_000 };
const DELAYS: RetryDelays = { firstDelayMs: 1_000, maxDelayMs: 60_000 };

/** How often a result that does not fit its schema may be mended. */
const MENDS = 2;

/** Characters of a tool's input or result that go into progress. */
const PROGRESS_CHARACTERS = 2_000;

export function createToolLoopAgent(options: ToolLoopOptions): Agent {
  // The SDK would print its warnings to the console, which belongs to the server's log.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return {
    name: 'tool-loop',
    perform: async (request) => await new ToolLoop(options, request).perform(),
  };
}

/** A question as an agent asks it. */
export const questionSchema = z
  .object({
    question: z.string().min(1).max(2_000).describe('One question, answerable without reading the code'),
    context: z.string().max(4_000).default('').describe('Why it matters and what depends on the answer'),
    options: z
      .array(z.string().min(1).max(500))
      .min(2)
      .max(10)
      .optional()
      .describe('The choices, for single_choice and multiple_choice'),
    responseType: z.enum(RESPONSE_TYPES).default('text'),
  })
  .refine((question) => question.options !== undefined || !question.responseType.endsWith('_choice'), {
    path: ['options'],
    message: 'a choice needs options',
  });

/** One call of a role: the conversation, and what has been used up in it. */
class ToolLoop<Result> {
  readonly #options: ToolLoopOptions;
  readonly #request: AgentRequest<Result>;
  readonly #model: ResolvedModel;
  readonly #tools: ToolSet;
  readonly #messages: ModelMessage[];
  #usage: AgentUsage = { inputTokens: 0, outputTokens: 0, calls: 0 };
  #stepsLeft: number;
  #toldToFinish = false;
  #idleAnswers = 0;
  #invalidResults = 0;

  constructor(options: ToolLoopOptions, request: AgentRequest<Result>) {
    this.#options = options;
    this.#request = request;
    this.#model = options.models.resolve(request.model);
    this.#tools = describeTools(request);
    this.#messages = [{ role: 'user', content: request.prompt }];
    this.#stepsLeft = request.maxSteps;
  }

  async perform(): Promise<AgentOutcome<Result>> {
    while (true) {
      if (this.#stepsLeft <= 0) this.#demandFinish();
      this.#stepsLeft--;
      const answer = await this.#nextAnswer();
      this.#messages.push(answer.message);
      if (answer.cutByLimit) {
        this.#say(
          'Your answer reached the output limit and was cut; no tool of it was run. Go on in smaller pieces: write long files in several steps.',
        );
      } else if (answer.toolCalls.length === 0) {
        this.#answerIdleText();
      } else {
        this.#idleAnswers = 0;
        const outcome = await this.#carryOut(answer.toolCalls);
        if (outcome !== null) return outcome;
      }
    }
  }

  async #nextAnswer(): Promise<StepAnswer> {
    const { signal, instructions, onProgress } = this.#request;
    const answer = await askModel({
      model: this.#model.model,
      modelId: this.#model.id,
      keyVariable: this.#model.keyVariable,
      instructions,
      messages: this.#messages,
      tools: this.#tools,
      maxOutputTokens: this.#options.maxOutputTokens,
      timeouts: { ...TIMEOUTS, ...this.#options.timeouts },
      delays: { ...DELAYS, ...this.#options.delays },
      signal,
      onCall: () => {
        this.#usage = { ...this.#usage, calls: this.#usage.calls + 1 };
      },
      onRetry: (attempt, message) =>
        onProgress({ kind: 'note', text: `Try ${attempt} of ${MODEL_TRIES} failed, trying again. ${message}` }),
    });
    this.#usage = {
      ...this.#usage,
      inputTokens: this.#usage.inputTokens + answer.inputTokens,
      outputTokens: this.#usage.outputTokens + answer.outputTokens,
    };
    if (answer.text.trim() !== '') onProgress({ kind: 'text', text: answer.text });
    onProgress({
      kind: 'usage',
      text: `${answer.inputTokens} tokens in, ${answer.outputTokens} out`,
      data: { inputTokens: answer.inputTokens, outputTokens: answer.outputTokens },
    });
    return answer;
  }

  /** The steps are used up: one more, to finish. */
  #demandFinish(): void {
    const { role, maxSteps } = this.#request;
    if (this.#toldToFinish) {
      throw new NeedsHuman(
        'agent_failed',
        `The ${role} (${this.#model.id}) did not finish within ${maxSteps} steps, nor after being told to. Retry, or split the request.`,
      );
    }
    this.#toldToFinish = true;
    this.#stepsLeft = 1;
    this.#say('You have used up your steps. Call finish now, with what you have, and say in it what is missing.');
  }

  #answerIdleText(): void {
    this.#idleAnswers++;
    if (this.#idleAnswers > 1) {
      throw new NeedsHuman(
        'agent_failed',
        `The ${this.#request.role} (${this.#model.id}) ended without a result: it called no tool, even after being told to call finish.`,
      );
    }
    this.#stepsLeft = Math.max(this.#stepsLeft, 1);
    this.#say('You called no tool. Go on with your work, or call finish with your result if it is done.');
  }

  /** @returns the outcome when one of the calls ends the work */
  async #carryOut(calls: readonly ToolCall[]): Promise<AgentOutcome<Result> | null> {
    const results = new Map<ToolCall, ToolText>();
    for (const call of calls.filter((candidate) => !isEnding(candidate))) results.set(call, await this.#runTool(call));

    const failed = [...results.values()].some((result) => !result.ok);
    for (const [index, call] of calls.filter(isEnding).entries()) {
      this.#report(call, call.name);
      if (failed) {
        results.set(
          call,
          fault(
            `Not taken, because another tool call of the same answer failed. Look at it, then call ${call.name} again.`,
          ),
        );
      } else if (index > 0) {
        results.set(call, fault('Not taken: only the first call of finish or ask in an answer counts.'));
      } else {
        const ending = call.name === 'finish' ? this.#finish(call) : this.#ask(call);
        if ('kind' in ending) return ending;
        this.#request.onProgress({
          kind: 'tool_result',
          text: cut(ending.text),
          data: { tool: call.name, ok: false },
        });
        results.set(call, ending);
      }
    }

    this.#messages.push({ role: 'tool', content: calls.map((call) => resultPart(call, results.get(call))) });
    return null;
  }

  #finish(call: ToolCall): AgentOutcome<Result> | ToolText {
    const parsed = this.#request.resultSchema.safeParse(call.input);
    if (parsed.success) return { kind: 'finished', result: parsed.data, ...this.#signature() };
    const faults = describeFaults(call.input, parsed.error);
    if (this.#invalidResults === MENDS) {
      throw new NeedsHuman(
        'agent_failed',
        `The ${this.#request.role} (${this.#model.id}) gave no valid result in ${MENDS + 1} tries: ${faults}`,
      );
    }
    this.#invalidResults++;
    this.#stepsLeft = Math.max(this.#stepsLeft, 1);
    return fault(`The result does not fit: ${faults}. Call finish again with a whole, corrected result.`);
  }

  #ask(call: ToolCall): AgentOutcome<Result> | ToolText {
    if (!this.#request.tools.includes('ask')) return unknownTool(call, this.#tools);
    const parsed = questionSchema.safeParse(call.input);
    if (!parsed.success)
      return fault(`The question does not fit: ${describeFaults(call.input, parsed.error)}. Call ask again.`);
    const { options, ...rest } = parsed.data;
    const question: Question = { ...rest, ...(options === undefined ? {} : { options }) };
    return { kind: 'question', question, ...this.#signature() };
  }

  async #runTool(call: ToolCall): Promise<ToolText> {
    const { sandbox, signal, onProgress } = this.#request;
    const known = sandboxTool(call.name, this.#tools);
    const parsed = known?.input.safeParse(call.input);
    this.#report(call, known !== undefined && parsed?.success ? known.title(parsed.data) : call.name);
    const result =
      known === undefined || parsed === undefined
        ? unknownTool(call, this.#tools)
        : parsed.success
          ? await performTool(known, parsed.data, sandbox, signal)
          : fault(`The input of ${call.name} does not fit: ${describeFaults(call.input, parsed.error)}.`);
    onProgress({ kind: 'tool_result', text: cut(result.text), data: { tool: call.name, ok: result.ok } });
    return result;
  }

  #report(call: ToolCall, title: string): void {
    this.#request.onProgress({
      kind: 'tool_call',
      text: cut(title.split('\n', 1)[0] ?? title),
      data: { tool: call.name, input: cutInput(call.input) },
    });
  }

  #say(text: string): void {
    this.#messages.push({ role: 'user', content: text });
  }

  #signature() {
    return { usage: this.#usage, model: this.#model.id, scripted: this.#model.scripted };
  }
}

interface ToolText {
  readonly ok: boolean;
  readonly text: string;
}

function fault(text: string): ToolText {
  return { ok: false, text };
}

/** Without `execute`: the SDK tells the model about them, and running them stays with the loop. */
function describeTools<Result>(request: AgentRequest<Result>): ToolSet {
  const tools: ToolSet = {};
  for (const name of request.tools) {
    tools[name] =
      name === 'ask'
        ? unchecked('Asks a person one question and ends this call; the work goes on with the answer.', questionSchema)
        : unchecked(SANDBOX_TOOLS[name].description, SANDBOX_TOOLS[name].input);
  }
  return { ...tools, finish: unchecked('Ends the work with its result.', request.resultSchema) };
}

/** The schema as the model sees it. The loop checks inputs itself, to say in its own words what is wrong. */
function unchecked(description: string, schema: z.ZodType): ToolSet[string] {
  // The SDK's own types of a tool and of a set of tools differ under exactOptionalPropertyTypes.
  return tool({ description, inputSchema: jsonSchema(zodSchema(schema).jsonSchema) }) as ToolSet[string];
}

function sandboxTool(name: string, offered: ToolSet): SandboxTool<unknown> | undefined {
  if (!Object.hasOwn(offered, name) || !Object.hasOwn(SANDBOX_TOOLS, name)) return undefined;
  // Each tool is only performed with what its own schema gave.
  return SANDBOX_TOOLS[name as keyof typeof SANDBOX_TOOLS];
}

async function performTool(
  known: SandboxTool<unknown>,
  input: unknown,
  sandbox: AgentRequest<unknown>['sandbox'],
  signal: AbortSignal,
): Promise<ToolText> {
  try {
    return { ok: true, text: await orAborted(known.perform(input, sandbox, signal), signal) };
  } catch (error) {
    signal.throwIfAborted();
    // These say themselves who must act: a lost sandbox is no matter of the model.
    if (error instanceof NeedsHuman || error instanceof RetryableFailure || error instanceof TerminalFailure)
      throw error;
    if (error instanceof InvalidRequest) return fault(error.message);
    return fault(`The tool failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A command in the sandbox needs a moment to die; the loop does not wait for that. */
async function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  work.catch(() => {});
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function isEnding(call: ToolCall): boolean {
  return call.name === 'finish' || call.name === 'ask';
}

function unknownTool(call: ToolCall, offered: ToolSet): ToolText {
  return fault(`There is no tool "${call.name}"; there are ${Object.keys(offered).join(', ')}.`);
}

function resultPart(call: ToolCall, result: ToolText | undefined): ToolResultPart {
  const { ok, text } = result ?? fault('Not run.');
  return {
    type: 'tool-result',
    toolCallId: call.id,
    toolName: call.name,
    output: { type: ok ? 'text' : 'error-text', value: text },
  };
}

function describeFaults(input: unknown, error: z.ZodError): string {
  if (typeof input === 'string') return 'it is not valid JSON';
  const faults = error.issues
    .slice(0, 10)
    .map((issue) => (issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`));
  return faults.join('; ');
}

function cut(text: string): string {
  return text.length <= PROGRESS_CHARACTERS ? text : `${text.slice(0, PROGRESS_CHARACTERS)}…`;
}

function cutInput(input: unknown): JsonObject {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return { text: cut(String(input)) };
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      cut(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')),
    ]),
  );
}
