/** Records what models are asked and answer, and what tools gave, in one cassette a run. */
import { access, appendFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { JsonObject, JsonValue } from '@autonomous/shared';
import { type LanguageModel, wrapLanguageModel } from 'ai';
import { askedBy, cassetteHeader, type ModelExchange, type ModelRequest, type RecordedContent } from './cassette.ts';
import type { CallRecorder, ResolvedModel } from '../model.ts';

type LanguageModelV4 = Extract<LanguageModel, { specificationVersion: 'v4' }>;
type StreamPart =
  Awaited<ReturnType<LanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

export interface RecorderOptions {
  /** Absolute; made when it does not exist. */
  readonly folder: string;
  /** Takes secrets out of everything before it is written. */
  readonly scrub: (value: JsonValue) => JsonValue;
  readonly now: () => Date;
  /** Called once per run whose cassette cannot be written; the run continues. */
  readonly onError: (error: unknown, runId: string) => void;
}

export interface CassetteRecorder extends CallRecorder {
  /** Resolves when all is written. */
  flush(): Promise<void>;
}

export function createCassetteRecorder(options: RecorderOptions): CassetteRecorder {
  const failed = new Set<string>();
  let writing = Promise.resolve();

  const write = (runId: string, lines: readonly JsonObject[]): void => {
    const scrubbed = lines.map((line) => JSON.stringify(options.scrub(line)));
    writing = writing
      .then(() => append(runId, scrubbed))
      .catch((error: unknown) => {
        if (!failed.has(runId)) options.onError(error, runId);
        failed.add(runId);
      });
  };
  const append = async (runId: string, lines: readonly string[]): Promise<void> => {
    const file = path.join(options.folder, `${runId}.jsonl`);
    await mkdir(options.folder, { recursive: true });
    const isNew = await access(file).then(
      () => false,
      () => true,
    );
    const header = isNew ? [cassetteHeader(runId, options.now().toISOString())] : [];
    await appendFile(file, `${[...header, ...lines].join('\n')}\n`, { mode: 0o600 });
  };

  return {
    record(resolved, runId): ResolvedModel {
      // The registry gives models of the SDK's present interface; older ones and bare names are passed through.
      if (typeof resolved.model === 'string' || resolved.model.specificationVersion !== 'v4') return resolved;
      const model = wrapLanguageModel({
        model: resolved.model,
        middleware: {
          specificationVersion: 'v4',
          async wrapStream({ doStream, params }) {
            const { stream, ...rest } = await doStream();
            const collected = new Answer();
            const recording = new TransformStream<StreamPart, StreamPart>({
              transform(part, controller) {
                collected.take(part);
                controller.enqueue(part);
              },
              flush() {
                const answer = collected.complete();
                if (answer !== null) write(runId, linesOf(params, resolved.id, answer));
              },
            });
            return { ...rest, stream: stream.pipeThrough(recording) };
          },
        },
      });
      return { ...resolved, model };
    },
    flush: () => writing,
  };
}

/** The tools' results since the answer before, and the exchange itself; nothing for what is no call of a role. */
function linesOf(request: ModelRequest, model: string, answer: ModelExchange['answer']): JsonObject[] {
  const asked = askedBy(request);
  if (asked === null) return [];
  const { role, call, step, conversation, told } = asked;
  const tools = toolExchanges(request).map((exchange) => ({ type: 'tool', role, call, step, ...exchange }));
  return [...tools, { type: 'model', role, call, step, model, conversation, told, answer }];
}

function toolExchanges({ prompt }: ModelRequest): JsonObject[] {
  const last = prompt.findLastIndex(({ role }) => role === 'assistant');
  const answered = prompt[last];
  const inputs = new Map<string, JsonValue>();
  if (answered?.role === 'assistant') {
    for (const part of answered.content)
      if (part.type === 'tool-call') inputs.set(part.toolCallId, part.input as JsonValue);
  }
  return prompt.slice(last + 1).flatMap((message) =>
    message.role !== 'tool'
      ? []
      : message.content.flatMap((part): JsonObject[] => {
          if (part.type !== 'tool-result') return [];
          const { output } = part;
          const result = 'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output);
          return [
            {
              name: part.toolName,
              input: inputs.get(part.toolCallId) ?? null,
              ok: output.type !== 'error-text',
              result,
            },
          ];
        }),
  );
}

/** JSON as it is written in the conversation's hash: what looks like a secret in the one must do so in the other. */
function asHashed(input: string): string {
  try {
    return JSON.stringify(JSON.parse(input));
  } catch {
    return input;
  }
}

/** An answer as its stream brings it. */
class Answer {
  readonly #content: RecordedContent[] = [];
  readonly #open = new Map<string, { readonly type: 'text' | 'reasoning'; text: string }>();
  #end: Extract<StreamPart, { type: 'finish' }> | null = null;
  #failed = false;

  take(part: StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start': {
        const content = { type: part.type === 'text-start' ? ('text' as const) : ('reasoning' as const), text: '' };
        this.#open.set(part.id, content);
        this.#content.push(content);
        break;
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const content = this.#open.get(part.id);
        if (content) content.text += part.delta;
        break;
      }
      case 'tool-call': {
        const { toolCallId, toolName, input } = part;
        this.#content.push({ type: 'tool-call', toolCallId, toolName, input: asHashed(input) });
        break;
      }
      case 'finish':
        this.#end = part;
        break;
      case 'error':
        this.#failed = true;
        break;
      default:
    }
  }

  /** @returns `null` for one that was cut off or failed: it is asked for again, and only what counts is kept */
  complete(): ModelExchange['answer'] | null {
    if (this.#end === null || this.#failed) return null;
    const { finishReason, usage } = this.#end;
    return {
      content: this.#content,
      finishReason: finishReason.unified,
      inputTokens: usage.inputTokens.total ?? 0,
      outputTokens: usage.outputTokens.total ?? 0,
    };
  }
}
