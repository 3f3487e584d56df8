/**
 * Tools of MCP servers for one call of a role. A server is started or reached when the call begins and closed when it ends; one
 * that cannot be used is a note and a tool error, never the end of the run. These servers work outside of the sandbox, as their
 * operator wishes.
 */
import type { MCPClient } from '@ai-sdk/mcp';
import { estimateTokens } from '../../roles/tokens.ts';
import type { AgentRequest, CallTool } from '../agent.ts';
import type { McpServer } from './mcp-servers.ts';

/** Its name is `<server>__<tool>`; it throws only when it is aborted. */
export type OutsideTool = CallTool;

export interface OutsideTools {
  readonly tools: readonly OutsideTool[];
  /** Names of those that a role may use and is not told of, for want of room. */
  readonly leftOut: readonly string[];
  close(): Promise<void>;
}

const MOST_TOOLS = 64;
/** A server may have a next page for ever. */
const MOST_PAGES = 100;
const LONGEST_NAME = 64;
const LONGEST_DESCRIPTION = 2_000;
const LONGEST_SCHEMA = 20_000;
const LONGEST_RESULT = 20_000;
const CLOSE_WITHIN_MS = 3_000;

/**
 * Opens the tools of these servers that a request may use. Throws only when the request is aborted.
 * @param mostTokens maximum of the estimated tokens of all names, descriptions and schemas
 */
export async function openOutsideTools(
  servers: readonly McpServer[],
  request: Pick<AgentRequest<unknown>, 'role' | 'outsideTools' | 'signal' | 'onProgress'>,
  mostTokens: number,
): Promise<OutsideTools> {
  const connections = servers
    .filter(({ roles }) => roles.some((role) => role === request.role))
    .map((server) => new Connection(server));
  const close = async (): Promise<void> => {
    await Promise.all(connections.map((connection) => connection.close()));
  };
  const offered = await Promise.all(
    connections.map((connection) =>
      connection.tools(request.signal).catch((error: unknown) => {
        const text = `The MCP server ${connection.name} cannot be used: ${wordsOf(error)}`;
        request.onProgress({ kind: 'note', text });
        return { tools: [], beyond: [] };
      }),
    ),
  );
  if (request.signal.aborted) {
    await close();
    request.signal.throwIfAborted();
  }
  const mayUse = (name: string): boolean => isLeft(name, request.outsideTools);
  const wanted = offered.map(({ tools }) => tools.filter(({ name }) => mayUse(name)));
  const tools = withRoom(wanted, mostTokens);
  const without = wanted.flat().filter((tool) => !tools.includes(tool));
  const beyond = offered.flatMap((server) => server.beyond).filter(mayUse);
  return { tools, leftOut: [...without.map(({ name }) => name), ...beyond], close };
}

/** Those for which there is room: first one of each server, then a second of each. */
function withRoom(servers: readonly (readonly OutsideTool[])[], tokens: number): OutsideTool[] {
  const turns = servers.flatMap((tools) => tools.map((tool, turn) => ({ tool, turn })));
  const taken = new Set<OutsideTool>();
  let room = tokens;
  for (const { tool } of turns.toSorted((a, b) => a.turn - b.turn)) {
    const { name, description, inputSchema } = tool;
    const needed = estimateTokens(JSON.stringify({ name, description, inputSchema }));
    if (needed > room) continue;
    room -= needed;
    taken.add(tool);
  }
  return servers.flat().filter((tool) => taken.has(tool));
}

/** @param left `server__tool` or `server__*`; absent leaves all */
function isLeft(name: string, left: readonly string[] | undefined): boolean {
  const lower = name.toLowerCase();
  return (
    left === undefined ||
    left.some((one) => one === lower || (one.endsWith('__*') && lower.startsWith(one.slice(0, -1))))
  );
}

/** A server with its client, which is replaced after its connection was lost. */
class Connection {
  readonly #server: McpServer;
  #client: Promise<MCPClient> | null = null;

  constructor(server: McpServer) {
    this.#server = server;
  }

  get name(): string {
    return this.#server.name;
  }

