/**
 * Research through the real tool loop: models and a search API in their wire formats, over HTTP, with the faults that they have.
 * An agent lies in each of its reports.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import type { Script } from '../../src/models/script.ts';
import { type SearchDocument, startSearchApi } from '../../src/web-pages/search/search-apis.fixture.ts';
import { startLocalSite } from '../../src/web-pages/local-web.fixture.ts';
import { tool, when } from '../fixtures/orchestrator.fixture.ts';
import { aResearchServer, found, OLDEST, PAGES, report, synthesis } from './research.fixture.ts';
import { startScriptedProvider, type WireFormat } from '../fixtures/scripted-provider.fixture.ts';

const KEY = 'a-key-of-the-test';

const sends = (response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}) =>
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body);

/** A search API that answers some queries as APIs do on bad days. */
function badDay() {
  const asked = new Map<string, number>();
  const day = { isOver: false };
  const answer = (request: IncomingMessage, response: ServerResponse): unknown => {
    const query = new URL(request.url ?? '/', 'http://localhost').searchParams.get('q') ?? '';
    const times = (asked.get(query) ?? 0) + 1;
    asked.set(query, times);
    if (query.includes('hurried') && times === 1) return sends(response, 429, '{}', { 'Retry-After': '1' });
    if (query.includes('garbled')) return sends(response, 200, '<html>Welcome to our portal</html>');
    if (query.includes('exhausted') && !day.isOver) return sends(response, 429, '{}', { 'Retry-After': '3600' });
    return false;
  };
  return { asked, day, answer };
}

const searches = (query: string) => ({ tools: [tool('web_search', { query })] });
const finishes = (result: object) => ({ tools: [tool('finish', result as never)] });
const asks = (...questions: readonly string[]) =>
  questions.map((question) => ({ kind: 'web', question: `Question ${question}` }));

function scriptOf(web: string): Script {
  const honest = found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`]);
  const lie = found('The oldest bell of the town weighs 5,400 kilograms.', [OLDEST, `${web}/oldest`]);
  const excerpt = found('A crack was found in the great bell in 2019.', [
    'A crack was found in the great bell in March 2019',
    `${web}/crack`,
  ]);
  const lying = report([honest, lie, excerpt], { summary: 'Report of the liar.' });
  return {
    name: 'test',
    roles: {
      synthesiser: [
        synthesis({ directions: asks('hurried', 'empty', 'garbled') }),
        synthesis({
          executiveSummary: 'It was cast in 1288 [F1]. It weighs 5,400 kilograms [F1].',
          directions: asks('exhausted'),
        }),
        synthesis(),
      ],
      researcher: [
        when('Report of the liar.', { turns: [finishes(lying)] }),
        when('Question hurried', {
          turns: [searches('hurried bell'), { tools: [tool('fetch', { address: `${web}/oldest` })] }, finishes(lying)],
        }),
        when('Question empty', { turns: [searches('zeppelin'), finishes(report([]))] }),
        when('Question garbled', { turns: [searches('garbled bell'), finishes(report([]))] }),
        when('Question exhausted', { turns: [searches('exhausted bell'), finishes(report([]))] }),
      ],
    },
  };
}

it.each([
  ['anthropic:claude-opus-5-5', 'messages', 'ANTHROPIC'],
  ['openai-compatible:qwen3', 'chat/completions', 'OPENAI_COMPATIBLE'],
] as const satisfies readonly (readonly [string, WireFormat, string])[])(
  'goes on or pauses with the reason where models and the search API fail, and leaves out what is not so: %s',
  async (model, format, variable) => {
    const site = await startLocalSite(PAGES);
    onTestFinished(() => site.close());
    const documents: SearchDocument[] = [
      { title: 'The oldest bell', url: `${site.origin}/oldest`, text: OLDEST },
      { title: 'A crack', url: `${site.origin}/crack`, text: 'A crack was found in the great bell in March 2019' },
    ];
    const search = await startSearchApi('brave', documents);
    onTestFinished(() => search.close());
    const { asked, day, answer } = badDay();
    search.override = answer;
    const provider = await startScriptedProvider({
      script: scriptOf(site.origin),
      format,
      apiKey: KEY,
      // Each model has one fault of its own.
      faultFor: ({ role, turn, attempt }) => {
        if (attempt > 1 || turn > 1) return null;
        return role === 'synthesiser' ? 'server_error' : 'rate_limit';
      },
    });
    onTestFinished(() => provider.stop());
    const server = await aResearchServer(() => ({}), {
      env: {
        WEB_ALLOW: `*,internal:127.0.0.1:${site.port}`,
        [`${variable}_BASE_URL`]: provider.baseUrl,
        [`${variable}_API_KEY`]: KEY,
        BRAVE_API_KEY: search.key,
        SEARCH_API_URL: search.baseUrl,
      },
      patienceMs: 240_000,
    });
    const roles = ['researcher', 'repo-analyst', 'synthesiser', 'novelty-judge', 'report-repairer'];
    const run = await server.begin(
      { researchers: 3, maxRounds: 2 },
      { git: { autoMerge: true }, modelRouting: Object.fromEntries(roles.map((role) => [role, model])) },
    );

    const paused = await server.until(run, { gate: 'pause' });
    expect(paused.gate?.summary).toContain('The search API Brave limits the rate (HTTP 429)');
    expect(await server.payloads(run.id, 'ROUND_ENDED' as never)).toEqual([
      { round: 1, agents: 3, failed: 1, kept: 1, known: 0, leftOut: 2 },
    ]);
    expect(await server.payloads(run.id, 'AGENT_FAILED' as never)).toMatchObject([
      { agent: 'agent-1-researcher-3', reason: expect.stringContaining('sent something that is not an answer') },
      { agent: 'agent-2-researcher-1', reason: expect.stringContaining('limits the rate') },
    ]);
    day.isOver = true;
    await server.decide(run, { decision: 'retry' });
    const done = await server.until(run, { status: 'completed' });

    const markdown = (await server.file('main', 'docs/research-bells/bells-report.md')) ?? '';
    const [body = '', leftOut = ''] = markdown.split('## Left out');
    expect(body).toContain('cast in 1288');
    expect(body).not.toContain('5,400');
    expect(body).not.toContain('A crack');
    expect(leftOut).toContain('The quotes do not state the number "5,400');
    expect(leftOut).toContain('/crack was not fetched in this run.');
    expect(done.scriptedModels).toEqual([]);
    expect(Object.fromEntries(asked)).toEqual({
      'hurried bell': 2,
      zeppelin: 1,
      'garbled bell': 1,
      'exhausted bell': 2,
    });
    const served = provider.served();
    expect(new Set(served.map((request) => `${request.path} ${request.streamed}`))).toEqual(
      new Set([`/v1/${format} true`]),
    );
    expect(served.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    expect(served.filter(({ status }) => status === 500).length).toBeGreaterThan(0);
  },
  300_000,
);
