/** Tells what an external agent does, as its session reports it: text, tool calls and their results. */
import { createHash } from 'node:crypto';
import type { JsonObject } from '@autonomous/shared';
import { z } from 'zod';
import type { SessionUpdate } from './acp-wire.ts';
import type { AgentRequest } from '../agent.ts';
import type { WatchedCall } from '../stall-watch.ts';

/** Characters of a tool's input or result that go into progress. */
const PROGRESS_CHARACTERS = 2_000;
/** Length of the pieces in which text is reported, in characters. */
const TEXT_CHARACTERS = 4_000;
/** Text of one call of a role, at most: as much as one answer of a model in our own loop may have. */
const MOST_TEXT_CHARACTERS = 4_000_000;
/** Characters of a last message that can become a result. */
const LAST_MESSAGE_CHARACTERS = 8_000;
/** Longest id, in characters; a longer one is invalid. */
const ID_CHARACTERS = 500;
/** Characters of a tool's input that are kept during its call. The agent determines number and length of inputs. */
const KEPT_CHARACTERS = 100_000;
const KEPT_FIELDS = 50;
/** Characters of a result that are compared with those of other calls; of a longer one its length as well. */
const COMPARED_CHARACTERS = 100_000;
/** Most calls of one step while one of them is open: that one may be a sub-agent, whose own calls come in between. */
const CALLS_OF_A_STEP = 20;

const textSchema = z.object({ type: z.literal('text'), text: z.string() });
const chunkSchema = z.object({ content: textSchema });

const costSchema = z.object({ cost: z.object({ amount: z.number().min(0), currency: z.literal('USD') }) });
/** Limits of the account as claude-agent-acp reports them; the time is in seconds since the epoch. */
const limitSchema = z.object({
  _meta: z.object({ '_claude/rateLimit': z.object({ status: z.string(), resetsAt: z.number().optional() }) }),
});

/** A compaction of the agent's context; each has several updates. Source: `session/update` of the Agent Client Protocol. */
const compactionSchema = z.object({
  compactionId: z.string().max(ID_CHARACTERS),
  status: z.enum(['in_progress', 'completed']),
});
export type CompactionStatus = z.output<typeof compactionSchema>['status'];

/** Common fields of `tool_call` and `tool_call_update` that are read. */
const toolCallSchema = z.object({
  toolCallId: z.string().max(ID_CHARACTERS),
  title: z.string().nullish(),
  kind: z.string().nullish(),
  status: z.string().nullish(),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  content: z.array(z.unknown()).nullish(),
});
type ToolCall = z.output<typeof toolCallSchema>;

const partSchema = z.union([
  z.object({ type: z.literal('content'), content: textSchema }),
  z.object({ type: z.literal('diff'), path: z.string(), newText: z.string().optional() }),
]);

export interface AcpProgressListener {
  /** Called once for each tool call, at its first update. */
  readonly onCall: () => void;
  /** Called with calls that have ended: together, when they were open at the same time. */
  readonly onStep: (calls: readonly WatchedCall[]) => void;
  /** Called when the agent writes more text than the limit. Later text is not reported. */
  readonly onTooMuch: (characters: number) => void;
  /** Called once when the agent begins to compact its context, and once when it has done so. */
  readonly onCompaction: (status: CompactionStatus) => void;
}

export class AcpProgress {
  readonly #tell: AgentRequest<unknown>['onProgress'];
  readonly #listener: AcpProgressListener;
  /** Tool calls that have not ended, with what is known of them. */
  readonly #calls = new Map<string, KnownCall>();
  /** Ids of calls that have ended: some agents tell it twice. */
  readonly #ended = new Set<string>();
  /** Ids of calls that go on in this turn, and those that have ended beside them. */
  readonly #open = new Set<string>();
  #step: WatchedCall[] = [];
  #text = '';
  /** Characters that it has said so far. */
  #said = 0;
  #lastMessage = '';
  #costUsd: number | null = null;
  #limitEndsAt: number | null = null;
  /** The newest compaction, as its last update had it. */
  #compaction: { readonly id: string; readonly status: CompactionStatus } | null = null;

  constructor(tell: AgentRequest<unknown>['onProgress'], listener: AcpProgressListener) {
    this.#tell = tell;
    this.#listener = listener;
  }

