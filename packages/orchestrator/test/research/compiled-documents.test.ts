/** Reports of runs as PDFs on request, by the real LaTeX in the real sandbox. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { commandLine as cli } from '../fixtures/command-line.fixture.ts';
import { tool } from '../fixtures/orchestrator.fixture.ts';
import { aResearchServer, found, OLDEST, reads, report, synthesis } from './research.fixture.ts';

const absent = ['latexmk', 'pdftotext'].filter((name) => spawnSync(name, ['-v']).error !== undefined);
const whyNot = absent.length === 0 ? '' : `${absent.join(', ')} not installed`;

const textOf = (file: string): string => spawnSync('pdftotext', ['-layout', file, '-'], { encoding: 'utf8' }).stdout;

it(
  'a report is compiled between its rounds, as it is then; the run does not change',
  { timeout: 240_000 },
  async (context) => {
    if (whyNot !== '') context.skip(whyNot);
    const server = await aResearchServer((web) => ({
      synthesiser: [
        synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest bell?' }] }),
        synthesis({
          themes: [{ id: null, title: 'Age', text: 'It is old [F1].', findings: ['F1'] }],
          directions: [{ kind: 'web', question: 'Was it mended?' }],
        }),
        synthesis(),
      ],
      researcher: [
        reads(
          [`${web}/oldest`],
          report([found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`])]),
        ),
        { turns: [{ tools: [tool('finish', report([]) as never)], delayMs: 600_000 }] },
      ],
    }));
    const { id } = await server.begin({ maxRounds: 2 });
    expect(await cli(server, 'compile', id)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('has no report yet: it is written at the end of each round'),
    });
    await expect.poll(async () => (await server.client.getRun(id)).artifacts.length).toBe(2);
    const before = await server.client.listEvents(id, 0);
    const file = path.join(server.folder, 'bells-report.pdf');
    expect(await cli(server, 'compile', id)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(file) });
    expect(textOf(file)).toContain('was cast in 1288');
    writeFileSync(file, 'mine');
    expect(await cli(server, 'compile', id)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`${file} is there already. Name it, or another file, with --out.`),
    });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const other = path.join(server.folder, 'other.pdf');
    expect(await cli(server, 'compile', id, '--document', 'research_pdf', '--out', other)).toMatchObject({
      exitCode: 0,
    });
    expect(existsSync(other)).toBe(true);
    const after = await server.client.listEvents(id, 0);
    expect(after.filter(({ type }) => type === 'ARTIFACT_CREATED')).toEqual(
      before.filter(({ type }) => type === 'ARTIFACT_CREATED'),
    );
    await server.client.cancelRun(id);
  },
);

it('says which PDFs there are, and that a workflow writes none', async () => {
  const server = await aResearchServer(() => ({ synthesiser: [synthesis()] }));
  const { id } = await server.begin();
  expect(await cli(server, 'compile', id, '--document', 'plan')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("'plan' is no PDF of the workflow 'research'. It has: research_pdf."),
  });
  const build = await server.client.launchRun({ projectId: server.project.id, workflow: 'build', request: 'Add.' });
  expect(await cli(server, 'compile', build.id)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("has nothing to compile: the workflow 'build' writes no LaTeX"),
  });
  for (const run of [id, build.id]) await server.client.cancelRun(run);
});
