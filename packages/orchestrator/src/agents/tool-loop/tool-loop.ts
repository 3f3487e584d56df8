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
import type { CallRecorder, Models, ResolvedModel } from '../../models/model.ts';
import { fence, MESSAGE_FIRST, messageText } from '../../roles/prompt-parts.ts';
import type { Agent, AgentOutcome, AgentRequest, AgentUsage, CallTool, ReservedCall } from '../agent.ts';
import type { McpServer } from '../mcp/mcp-servers.ts';
import { openOutsideTools } from '../mcp/mcp-tools.ts';
import { Conversation, type MadeCall, type Room, roomIn } from './conversation.ts';
import { RequestTooLong } from './model-errors.ts';
import {
  askModel,
  CHARACTERS_PER_TOKEN,
  type RetryDelays,
  STEP_TIMEOUTS,
  type StepAnswer,
  type StepTimeouts,
  type ToolCall,
} from './model-step.ts';
import { SANDBOX_TOOLS, type SandboxTool } from './sandbox-tools.ts';
import { nudgeText, restartText, StallWatch, type WatchedCall } from '../stall-watch.ts';
import { Windows } from './windows.ts';

export interface ToolLoopOptions {
  readonly models: Models;
  /** MCP servers whose tools some roles have beside those in the sandbox. Absent: none. */
  readonly mcpServers?: readonly McpServer[];
  /** Most estimated tokens of instructions and prompt; MCP tools may take a part of that number in addition. Absent: no limit. */
  readonly contextTokens?: number;
  /** Tokens of a conversation from which old results are cleared. Absent: 60,000, and 120,000 where the provider caches. */
  readonly contextTarget?: number;
  /** Absent: nothing is recorded. */
  readonly recorder?: CallRecorder;
  /** Most tokens of one answer; absent means the model's own figure. */
  readonly maxOutputTokens?: number;
  readonly timeouts?: Partial<StepTimeouts>;
  readonly delays?: Partial<RetryDelays>;
}

const DELAYS: RetryDelays = {
  firstDelayMs: 1_000,
  maxDelayMs: 60_000,
  maxAskedMs: 300_000,
  patienceMs: 600_000,
};

/** Most retries of a result that does not fit its schema. */
const MAX_RESULT_RETRIES = 2;

/** Answers that are left to the model at least when a person has said something. */
const STEPS_FOR_A_MESSAGE = 10;

/** Assumed maximum of an answer in tokens, when neither the model nor the configuration states one. */
const ASSUMED_OUTPUT_TOKENS = 32_000;

/** Tokens of a conversation from which old results cost more than they are worth. */
const CONTEXT_TARGET = { cached: 120_000, uncached: 60_000 };
/** Shorter requests that are tried in place of one that was too long. */
const MAX_SHORTENINGS = 2;
/** Answers between two handover notes. More often, the work does not go on. */
const LEAST_ANSWERS_A_NOTE = 3;
/** Most characters of a handover note, as a share of those that the window holds. */
const NOTE_SHARE = 0.15;
/** Calls that a handover note of the server names, the newest. */
const CALLS_NOTED = 40;

/** Tokens for tools of MCP servers, as a share of those for instructions and prompt and in addition to them. */
const OUTSIDE_TOOLS_SHARE = 0.25;
/** Names of tools in the line that says which are left out, and in the note's data: a server may have any number. */
const NAMED_TOOLS = 12;
const LISTED_TOOLS = 500;

/** Characters of a tool's input or result that go into progress. */
const PROGRESS_CHARACTERS = 2_000;

export function createToolLoopAgent(options: ToolLoopOptions): Agent {
  // The SDK would print its warnings to the console, which belongs to the server's log.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const windows = new Windows();
  return {
    name: 'tool-loop',
    async perform(request) {
      const { mcpServers = [], contextTokens = Number.POSITIVE_INFINITY } = options;
      const outside = await openOutsideTools(mcpServers, request, contextTokens * OUTSIDE_TOOLS_SHARE);
      try {
        const { tools, leftOut } = outside;
        const beside = [...(request.callTools ?? []), ...tools];
        return await new ToolLoop(options, tellLeftOut(request, leftOut), beside, windows).perform();
      } finally {
        await outside.close();
      }
    },
  };
}