  /** Text of the agent since its last tool call. */
  get lastMessage(): string {
    return this.#lastMessage.trim();
  }

  /** Cost of the session so far as the agent reports it, in US dollars; `null` when it reports none. */
  get costUsd(): number | null {
    return this.#costUsd;
  }

  /** When the limit ends that its provider has refused it for, milliseconds since the epoch; `null` where none is known. */
  get limitEndsAt(): number | null {
    return this.#limitEndsAt;
  }

  /** Thoughts, plans, modes and commands change nothing that a person has to see; nor does what has another shape. */
  take(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk': {
        const chunk = chunkSchema.safeParse(update);
        if (chunk.success) this.#say(chunk.data.content.text);
        break;
      }
      case 'tool_call':
      case 'tool_call_update': {
        const call = toolCallSchema.safeParse(update);
        if (call.success) this.#takeCall(call.data, update.sessionUpdate === 'tool_call');
        break;
      }
      case 'usage_update': {
        const usage = costSchema.safeParse(update);
        if (usage.success) this.#costUsd = usage.data.cost.amount;
        const limit = limitSchema.safeParse(update);
        if (limit.success) {
          const { status, resetsAt } = limit.data._meta['_claude/rateLimit'];
          this.#limitEndsAt = status === 'rejected' && resetsAt !== undefined ? resetsAt * 1_000 : null;
        }
        break;
      }
      case 'compaction_update': {
        const compaction = compactionSchema.safeParse(update);
        if (compaction.success) this.#takeCompaction(compaction.data.compactionId, compaction.data.status);
        break;
      }
      default:
        break;
    }
  }

  #takeCompaction(id: string, status: CompactionStatus): void {
    const before = this.#compaction?.id === id ? this.#compaction.status : null;
    if (before === status || before === 'completed') return;
    this.#compaction = { id, status };
    this.flush();
    this.#listener.onCompaction(status);
  }

  /** Says what is left to say; a call that never ended belongs to no step of the next turn. */
  endTurn(): void {
    this.flush();
    if (this.lastMessage !== '') this.#lastMessage += '\n\n';
    this.#open.clear();
    this.#step = [];
  }

  /** Of a session that begins without the history of the one before. */
  forgetSession(): void {
    this.#costUsd = null;
    this.#lastMessage = '';
  }

  /** Before a tool call and at the end: says what is left to say. */
  flush(): void {
    for (const call of this.#calls.values()) this.#tellCall(call);
    const text = this.#text.trim();
    this.#text = '';
    if (text !== '') this.#tell({ kind: 'text', text });
  }

  #say(text: string): void {
    this.#said += text.length;
    if (this.#said > MOST_TEXT_CHARACTERS) {
      this.#listener.onTooMuch(MOST_TEXT_CHARACTERS);
      return;
    }
    this.#text += text;
    this.#lastMessage = (this.#lastMessage + text).slice(-LAST_MESSAGE_CHARACTERS);
    if (this.#text.length > TEXT_CHARACTERS) this.flush();
  }

  #takeCall(update: ToolCall, isNew: boolean): void {
    const { toolCallId, title, kind, status, rawInput, content } = update;
    if (this.#ended.has(toolCallId)) return;
    const isOver = status === 'completed' || status === 'failed';
    const known = this.#calls.get(toolCallId);
    // Some agents report a call only once it is over.
    if (known === undefined && !isNew && !isOver) return;
    const call = known ?? { tool: 'other', title: toolCallId, input: undefined, told: false };
    if (known === undefined) {
      this.flush();
      this.#lastMessage = '';
      this.#calls.set(toolCallId, call);
      this.#open.add(toolCallId);
      this.#listener.onCall();
    }
    call.tool = kind ?? call.tool;
    call.title = title?.slice(0, PROGRESS_CHARACTERS + 1) || call.title;
    call.input = rawInput === undefined || rawInput === null ? call.input : bounded(rawInput);
    // Others begin with a bare name or with half of an input, and say what it is about a moment later.
    const isHalf = isNew && status === 'pending';
    if (isOver || (hasContent(call.input) && !isHalf)) this.#tellCall(call);
    if (!isOver) return;
    this.#calls.delete(toolCallId);
    this.#ended.add(toolCallId);
    const text = (content ?? []).map(textOf).filter(Boolean).join('\n') || call.title;
    this.#tell({ kind: 'tool_result', text: cut(text), data: { tool: call.tool, ok: status === 'completed' } });
    this.#endCall(toolCallId, watchedCall(call, update));
  }

  /** Ends a call. The calls of one model answer are not marked; calls that are open at the same time count as one step. */
  #endCall(toolCallId: string, call: WatchedCall): void {
    this.#open.delete(toolCallId);
    this.#step.push(call);
    if (this.#open.size > 0 && this.#step.length < CALLS_OF_A_STEP) return;
    const calls = this.#step;
    this.#step = [];
    this.#listener.onStep(calls);
  }

  #tellCall(call: KnownCall): void {
    if (call.told) return;
    call.told = true;
    this.#tell({
      kind: 'tool_call',
      text: cut(call.title.split('\n', 1)[0] ?? call.title),
      data: { tool: call.tool, input: cutInput(call.input) },
    });
  }
}