  /**
   * @returns `beyond`: names of tools that no request can have, since they are too many or their schemas too long
   * @throws when the server cannot be reached or does not answer in time
   */
  async tools(signal: AbortSignal): Promise<{ readonly tools: OutsideTool[]; readonly beyond: string[] }> {
    const { name: server, tools: allowed } = this.#server;
    const usable: Awaited<ReturnType<MCPClient['listTools']>>['tools'] = [];
    const tooLong: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const after = cursor === undefined ? {} : { params: { cursor } };
      const page = await this.#within(signal, async (client, options) => client.listTools({ ...after, options }));
      for (const tool of page.tools.filter(({ name }) => allowed === null || allowed.includes(name))) {
        if (JSON.stringify(tool.inputSchema).length <= LONGEST_SCHEMA) usable.push(tool);
        else tooLong.push(tool.name);
      }
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== undefined && usable.length < (allowed?.length ?? MOST_TOOLS) && pages < MOST_PAGES);
    const tooMany = usable.slice(MOST_TOOLS).map(({ name }) => name);
    return {
      tools: usable.slice(0, MOST_TOOLS).map(({ name, description, inputSchema }) => ({
        name: nameOf(server, name),
        description: cut(description ?? `The tool ${name} of ${server}.`, LONGEST_DESCRIPTION),
        inputSchema,
        call: (input, callSignal) => this.#call(name, input, callSignal),
      })),
      beyond: [...tooMany, ...tooLong].map((name) => nameOf(server, name)),
    };
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    if (client === null) return;
    // A server that does not let go is left to itself: its process is told to end all the same.
    const closed = client.then((open) => open.close()).catch(() => undefined);
    await Promise.race([closed, later(CLOSE_WITHIN_MS)]);
  }

  async #call(name: string, input: unknown, signal: AbortSignal): Promise<{ ok: boolean; text: string }> {
    if (typeof input !== 'object' || input === null || Array.isArray(input))
      return { ok: false, text: `The input of ${name} is not an object.` };
    try {
      const result = await this.#within(signal, async (client, options) =>
        client.callTool({ name, arguments: { ...input }, options }),
      );
      return { ok: !('isError' in result && result.isError === true), text: cut(textOf(result), LONGEST_RESULT) };
    } catch (error) {
      signal.throwIfAborted();
      // Whether it died or only took too long: the next call has a new one.
      void this.close();
      return { ok: false, text: `The MCP server ${this.name} failed: ${wordsOf(error)}` };
    }
  }

  /** Asks within the server's time; a request that comes late or never is given up. */
  async #within<Value>(
    signal: AbortSignal,
    ask: (client: MCPClient, options: { readonly signal: AbortSignal }) => Promise<Value>,
  ): Promise<Value> {
    const { timeoutMs } = this.#server;
    const ending = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const work = (async () => ask(await this.#open(ending), { signal: ending }))();
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const onEnd = () => reject(new Error(`it gave no answer within ${timeoutMs / 1_000} s`));
    ending.addEventListener('abort', onEnd, { once: true });
    if (ending.aborted) onEnd();
    work.catch(() => undefined);
    try {
      return await Promise.race([work, ended]);
    } finally {
      ending.removeEventListener('abort', onEnd);
    }
  }

  #open(signal: AbortSignal): Promise<MCPClient> {
    if (this.#client !== null) return this.#client;
    const client = this.#connect(signal);
    this.#client = client;
    client.catch(() => {
      if (this.#client === client) this.#client = null;
    });
    return client;
  }

  async #connect(signal: AbortSignal): Promise<MCPClient> {
    // Most servers have no such tools and need none of it.
    const [{ createMCPClient }, { StdioMCPTransport }] = await Promise.all([
      import('@ai-sdk/mcp'),
      import('@ai-sdk/mcp/mcp-stdio'),
    ]);
    const { reach } = this.#server;
    const transport =
      reach.kind === 'http'
        ? { type: 'http' as const, url: reach.url, headers: { ...reach.headers } }
        : // Its errors would else be written into the server's own log.
          new StdioMCPTransport({
            command: reach.command,
            args: [...reach.args],
            env: { ...reach.env },
            stderr: 'ignore',
          });
    return createMCPClient({
      transport,
      clientName: 'autonomous',
      initializationOptions: { signal },
      // A lost connection shows at the next call.
      onUncaughtError: () => undefined,
    });
  }
}

function nameOf(server: string, tool: string): string {
  return `${server}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`.slice(0, LONGEST_NAME);
}

/** The text of a result; what is no text is named. */
function textOf(result: Awaited<ReturnType<MCPClient['callTool']>>): string {
  // The two forms of a result are told apart by what they hold.
  const content = 'content' in result && Array.isArray(result.content) ? (result.content as readonly Content[]) : [];
  const texts = content.map((part) => {
    if (part.type === 'text') return part.text ?? '';
    if (part.type === 'resource' && typeof part.resource?.text === 'string') return part.resource.text;
    if (part.type === 'resource_link') return `[link to ${part.uri ?? 'a resource'}]`;
    return `[${part.type} left out]`;
  });
  const text = texts.join('\n').trim();
  if (text !== '') return text;
  if ('structuredContent' in result) return JSON.stringify(result.structuredContent) ?? '';
  return '(the tool gave nothing)';
}

interface Content {
  readonly type: string;
  readonly text?: string;
  readonly uri?: string;
  readonly resource?: { readonly text?: unknown };
}

function wordsOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return cut(text.replaceAll(/\s+/g, ' ').trim(), 300);
}

function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const half = Math.floor(length / 2);
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(-half)}`;
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
