/** A research on a real server as clients show it: its projection, and its report as PDF where LaTeX is installed. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { aResearchServer, CRACK, found, OLDEST, reads, report, synthesis } from './research.fixture.ts';

const isInstalled = (program: string): boolean => {
  try {
    execFileSync('which', [program], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

it('shows rounds, sources and what was left out while a person decides, with the report as PDF', async (context) => {
  if (!isInstalled('latexmk')) context.skip('LaTeX is not installed');
  const server = await aResearchServer((web) => ({
    synthesiser: [
      synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest bell?' }] }),
      synthesis({ themes: [{ id: null, title: 'Age', text: 'It dates from 1288 [F1].', findings: ['F1'] }] }),
    ],
    researcher: [
      reads(
        [`${web}/oldest`, `${web}/private`],
        report([
          found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`]),
          found('A crack was found in the great bell in 2019.', [CRACK, `${web}/crack`]),
        ]),
      ),
      reads([], report([found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`])])),
    ],
  }));
  const run = await server.begin({ maxRounds: 1 }, { trustMode: { implementation: 'manual' } });
  const waiting = await server.until(run, { status: 'awaiting_approval' });

  const { sections, sequence } = await server.client.getProjection(run.id);
  expect(sequence).toBeGreaterThanOrEqual(waiting.lastSequence);
  expect(sections.map(({ id }) => id)).toEqual([
    'new-findings',
    'rounds',
    'sources',
    'left-out',
    'open-questions',
    'contradictions',
  ]);
  const [plot, rounds, sources] = sections;
  expect(plot).toMatchObject({ labels: ['1'], series: [{ values: [1] }], threshold: { value: 2 } });
  expect(rounds).toMatchObject({
    entries: [{ title: 'Round 1', mark: { text: 'quiet' }, parts: [{ title: 'Researcher 1' }] }],
  });
  expect(sources?.kind === 'table' && sources.rows.map(([, status]) => status?.text)).toEqual(['Read', 'Not read']);
  const info = (await server.client.listWorkflows()).find(({ name }) => name === 'research');
  expect(info?.hasProjection).toBe(true);

  const pdf = waiting.artifacts.find(({ type }) => type === 'research_pdf');
  const { content, encoding } = await server.client.getArtifact(run.id, pdf?.id ?? '');
  expect(encoding).toBe('base64');
  expect(Buffer.from(content, 'base64').subarray(0, 5).toString()).toBe('%PDF-');
  const text = waiting.artifacts.find(({ type }) => type === 'research_report');
  expect(await server.client.getArtifact(run.id, text?.id ?? '')).not.toHaveProperty('encoding');
});
