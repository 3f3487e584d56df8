import { build } from '../../workflows/build/index.ts';
import { knownRolesOf } from '../../workflows/workflow.ts';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { InvalidRequest } from '@autonomous/shared';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { estimateTokens } from '../../roles/tokens.ts';
import { aModelProvider, anAgentAt, answerInTurn, aRequest, calls, finish } from '../agent.fixture.ts';
import { type McpServer, parseMcpServers } from './mcp-servers.ts';

const FIXTURE = fileURLToPath(new URL('mcp-server.fixture.ts', import.meta.url));
const model = 'openai-chat:gpt-4o';

const { provider, baseUrl } = await aModelProvider();

interface StdioServer extends McpServer {
  /** Process id of the last one that was started; `null` before. */
  pid(): Promise<number | null>;
}

async function aStdioServer(change: Partial<McpServer> = {}, behaviour = 'well'): Promise<StdioServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mcp-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const pidFile = path.join(folder, 'pid');
  return {
    name: 'docs',
    reach: { kind: 'stdio', command: process.execPath, args: [FIXTURE, pidFile, behaviour], env: { MARK: 'yes' } },
    roles: ['implementer'],
    tools: null,
    timeoutMs: 30_000,
    ...change,
    pid: () => readFile(pidFile, 'utf8').then(Number, () => null),
  };
}