/** The same request, whose prompt and transcript say which tools are missing. */
function tellLeftOut<Result>(request: AgentRequest<Result>, leftOut: readonly string[]): AgentRequest<Result> {
  if (leftOut.length === 0) return request;
  const named = leftOut.slice(0, NAMED_TOOLS).join(', ');
  const more = leftOut.length > NAMED_TOOLS ? ` and ${leftOut.length - NAMED_TOOLS} more` : '';
  const missing = `There was no room for all tools of MCP servers; left out: ${named}${more}.`;
  const way = 'Name those that are needed in the file of AUTONOMOUS_MCP, or raise CONTEXT_TOKENS.';
  request.onProgress({ kind: 'note', text: `${missing} ${way}`, data: { leftOut: leftOut.slice(0, LISTED_TOOLS) } });
  return { ...request, prompt: `${request.prompt}\n\n${missing}` };
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
  readonly #outside: ReadonlyMap<string, CallTool>;
  readonly #conversation: Conversation;
  readonly #windows: Windows;
  /** The provider has read a part of a request from its cache. */
  #isCached = false;
  #answersSinceNote = LEAST_ANSWERS_A_NOTE;
  /** Messages received from people, and how many of them were delivered to the model. */
  readonly #received: string[] = [];
  #delivered = 0;
  /** The request that was sent last. */
  #reserved: ReservedCall | undefined;
  #usage: AgentUsage = { inputTokens: 0, outputTokens: 0, calls: 0 };
  #stepsLeft: number;
  #askedToFinish = false;
  #idleAnswers = 0;
  #invalidResults = 0;
  readonly #stalls = new StallWatch();

  constructor(options: ToolLoopOptions, request: AgentRequest<Result>, outside: readonly CallTool[], windows: Windows) {
    this.#options = options;
    this.#request = request;
    const model = options.models.resolve(request.model);
    this.#model = options.recorder?.record(model, request.runId) ?? model;
    this.#outside = new Map(outside.map((tool) => [tool.name, tool]));
    this.#tools = describeTools(request, outside);
    this.#windows = windows;
    const fixed = request.instructions.length + JSON.stringify(this.#tools).length;
    this.#conversation = new Conversation(fixed, request.prompt);
    this.#stepsLeft = request.maxSteps;
  }

  async perform(): Promise<AgentOutcome<Result>> {
    while (true) {
      await this.#pollInbox();
      this.#deliverMessages();
      if (this.#stepsLeft <= 0) this.#demandFinish();
      this.#stepsLeft--;
      const answer = await this.#answerWithinWindow();
      this.#conversation.add(answer.message);
      if (answer.cutByLimit) {
        this.#say(
          'Your answer reached the output limit and was cut; no tool of it was run. Go on in smaller pieces: write long files in several steps.',
        );
        this.#watchProgress([]);
      } else if (answer.toolCalls.length === 0) {
        this.#answerIdleText();
      } else {
        this.#idleAnswers = 0;
        const outcome = await this.#carryOut(answer.toolCalls);
        if (outcome !== null) return outcome;
      }
    }
  }

  /** The next answer, to a request that the model's window holds. */
  async #answerWithinWindow(): Promise<StepAnswer> {
    for (let shortened = 0; ; shortened++) {
      try {
        await this.#makeRoom();
        const answer = await this.#answerTo(this.#conversation.messages);
        const isWhole = this.#conversation.count(answer.usage);
        this.#isCached ||= (answer.usage.cachedInputTokens ?? 0) > 0;
        this.#answersSinceNote += 1;
        this.#noteWindow(this.#windows.answered(this.#model, answer.usage, isWhole));
        return answer;
      } catch (error) {
        if (!(error instanceof RequestTooLong)) throw error;
        this.#noteWindow(this.#windows.refused(this.#model, this.#conversation.tokens, error.most));
        if (shortened === MAX_SHORTENINGS) throw this.#tooLong(error.message, error);
      }
    }
  }

  #noteWindow(window: number | null): void {
    if (window === null) return;
    this.#request.onProgress({ kind: 'note', text: `The window of ${this.#model.id} holds ${window} tokens.` });
  }

  #tooLong(why: string, cause?: unknown): NeedsHuman {
    return new NeedsHuman(
      'model_unavailable',
      `${why} The request of the ${this.#request.role} has about ${this.#conversation.tokens} tokens and cannot be made shorter. Fork the run with a model that has a larger window, name its window in MODEL_WINDOWS, or split the request.`,
      { cause },
    );
  }

  get #room(): Room {
    const { contextTarget = CONTEXT_TARGET[this.#isCached ? 'cached' : 'uncached'] } = this.#options;
    return roomIn(this.#windows.of(this.#model), this.#outputTokens, contextTarget);
  }

  /** Shortens the conversation where the next request would be too long for the window. */
  async #makeRoom(): Promise<void> {
    const room = this.#room;
    const conversation = this.#conversation;
    const isFull = (): boolean => conversation.tokens > room.compactAt;
    if (conversation.tokens > room.clearAt) this.#clear(room.kept, isFull());
    if (!isFull()) return;
    if (this.#answersSinceNote >= LEAST_ANSWERS_A_NOTE && conversation.messages.length > 1) await this.#handOver(room);
    else if (conversation.tokens > room.most)
      throw this.#tooLong(`The window of ${this.#model.id} holds ${this.#windows.of(this.#model)} tokens.`);
  }

  #clear(kept: number, isUrgent: boolean): void {
    const cleared = this.#conversation.clear(kept, titleOf, isUrgent);
    if (cleared === 0) return;
    // The agent may look at it again, and that is no standstill.
    this.#stalls.forget();
    const text = `${cleared} old results of tools were cleared from the conversation to make room.`;
    this.#request.onProgress({ kind: 'note', text, data: { cleared } });
  }

  /** Replaces the conversation by a handover note, its last exchanges and the messages of people. */
  async #handOver(room: Room): Promise<void> {
    const { prompt, onProgress } = this.#request;
    const why = `The conversation has filled the window of ${this.#model.id}. A handover note replaces it.`;
    onProgress({ kind: 'note', text: why, data: { compaction: 'begins' } });
    const note = (await this.#noteOfModel()) ?? this.#noteOfServer();
    const last = this.#conversation.lastExchanges(room.kept / 2);
    const most = Math.floor(Math.max(2_000, room.most * NOTE_SHARE * CHARACTERS_PER_TOKEN));
    this.#conversation.begin(`${prompt}\n\n${handedOver(note, most)}`, last);
    this.#delivered = 0;
    this.#deliverMessages();
    this.#answersSinceNote = 0;
    this.#stalls.forget();
    onProgress({ kind: 'note', text: cut(note), data: { compaction: 'ends' } });
  }

  /** `null` where the model gives none: of what is too long already nothing more can be asked. */
  async #noteOfModel(): Promise<string | null> {
    try {
      const question = { role: 'user', content: HANDOVER_QUESTION } as const;
      const { text } = await this.#answerTo([...this.#conversation.messages, question], false);
      return text.trim() === '' ? null : text;
    } catch (error) {
      if (error instanceof RequestTooLong) return null;
      throw error;
    }
  }

  #noteOfServer(): string {
    const calls = this.#conversation.calls.slice(-CALLS_NOTED).map((call) => `- ${titleOf(call)}`);
    return `Calls of tools so far, the newest last:\n${calls.join('\n')}`;
  }

  get #outputTokens(): number {
    return this.#options.maxOutputTokens ?? this.#model.maxOutputTokens ?? ASSUMED_OUTPUT_TOKENS;
  }

  /** @param isCarriedOut false: the tools that it calls are not run. Default: they are */
  async #answerTo(messages: readonly ModelMessage[], isCarriedOut = true): Promise<StepAnswer> {
    const { signal, instructions, onProgress } = this.#request;
    const inputTokens = this.#conversation.mostTokens;
    const answer = await askModel({
      model: this.#model.model,
      modelId: this.#model.id,
      keyVariable: this.#model.keyVariable,
      instructions,
      messages,
      tools: this.#tools,
      maxOutputTokens: this.#options.maxOutputTokens,
      timeouts: { ...STEP_TIMEOUTS, ...this.#options.timeouts },
      delays: { ...DELAYS, ...this.#options.delays },
      signal,
      inputTokens,
      onCall: async () => {
        const call = await this.#reserve(inputTokens);
        this.#reserved = call;
        this.#usage = { ...this.#usage, calls: this.#usage.calls + 1 };
        // Only tool calls can be refused when it is settled, and there are none.
        return (usage) => void call?.settle(usage).catch(() => undefined);
      },
      onRetry: (attempt, waitMs, message) =>
        onProgress({
          kind: 'note',
          text: `Try ${attempt} failed, trying again in ${Math.ceil(waitMs / 1_000)} s. ${message}`,
        }),
    });
    const { usage } = answer;
    this.#usage = {
      ...this.#usage,
      inputTokens: this.#usage.inputTokens + usage.inputTokens,
      outputTokens: this.#usage.outputTokens + usage.outputTokens,
    };
    if (answer.text.trim() !== '') onProgress({ kind: 'text', text: answer.text });
    onProgress({
      kind: 'usage',
      text: `${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
      data: { ...usage },
    });
    const toRun = isCarriedOut ? answer.toolCalls.filter((call) => !isEnding(call)) : [];
    await this.#reserved?.settle(usage, toRun.length);
    return answer;
  }

  #reserve(inputTokens: number): Promise<ReservedCall> | undefined {
    return this.#request.meter?.reserve(this.#model, { inputTokens, outputTokens: this.#outputTokens });
  }

  /** The steps are used up: one more, to finish. */
  #demandFinish(): void {
    const { role, maxSteps } = this.#request;
    if (this.#askedToFinish) {
      throw new NeedsHuman(
        'agent_failed',
        `The ${role} (${this.#model.id}) did not finish within ${maxSteps} steps, and not after a reminder either. Retry, or split the request.`,
      );
    }
    this.#askedToFinish = true;
    this.#stepsLeft = 1;
    this.#say('You have used up your steps. Call finish now, with what you have, and say in it what is missing.');
  }

  #answerIdleText(): void {
    this.#idleAnswers++;
    if (this.#idleAnswers > 1) {
      throw new NeedsHuman(
        'agent_failed',
        `The ${this.#request.role} (${this.#model.id}) ended without a result: it called no tool, also after a reminder to call finish. Retry, or fork the run with another model.`,
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
    const hasNews = calls.some(isEnding) && (await this.#pollInbox());
    for (const [index, call] of calls.filter(isEnding).entries()) {
      this.#report(call, call.name);
      if (failed) {
        results.set(
          call,
          fault(
            `Not taken, because another tool call of the same answer failed. Look at it, then call ${call.name} again.`,
          ),
        );
      } else if (hasNews) {
        results.set(call, fault(MESSAGE_FIRST));
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

    this.#conversation.add({ role: 'tool', content: calls.map((call) => resultPart(call, results.get(call))) });
    this.#watchProgress(
      calls.map((call) => {
        const { ok, text } = results.get(call) ?? fault('Not run.');
        return { name: call.name, input: call.input, ok, result: text };
      }),
    );
    return null;
  }

  /** Polls the message inbox. @returns whether it contained a message */
  async #pollInbox(): Promise<boolean> {
    const { messages, onProgress } = this.#request;
    const news = (await messages?.()) ?? [];
    for (const { by, text } of news) {
      onProgress({ kind: 'message', text, data: { by } });
      this.#received.push(text);
    }
    if (news.length === 0) return false;
    this.#stalls.resetCounts();
    // The agent must have steps left for a message that comes last.
    this.#stepsLeft = Math.max(this.#stepsLeft, STEPS_FOR_A_MESSAGE);
    this.#askedToFinish = false;
    return true;
  }

  #deliverMessages(): void {
    for (const text of this.#received.slice(this.#delivered)) this.#say(messageText(text));
    this.#delivered = this.#received.length;
  }

  /** Warns an agent that makes no progress, then restarts its conversation, then pauses the run. */
  #watchProgress(calls: readonly WatchedCall[]): void {
    const verdict = this.#stalls.step(calls);
    if (verdict.kind === 'go_on') return;
    const { role, prompt, onProgress } = this.#request;
    const { why } = verdict;
    if (verdict.kind === 'nudge') {
      onProgress({ kind: 'note', text: `No progress: it ${why}. It was warned.` });
      this.#say(nudgeText(why));
    } else if (verdict.kind === 'restart') {
      onProgress({ kind: 'note', text: `No progress: it ${why}. It starts again with a note about what was tried.` });
      this.#conversation.begin(`${prompt}\n\n${restartText(why, this.#stalls.tried)}`);
      this.#delivered = 0;
    } else {
      throw new NeedsHuman(
        'stalled',
        `The ${role} (${this.#model.id}) makes no progress: it ${why}, also after a warning and a new start. Its files are kept. Send a message with what it should do differently and retry, or fork the run with another model.`,
      );
    }
  }

  #finish(call: ToolCall): AgentOutcome<Result> | ToolText {
    const parsed = this.#request.resultSchema.safeParse(call.input);
    if (parsed.success) return { kind: 'finished', result: parsed.data, ...this.#signature() };
    const faults = describeFaults(call.input, parsed.error);
    if (this.#invalidResults === MAX_RESULT_RETRIES) {
      throw new NeedsHuman(
        'agent_failed',
        `The ${this.#request.role} (${this.#model.id}) gave no valid result in ${MAX_RESULT_RETRIES + 1} tries: ${faults}`,
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
    const { sandbox, signal } = this.#request;
    const outside = this.#outside.get(call.name);
    if (outside !== undefined) {
      this.#report(call, call.name);
      return this.#reportResult(call, await outside.call(call.input, signal));
    }
    const known = sandboxTool(call.name, this.#tools);
    const parsed = known?.input.safeParse(call.input);
    this.#report(call, titleOf(call));
    const result =
      known === undefined || parsed === undefined
        ? unknownTool(call, this.#tools)
        : parsed.success
          ? await performTool(known, parsed.data, sandbox, signal)
          : fault(`The input of ${call.name} does not fit: ${describeFaults(call.input, parsed.error)}.`);
    return this.#reportResult(call, result);
  }

  #reportResult(call: ToolCall, result: ToolText): ToolText {
    const { ok, text } = result;
    this.#request.onProgress({ kind: 'tool_result', text: cut(text), data: { tool: call.name, ok } });
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
    this.#conversation.add({ role: 'user', content: text });
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
function describeTools<Result>(request: AgentRequest<Result>, outside: readonly CallTool[]): ToolSet {
  const tools: ToolSet = {};
  for (const name of request.tools) {
    tools[name] =
      name === 'ask'
        ? unchecked('Asks a person one question and ends this call; the work goes on with the answer.', questionSchema)
        : unchecked(SANDBOX_TOOLS[name].description, SANDBOX_TOOLS[name].input);
  }
  for (const { name, description, inputSchema } of outside)
    tools[name] = tool({ description, inputSchema: jsonSchema(inputSchema) }) as ToolSet[string];
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

/** A command in the sandbox needs a moment to end; the loop does not wait for that. */
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

/** The call in a few words. */
function titleOf({ name, input }: MadeCall): string {
  const known = Object.hasOwn(SANDBOX_TOOLS, name) ? SANDBOX_TOOLS[name as keyof typeof SANDBOX_TOOLS] : undefined;
  // Each tool is only given what its own schema gave.
  const parsed = (known as SandboxTool<unknown> | undefined)?.input.safeParse(input);
  return parsed?.success === true ? (known as SandboxTool<unknown>).title(parsed.data) : name;
}

const HANDOVER_QUESTION = `This conversation is about to end, since it fills your window. The work goes on in a new one, which has your task, what people said, and your note. Answer with that note and call no tool. Say in it: the goal; what is done, with the files that you changed; what you found out, with paths and lines; commands that work and what came of them; what you tried that did not work; what comes next. At most 800 words; facts alone.`;

function handedOver(note: string, most: number): string {
  return `Earlier in this call the conversation filled your window. You left this note; it is material, and your task stands above. The files are as you left them.\n${fence('HANDOVER NOTE', note, most)}`;
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
