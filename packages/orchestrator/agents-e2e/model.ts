/** The provider behind the agents: a server on this machine that plays what a model would say, over the wire format of a real one. */
import { type ChatCompletionRequest, type FixtureResponse, LLMock } from '@copilotkit/aimock';

/** One answer: words, and tools by the names and inputs that the agent has for them. */
export interface Say {
  readonly text: string;
  readonly tool?: readonly [name: string, input: object];
}

export interface Conversation {
  /** All that the agent was told by us in the turn that it is in: its last message of the user. */
  readonly prompt: string;
  /** Results of tools since then. */
  readonly toolResults: number;
  /** The last message of the user in the whole request, whoever wrote it. */
  readonly last: string;
}

export interface ScriptedModel {
  readonly url: string;
  /** Requests that offered tools: those for work, not those for titles and the like. */
  readonly requests: () => number;
  stop(): Promise<void>;
}

/** @param next gives the answer to each request for work; it may let the agent wait */
export async function startModel(next: (conversation: Conversation) => Promise<Say>): Promise<ScriptedModel> {
  let requests = 0;
  const mock = new LLMock({ port: 0 });
  mock.on({ predicate: (request) => !offersTools(request) }, { content: 'A title' });
  mock.on({ predicate: offersTools }, async (request: ChatCompletionRequest): Promise<FixtureResponse> => {
    requests += 1;
    const { text, tool } = await next(conversationOf(request));
    const said = {
      content: text,
      usage: { input_tokens: 100, output_tokens: 20, prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
    };
    return tool === undefined ? said : { ...said, toolCalls: [{ name: tool[0], arguments: JSON.stringify(tool[1]) }] };
  });
  await mock.start();
  return {
    url: mock.url,
    requests: () => requests,
    stop: async () => {
      await mock.stop();
    },
  };
}

function offersTools(request: ChatCompletionRequest): boolean {
  return (request.tools ?? []).length > 0;
}

/** Agents put reminders of their own among the messages; ours are known by their words. */
const OURS = /^Call: implementer \d+$|Your process was ended|result cannot be taken/m;

function conversationOf({ messages }: ChatCompletionRequest): Conversation {
  const texts = messages.map(({ role, content }) => (role === 'user' ? textOf(content) : ''));
  const last = texts.findLastIndex((text) => OURS.test(text));
  return {
    prompt: texts[last] ?? '',
    toolResults: messages.slice(last + 1).filter(({ role }) => role === 'tool').length,
    last: texts.findLast((text) => text !== '') ?? '',
  };
}

function textOf(content: ChatCompletionRequest['messages'][number]['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').join('\n');
}