function isAlive(pid: number | null): boolean {
  try {
    return pid !== null && process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The tools that the model was told of in the last request. */
function told() {
  const { tools } = (provider.getLastRequest()?.body ?? { tools: [] }) as unknown as {
    tools: { function: { name: string; description: string; parameters: object } }[];
  };
  return tools.map((tool) => tool.function);
}

const offered = (): string[] => told().map(({ name }) => name);

/** What was said by one side in the last request. */
const said = (by: string): string[] =>
  (
    (provider.getLastRequest()?.body ?? { messages: [] }) as unknown as {
      messages: { role: string; content: string }[];
    }
  ).messages.flatMap(({ role, content }) => (role === by ? [content] : []));

const lastResults = () => said('tool');

describe('tools of MCP servers', () => {
  it('are offered under their server’s name, called, and gone with the call', async () => {
    const server = await aStdioServer();
    answerInTurn(provider, [
      calls(['docs__lookup', { word: 'login' }], ['docs__fail', {}], ['docs__odd_name_', {}], ['docs__large', {}]),
      finish(),
    ]);
    const request = await aRequest({ model, tools: ['read'] });
    const agent = anAgentAt(baseUrl, { mcpServers: [server] });
    expect(await agent.perform(request)).toMatchObject({ kind: 'finished' });
    expect(offered()).toEqual([
      'read',
      'docs__lookup',
      'docs__environment',
      'docs__large',
      'docs__fail',
      'docs__die',
      'docs__hang',
      'docs__odd_name_',
      'finish',
    ]);
    const [lookup, fail, odd, large = ''] = lastResults();
    expect([lookup, fail, odd]).toEqual(['login: see page 7', '{"error":"no such page"}', '[image left out]']);
    expect(large.length).toBeLessThan(21_000);
    expect(large).toContain('480000 characters left out');
    const results = request.progress.filter(({ kind }) => kind === 'tool_result');
    expect(results.map(({ data }) => data?.['ok'])).toEqual([true, false, true, true]);
    await vi.waitUntil(async () => !isAlive(await server.pid()));
  });

  it('are found behind any number of others, of which only some are offered, on pages without end', async () => {
    const agentWith = (tools: readonly string[] | null) =>
      aStdioServer({ tools }, 'many').then((server) => anAgentAt(baseUrl, { mcpServers: [server] }));
    answerInTurn(provider, [finish(), finish()]);
    await (await agentWith(['lookup', 'large'])).perform(await aRequest({ model, tools: [] }));
    expect(offered()).toEqual(['docs__lookup', 'docs__large', 'finish']);
    await (await agentWith(null)).perform(await aRequest({ model, tools: [] }));
    expect(offered()).toHaveLength(65);
  });

  it('take a quarter of the context at most; which are left out is said to the model and in the transcript', async () => {
    const heavy = await aStdioServer({ name: 'heavy' }, 'heavy');
    const docs = await aStdioServer();
    const agent = anAgentAt(baseUrl, { mcpServers: [heavy, docs], contextTokens: 16_000 });
    answerInTurn(provider, [finish(), finish()]);
    const request = await aRequest({ model, tools: [] });
    await agent.perform(request);
    const outside = told().filter(({ name }) => name !== 'finish');
    expect(outside.map(({ name }) => name.split('__')[0])).toEqual([
      ...Array.from({ length: 6 }, () => 'heavy'),
      ...Array.from({ length: 7 }, () => 'docs'),
    ]);
    const tokens = outside.reduce((sum, each) => sum + estimateTokens(JSON.stringify(each)), 0);
    expect(tokens).toBeLessThan(4_000 * 1.05);
    const missing = /no room for all tools of MCP servers; left out: heavy__heavy-6, .* and 482 more\./;
    const note = request.progress.find(({ kind }) => kind === 'note');
    expect(note?.text).toMatch(missing);
    expect(note?.data?.['leftOut']).toHaveLength(494);
    expect(said('user')[0]).toMatch(missing);

    // What a role may not use in the first place takes no room, and nobody misses it.
    const narrowed = await aRequest({
      model,
      tools: [],
      outsideTools: ['heavy__heavy-499', 'heavy__heavy-63', 'docs__*'],
    });
    await agent.perform(narrowed);
    expect(offered()).toEqual(['heavy__heavy-63', ...outside.slice(6).map(({ name }) => name), 'finish']);
    expect(narrowed.progress.find(({ kind }) => kind === 'note')?.data?.['leftOut']).toEqual(['heavy__heavy-499']);
  });

  it('are only those that the operator names, for the roles that they name, less what a role file takes away', async () => {
    const server = await aStdioServer({ tools: ['lookup', 'large'] });
    const other = await aStdioServer({ name: 'other', roles: ['planner'] });
    const agent = anAgentAt(baseUrl, { mcpServers: [server, other] });
    answerInTurn(provider, [finish(), finish(), finish()]);
    await agent.perform(await aRequest({ model, tools: [] }));
    expect(offered()).toEqual(['docs__lookup', 'docs__large', 'finish']);
    expect(await other.pid()).toBeNull();
    await agent.perform(await aRequest({ model, tools: [], outsideTools: ['docs__large', 'other__*'] }));
    expect(offered()).toEqual(['docs__large', 'finish']);
    await agent.perform(await aRequest({ model, tools: [], outsideTools: [] }));
    expect(offered()).toEqual(['finish']);
  });

  it('get nothing of the server’s environment but what is named', async () => {
    vi.stubEnv('MCP_CANARY', 'canary-of-the-server');
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = await aStdioServer();
    answerInTurn(provider, [calls(['docs__environment', {}]), finish()]);
    await anAgentAt(baseUrl, { mcpServers: [server] }).perform(await aRequest({ model }));
    expect(lastResults()[0]).toContain('MARK=yes');
    expect(lastResults()[0]).not.toContain('canary-of-the-server');
  });

  it('whose server dies give an error, and work again at the next call', async () => {
    const server = await aStdioServer();
    answerInTurn(provider, [calls(['docs__die', {}]), calls(['docs__lookup', { word: 'again' }]), finish()]);
    const request = await aRequest({ model });
    expect(await anAgentAt(baseUrl, { mcpServers: [server] }).perform(request)).toMatchObject({ kind: 'finished' });
    expect(lastResults()[0]).toContain('The MCP server docs failed: Connection closed');
    expect(lastResults()[1]).toBe('again: see page 7');
  });

  it('that give nothing in their time give an error', async () => {
    const server = await aStdioServer({ timeoutMs: 2_000 });
    answerInTurn(provider, [calls(['docs__hang', {}]), finish()]);
    await anAgentAt(baseUrl, { mcpServers: [server] }).perform(await aRequest({ model }));
    expect(lastResults()[0]).toContain('The MCP server docs failed: it gave no answer within 2 s');
  });

  it.each([
    ['cannot be started', { reach: { kind: 'stdio', command: '/nowhere/mcp', args: [], env: {} } }, 'well'],
    ['says nothing', { timeoutMs: 500 }, 'silent'],
    ['is away', { reach: { kind: 'http', url: 'http://127.0.0.1:9/mcp', headers: {} } }, 'well'],
  ] as const)('of a server that %s are missing, which is said, and the work goes on', async (_, change, behaviour) => {
    const server = await aStdioServer(change, behaviour);
    answerInTurn(provider, [finish()]);
    const request = await aRequest({ model });
    expect(await anAgentAt(baseUrl, { mcpServers: [server] }).perform(request)).toMatchObject({ kind: 'finished' });
    expect(request.progress[0]).toMatchObject({
      kind: 'note',
      text: expect.stringMatching(/^The MCP server docs cannot be used: /),
    });
    await vi.waitUntil(async () => !isAlive(await server.pid()));
  });

  it('come over HTTP as well, with the headers that are named', async () => {
    const seen: (string | undefined)[] = [];
    const http = createServer(async (request, response) => {
      seen.push(request.headers['authorization']);
      if (request.method !== 'POST') {
        response.writeHead(405).end();
        return;
      }
      const { id, method, params } = (await json(request)) as {
        id?: number;
        method: string;
        params: { protocolVersion: string };
      };
      if (id === undefined) {
        response.writeHead(202).end();
        return;
      }
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'x', version: '1' },
        },
        'tools/list': { tools: [{ name: 'lookup', description: 'Looks up.', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: 'over http' }] },
      };
      const result = results[method];
      const answer = result ? { result } : { error: { code: -32601, message: 'unknown' } };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    });
    await new Promise<void>((resolve) => {
      http.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
    const reach = { kind: 'http' as const, url, headers: { authorization: 'Bearer canary' } };
    const server = await aStdioServer({ reach });
    answerInTurn(provider, [calls(['docs__lookup', {}]), finish()]);
    await anAgentAt(baseUrl, { mcpServers: [server] }).perform(await aRequest({ model }));
    expect(lastResults()).toEqual(['over http']);
    expect(new Set(seen)).toEqual(new Set(['Bearer canary']));
  });

  it('end with a call that is aborted', async () => {
    const server = await aStdioServer();
    answerInTurn(provider, [calls(['docs__hang', {}]), finish()]);
    const abort = new AbortController();
    const request = await aRequest({
      model,
      signal: abort.signal,
      onProgress: ({ kind }) => kind === 'tool_call' && abort.abort(new Error('cancelled')),
    });
    await expect(anAgentAt(baseUrl, { mcpServers: [server] }).perform(request)).rejects.toThrow('cancelled');
    await vi.waitUntil(async () => !isAlive(await server.pid()));
  });
});

describe('the file of MCP servers', () => {
  const parse = (servers: object, env = {}) =>
    parseMcpServers(JSON.stringify({ servers }), 'mcp.json', env, knownRolesOf([build], false));

  it('names how each is reached; what comes from the environment is a secret', () => {
    const { servers, secrets } = parse(
      {
        docs: {
          command: 'docs-mcp',
          env: { TOKEN: '${DOCS_TOKEN}', MODE: 'fast' },
          roles: ['planner'],
          tools: ['search'],
        },
        tracker: {
          url: 'https://tracker.acme.test/mcp',
          headers: { authorization: 'Bearer ${T}' },
          roles: ['validator'],
          timeoutSeconds: 5,
        },
      },
      { DOCS_TOKEN: 'canary-1', T: 'canary-2' },
    );
    expect(servers).toEqual([
      {
        name: 'docs',
        reach: { kind: 'stdio', command: 'docs-mcp', args: [], env: { TOKEN: 'canary-1', MODE: 'fast' } },
        roles: ['planner'],
        tools: ['search'],
        timeoutMs: 60_000,
      },
      {
        name: 'tracker',
        reach: { kind: 'http', url: 'https://tracker.acme.test/mcp', headers: { authorization: 'Bearer canary-2' } },
        roles: ['validator'],
        tools: null,
        timeoutMs: 5_000,
      },
    ]);
    expect(secrets).toEqual(['canary-1', 'canary-2']);
  });

  it.each([
    ['no role', { docs: { command: 'x', roles: [] } }, 'servers.docs.roles'],
    ['an unknown role', { docs: { command: 'x', roles: ['cook'] } }, 'servers.docs.roles.0'],
    ['no way to reach it', { docs: { roles: ['planner'] } }, 'servers.docs.command'],
    ['an address that is none', { docs: { url: 'file:///etc/passwd', roles: ['planner'] } }, 'servers.docs.url'],
    ['an unknown key', { docs: { command: 'x', cwd: '/', roles: ['planner'] } }, 'cwd'],
    [
      'a variable that is not set',
      { docs: { command: 'x', env: { A: '${NOPE}' }, roles: ['planner'] } },
      'NOPE is not set',
    ],
    ['a name that cannot be', { 'Do cs': { command: 'x', roles: ['planner'] } }, 'Do cs'],
  ])('with %s is refused by name', (_, servers, where) => {
    const failure = (() => {
      try {
        return parse(servers);
      } catch (error) {
        return error;
      }
    })();
    expect(failure).toBeInstanceOf(InvalidRequest);
    expect((failure as InvalidRequest).message).toContain(where);
  });
});
