/** Research where something is missing or goes wrong: an agent, the judge, the search, all sources, the topic itself. */
import { expect, it } from 'vitest';
import { respond } from '../../src/web-pages/local-web.fixture.ts';
import { tool, when } from '../fixtures/orchestrator.fixture.ts';
import {
  aResearchServer,
  CRACK,
  found,
  OLDEST,
  OTHER_YEAR,
  reads,
  report,
  type ResearchServer,
  synthesis,
} from './research.fixture.ts';

const merging = { git: { autoMerge: true } };
const asks = (...questions: readonly string[]) => questions.map((question) => ({ kind: 'web', question }));
const oldest = (web: string) => found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`]);
const readReport = async ({ file }: ResearchServer) =>
  (await file('main', 'docs/research-bells/bells-report.md')) ?? '';

it('goes on with four of five researchers, and says which one came to nothing', async () => {
  const server = await aResearchServer((web) => ({
    synthesiser: [
      synthesis({ directions: asks('Question 1', 'Question 2', 'Question 3', 'Question 4', 'Question 5') }),
      synthesis(),
    ],
    researcher: [
      when('Question 1', reads([`${web}/oldest`], report([oldest(web)]))),
      when(
        'Question 2',
        reads([`${web}/crack`], report([found('A crack was found in 2019.', [CRACK, `${web}/crack`])])),
      ),
      when('Question 3', {
        turns: [{ text: 'I do not know.' }, { text: 'Nothing.' }, { tools: [tool('finish', report([]) as never)] }],
      }),
      when(
        'Question 4',
        reads([`${web}/parish`], report([found('Records name the year 1291.', [OTHER_YEAR, `${web}/parish`])])),
      ),
      when('Question 5', reads([`${web}/oldest`], report([oldest(web)]))),
    ],
  }));
  const run = await server.begin({ researchers: 5, maxRounds: 1 }, merging);
  await server.until(run, { status: 'completed' });
  expect(await server.payloads(run.id, 'ROUND_ENDED' as never)).toEqual([
    { round: 1, agents: 5, failed: 1, kept: 3, known: 1, leftOut: 0 },
  ]);
  expect(await server.payloads(run.id, 'AGENT_FAILED' as never)).toMatchObject([{ agent: 'agent-1-researcher-3' }]);
  expect(await readReport(server)).toContain('Agents that came to nothing: 1.');
});

it('takes findings for new that resemble known ones where no judge is to be had', async () => {
  const server = await aResearchServer(
    (web) => ({
      synthesiser: [synthesis({ directions: asks('How old?') }), synthesis()],
      researcher: [
        reads(
          [`${web}/oldest`],
          report([
            oldest(web),
            found('The oldest bell of the town, of 4,500 kilograms, was cast in 1288.', [OLDEST, `${web}/oldest`]),
          ]),
        ),
      ],
    }),
    // Nothing listens there.
    {
      env: { OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:1/v1', OPENAI_COMPATIBLE_API_KEY: 'a-key' },
      patienceMs: 240_000,
    },
  );
  const others = ['researcher', 'repo-analyst', 'synthesiser', 'report-repairer'];
  const modelRouting = {
    ...Object.fromEntries(others.map((role) => [role, 'scripted:test'])),
    'novelty-judge': 'openai-compatible:judge',
  };
  const run = await server.begin({ maxRounds: 1 }, { ...merging, modelRouting });
  await server.until(run, { status: 'completed' });
  expect(await server.payloads(run.id, 'NOVELTY_JUDGED' as never)).toMatchObject([
    { isNew: true, why: expect.stringContaining('No judge was to be had') },
  ]);
  expect(await server.payloads(run.id, 'FINDING_KEPT' as never)).toHaveLength(2);
});

it('gives a message to the agents of the next round', async () => {
  const waiting = Promise.withResolvers<void>();
  const isAsked = Promise.withResolvers<void>();
  const server = await aResearchServer(
    (web) => ({
      synthesiser: [
        synthesis({ directions: asks('How old?') }),
        synthesis({ directions: asks('What else?') }),
        synthesis(),
      ],
      researcher: [
        when('Question of the first round', reads([], report([]))),
        when(
          'Look at the records of the parish',
          reads([`${web}/parish`], report([found('Records name the year 1291.', [OTHER_YEAR, `${web}/parish`])])),
        ),
        // The message comes while it reads: its first result is not taken before it has read that.
        {
          turns: [
            { tools: [tool('fetch', { address: `${web}/slow` })] },
            { tools: [tool('finish', report([]) as never)] },
            { tools: [tool('finish', report([]) as never)] },
          ],
        },
      ],
    }),
    {
      pages: {
        '/slow': (request, response) => {
          isAsked.resolve();
          void waiting.promise.then(() => respond('text/plain', 'A slow page about bells.')(request, response));
        },
      },
    },
  );
  const run = await server.begin({ maxRounds: 2 }, merging);
  await isAsked.promise;
  await server.client.sendMessage(run.id, 'Look at the records of the parish');
  waiting.resolve();
  await server.until(run, { status: 'completed' });
  expect(await server.payloads(run.id, 'FINDING_KEPT' as never)).toMatchObject([
    { round: 2, claim: 'Records name the year 1291.' },
  ]);
});

it('reads the project alone where no search is configured, and says what to set', async () => {
  const server = await aResearchServer(
    () => ({
      synthesiser: [
        synthesis({
          directions: [...asks('What is known?'), { kind: 'repository', question: 'What do the files say?' }],
        }),
        synthesis(),
      ],
      researcher: [reads([], report([], { summary: 'There is no search, and no address is named.' }))],
      'repo-analyst': [
        {
          turns: [
            { tools: [tool('read', { path: 'bells.md' })] },
            {
              tools: [
                tool(
                  'finish',
                  report([
                    found('The tower has two bells.', ['The tower of the town has two bells.', 'file:bells.md']),
                  ]) as never,
                ),
              ],
            },
          ],
        },
      ],
    }),
    { files: { 'bells.md': '# Bells\n\nThe tower of the town has\ntwo bells.\n' } },
  );
  const run = await server.begin({ researchers: 1, analysts: 1, maxRounds: 1 }, merging);
  await server.until(run, { status: 'completed' });
  expect(JSON.stringify(await server.payloads(run.id, 'NOTICE'))).toContain(
    'Set EXA_API_KEY or BRAVE_API_KEY of the server',
  );
  const markdown = await readReport(server);
  expect(markdown).toContain('The tower has two bells');
  expect(markdown).toContain('bells.md');
});

it('ends with a report that says so where no source can be reached', async () => {
  const server = await aResearchServer((web) => ({
    synthesiser: [synthesis({ directions: asks('How old?') }), synthesis({ executiveSummary: 'It was cast in 1288.' })],
    researcher: [1, 2].map(() =>
      reads(
        [`${web}/lost`, 'http://127.0.0.1:1/oldest', 'https://no-such-host.invalid/oldest'],
        report([found('The oldest bell of the town was cast in 1288.', [OLDEST, 'http://127.0.0.1:1/oldest'])]),
      ),
    ),
  }));
  const run = await server.begin({ quietRounds: 1 }, merging);
  await server.until(run, { status: 'completed' });
  expect(await server.payloads(run.id, 'SOURCE_FETCHED' as never)).toEqual([]);
  const [body = '', leftOut = ''] = (await readReport(server)).split('## Left out');
  expect(body).toContain('No finding.');
  expect(body).not.toContain('1288');
  expect(leftOut).toContain('was refused');
});

it('refuses a topic that is empty or a path, by name', async () => {
  const server = await aResearchServer(() => ({}));
  for (const topic of ['', '   ']) await expect(server.begin({ topic })).rejects.toThrow('A topic has a name, such as');
  for (const topic of ['../secrets', 'docs/bells', '/etc/passwd', 'C:\\bells', 'bells..', '.hidden'])
    await expect(server.begin({ topic }), topic).rejects.toThrow('A topic is a name, not a path');
  await expect(server.begin({ researchers: 6 })).rejects.toThrow(/researchers/i);
});