/** A tool call that has not ended. */
interface KnownCall {
  tool: string;
  title: string;
  input: unknown;
  told: boolean;
}

/**
 * A call as it can be compared with others: by its input, or by its title and result where no input is told. A result that is
 * not told is like no other.
 */
function watchedCall({ tool, title, input }: KnownCall, update: ToolCall): WatchedCall {
  const { toolCallId, status, content, rawOutput } = update;
  const told = (content ?? []).map(comparedOf).filter(Boolean).join('\n') || wordsOf(rawOutput);
  const result = told === '' ? `nothing is told of ${toolCallId}` : compared(told);
  return {
    name: tool,
    input: hasContent(input) ? comparedInput(tool, input, toolCallId) : { title, result },
    // A command with an exit code other than 0 is a valid result, although some agents report it as a failure.
    ok: status === 'completed' || tool === 'execute',
    result,
  };
}

/** The input itself, or the beginnings of its fields and what tells it from others. */
function bounded(input: unknown): unknown {
  const json = JSON.stringify(input);
  if (json.length <= KEPT_CHARACTERS) return input;
  const fields = Object.entries(cutInput(input)).slice(0, KEPT_FIELDS);
  const beginnings = fields.map(([name, value]) => [name.slice(0, PROGRESS_CHARACTERS), value]);
  return { ...Object.fromEntries(beginnings), sha256: createHash('sha256').update(json).digest('hex') };
}

/** Without the call's id, and without what a model says about a command: words that are others each time, and do nothing. */
function comparedInput(tool: string, input: unknown, toolCallId: string): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  const isSame = ([name, value]: [string, unknown]): boolean =>
    value !== toolCallId && (tool !== 'execute' || name !== 'description');
  return Object.fromEntries(Object.entries(input).filter(isSame));
}

function comparedOf(part: unknown): string {
  const { data } = partSchema.safeParse(part);
  return data?.type === 'diff' ? `${data.path}\n${data.newText ?? ''}` : (data?.content.text ?? '');
}

function compared(result: string): string {
  return result.length <= COMPARED_CHARACTERS
    ? result
    : `${result.slice(0, COMPARED_CHARACTERS)}… of ${result.length} characters`;
}

function wordsOf(output: unknown): string {
  if (output === undefined || output === null) return '';
  return typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
}

function hasContent(input: unknown): boolean {
  return typeof input === 'object' && input !== null ? Object.keys(input).length > 0 : input !== undefined;
}

function textOf(part: unknown): string {
  const parsed = partSchema.safeParse(part);
  if (!parsed.success) return '';
  return parsed.data.type === 'content' ? parsed.data.content.text : `changed ${parsed.data.path}`;
}

function cut(text: string): string {
  return text.length <= PROGRESS_CHARACTERS ? text : `${text.slice(0, PROGRESS_CHARACTERS)}…`;
}

function cutInput(input: unknown): JsonObject {
  if (input === undefined || input === null) return {};
  if (typeof input !== 'object' || Array.isArray(input)) return { text: cut(JSON.stringify(input)) };
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      cut(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')),
    ]),
  );
}
