/** Shared fixtures of agent tests: a working folder, a request, and a provider that answers over real HTTP. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type FixtureFileResponse, type FixtureOpts, LLMock } from '@copilotkit/aimock';
import { afterAll, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Models } from '../models/model.ts';
import { createModels } from '../models/registry.ts';
import { callLine, TOOL_NAMES } from '../roles/role.ts';
import type { Sandbox } from '../sandboxes/sandbox.ts';
import { createUnsandboxedProvider } from '../sandboxes/unsandboxed.ts';
import type { AgentRequest } from './agent.ts';
import { createToolLoopAgent, type ToolLoopOptions } from './tool-loop/tool-loop.ts';

/** A model behind each wire format, and each way to it. */
export const PROVIDERS = [
  'anthropic:claude-sonnet-4-5',
  'openai:gpt-5',
  'openai-chat:gpt-4o',
  'deepseek:deepseek-chat',
  'openai-compatible:local',
];

/** A server on this machine that answers every request whose body has come. @returns the base URL of its API */
export async function serve(listener: RequestListener): Promise<string> {
  const server: Server = createServer((request, response) => {
    request.resume().on('end', () => listener(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** Starts a provider for all tests of a file. `baseUrl` is that of its API. */
export async function aModelProvider(): Promise<{ readonly provider: LLMock; readonly baseUrl: string }> {
  const provider = new LLMock({ port: 0, host: '127.0.0.1', strict: true });
  await provider.start();
  afterAll(() => provider.stop());
  return { provider, baseUrl: `${provider.url}/v1` };
}

export const failureOf = async (work: Promise<unknown>): Promise<unknown> =>
  await work.then(
    () => undefined,
    (error: unknown) => error,
  );

export interface Workplace {
  readonly sandbox: Sandbox;
  put(path: string, content: string): Promise<void>;
  /** Content of a file, `null` when there is none. */
  get(path: string): Promise<string | null>;
}

export async function aWorkplace(): Promise<Workplace> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-'));
  const limits = { memoryBytes: 2 ** 31, fileBytes: 2 ** 24, processes: 64, cpuSeconds: 30 };
  const sandbox = await createUnsandboxedProvider().open({
    key: 'test',
    folder,
    readOnly: [],
    network: 'none',
    limits,
  });
  onTestFinished(async () => {
    await sandbox.dispose();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    sandbox,
    async put(path, content) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    },
    get: async (path) => await readFile(join(folder, path), 'utf8').catch(() => null),
  };
}

export const resultSchema = z.object({ summary: z.string().max(100) });
export type Result = z.infer<typeof resultSchema>;
export type Reported = Parameters<AgentRequest<Result>['onProgress']>[0];

export async function aRequest(
  parts: Partial<AgentRequest<Result>> = {},
): Promise<AgentRequest<Result> & { readonly progress: Reported[] }> {
  const progress: Reported[] = [];
  return {
    runId: 'r-1',
    key: 'r-1/1/implement',
    role: 'implementer',
    model: 'anthropic:claude-sonnet-4-5',
    instructions: 'You are the implementer.',
    prompt: `${callLine('implementer', 1)}\n\nMake it.`,
    tools: TOOL_NAMES,
    resultSchema,
    sandbox: parts.sandbox ?? (await aWorkplace()).sandbox,
    maxSteps: 10,
    signal: new AbortController().signal,
    onProgress: (reported) => progress.push(reported),
    progress,
    ...parts,
  };
}

export function modelsAt(baseUrl: string): Models {
  return createModels({
    keys: { anthropic: 'key', openai: 'key', deepseek: 'key' },
    baseUrls: { anthropic: baseUrl, openai: baseUrl, deepseek: baseUrl, openaiCompatible: baseUrl },
  });
}

/** An agent that does not wait long between tries. */
export function anAgentAt(baseUrl: string, options: Partial<ToolLoopOptions> = {}) {
  return createToolLoopAgent({
    models: modelsAt(baseUrl),
    // Of refused requests the third is the last.
    delays: { firstDelayMs: 10, maxDelayMs: 2_000, maxAskedMs: 2_000, patienceMs: 33 },
    ...options,
  });
}

type Answer = FixtureFileResponse | { readonly response: FixtureFileResponse; readonly options: FixtureOpts };

/** The n-th request to the provider gets the n-th answer, whatever is asked; one too many fails the test's call. */
export function answerInTurn(provider: LLMock, answers: readonly Answer[]): void {
  const before = provider.getRequests().length;
  provider.clearFixtures();
  for (const [index, answer] of answers.entries()) {
    const { response, options } = 'options' in answer ? answer : { response: answer, options: {} };
    provider.on({ predicate: () => provider.getRequests().length - before === index }, response, options);
  }
}

/** An answer that calls tools. */
export function calls(...toolCalls: readonly (readonly [name: string, input: object])[]): FixtureFileResponse {
  return {
    content: 'I call tools.',
    toolCalls: toolCalls.map(([name, input]) => ({ name, arguments: JSON.stringify(input) })),
    usage: { prompt_tokens: 100, completion_tokens: 20, input_tokens: 100, output_tokens: 20, total_tokens: 120 },
  };
}

export const finish = (summary = 'done') => calls(['finish', { summary }]);
