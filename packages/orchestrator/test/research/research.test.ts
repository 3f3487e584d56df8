/** Research on a real server with real git and a real web of this machine: its rounds, its citations and its report. */
import { expect, it } from 'vitest';
import { tool } from '../fixtures/orchestrator.fixture.ts';
import { aResearchServer, CRACK, found, OLDEST, reads, report, synthesis } from './research.fixture.ts';

const merging = { git: { autoMerge: true } };

it('researches until the rounds bring little that is new, and merges a report with its sources', async () => {
  const server = await aResearchServer((web) => ({
    synthesiser: [
      synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest bell?' }] }),
      synthesis({
        executiveSummary: 'The oldest bell was cast in 1288 [F1]. It was cast in 1300 [F1]. Nobody knows more [F9].',
        themes: [{ id: null, title: 'Age', text: 'It dates from 1288 [F1].', findings: ['F1'] }],
        directions: [{ kind: 'web', question: 'What is its state?' }],
      }),
      synthesis({
        themes: [{ id: null, title: 'State', text: 'A crack was found [F2].', findings: ['F2'] }],
        analysis: 'It is old [F1] and cracked [F2].',
      }),
    ],
    researcher: [
      reads(
        [`${web}/oldest`],
        report([found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`])]),
      ),
      reads([`${web}/crack`], report([found('A crack was found in the great bell in 2019.', [CRACK, `${web}/crack`])])),
    ],
  }));
  const run = await server.begin({ quietRounds: 1, maxRounds: 2, newFindings: 1 }, merging);
  const done = await server.until(run, { status: 'completed' });

  expect(done.merged?.baseBranch).toBe('main');
  const folder = 'docs/research-bells';
  const markdown = (await server.file('main', `${folder}/bells-report.md`)) ?? '';
  expect(markdown).toContain('cast in 1288');
  expect(markdown).not.toContain('1300');
  expect(markdown).not.toContain('Nobody knows more');
  const tex = (await server.file('main', `${folder}/bells-report.tex`)) ?? '';
  expect(tex).toContain('% finding F1');
  expect(await server.file('main', `${folder}/sources.bib`)).toContain('Jane Doe');
  const state = (await server.file('main', `${folder}/bells-state.md`)) ?? '';
  expect(state).toContain('findings_count: 2');
  expect(state).toContain('status: completed');
  expect(await server.payloads(run.id, 'SENTENCE_LEFT_OUT' as never)).toHaveLength(2);
});

it('sends fabricated and unread passages back once, and then leaves them out and lists them', async () => {
  const fabricated = 'The bell was blessed by seven bishops on a cold morning.';
  const server = await aResearchServer((web) => {
    const right = found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`]);
    const invented = found('The bell was blessed by seven bishops.', [fabricated, `${web}/oldest`]);
    const unread = found('A crack was found in the great bell in 2019.', [CRACK, `${web}/crack`]);
    const otherYear = found('The oldest bell of the town was cast in 1290.', [OLDEST, `${web}/oldest`]);
    const refused = found('Nobody is to read this page of the site.', [
      'Nobody is to read this page of the site.',
      `${web}/private`,
    ]);
    return {
      synthesiser: [
        synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest bell?' }] }),
        synthesis({ themes: [{ id: null, title: 'Age', text: 'It is old [F1].', findings: ['F1'] }] }),
      ],
      researcher: [
        reads([`${web}/oldest`, `${web}/private`], report([right, invented, unread, otherYear, refused])),
        // The second report counts. It reads the page that the first one did not read.
        reads([`${web}/crack`], report([right, invented, unread, refused])),
      ],
    };
  });
  const run = await server.begin({ maxRounds: 1 }, merging);
  await server.until(run, { status: 'completed' });

  const leftOut = (await server.payloads(run.id, 'CITATION_LEFT_OUT' as never)) as unknown as {
    claim: string;
    reason: string;
  }[];
  expect(leftOut.map(({ claim }) => claim)).toEqual([
    'The bell was blessed by seven bishops.',
    'Nobody is to read this page of the site.',
  ]);
  expect(leftOut[1]?.reason).toContain('robots.txt');
  const markdown = (await server.file('main', 'docs/research-bells/bells-report.md')) ?? '';
  const [body = '', list = ''] = markdown.split('## Left out');
  expect(body).not.toContain('bishops');
  expect(body).not.toContain('1290');
  expect(body).toContain('A crack was found');
  expect(list).toContain('seven bishops');
  expect(server.site.asked).not.toContain('/private');
});

it('goes on where one agent comes to nothing, and asks a person where all of them do', async () => {
  const nothing = {
    turns: [{ text: 'I do not know.' }, { text: 'Nothing.' }, { tools: [tool('finish', report([]) as never)] }],
  };
  const server = await aResearchServer((web) => ({
    synthesiser: [
      synthesis({
        directions: [
          { kind: 'web', question: 'How old is the oldest bell?' },
          { kind: 'web', question: 'What is its state?' },
        ],
      }),
      synthesis({
        themes: [{ id: null, title: 'Age', text: 'It is old [F1].', findings: ['F1'] }],
        directions: [
          { kind: 'web', question: 'What else?' },
          { kind: 'web', question: 'What not?' },
        ],
      }),
      synthesis(),
    ],
    researcher: [
      nothing,
      reads(
        [`${web}/oldest`],
        report([found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`])]),
      ),
      nothing,
      nothing,
      reads([`${web}/crack`], report([])),
      reads([`${web}/crack`], report([])),
    ],
  }));
  const run = await server.begin({ researchers: 2, maxRounds: 2 }, merging);
  const paused = await server.until(run, { gate: 'pause' });
  expect(JSON.stringify(paused.gate)).toContain('called no tool');
  expect(await server.payloads(run.id, 'ROUND_ENDED' as never)).toEqual([
    { round: 1, agents: 2, failed: 1, kept: 1, known: 0, leftOut: 0 },
  ]);
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { status: 'completed' });
  expect(await server.payloads(run.id, 'RESEARCH_ENDED' as never)).toHaveLength(1);
});
