/** The command `research` against a real server. */
import { expect, it } from 'vitest';
import { commandLine as cli } from '../fixtures/command-line.fixture.ts';
import { aResearchServer, found, OLDEST, reads, report, synthesis } from './research.fixture.ts';

it('follows a run to the gate of its report, and refuses a topic that is a path and an empty question', async () => {
  const server = await aResearchServer((web) => ({
    synthesiser: [
      synthesis({ directions: [{ kind: 'web', question: 'How old is the oldest bell?' }] }),
      synthesis({ themes: [{ id: null, title: 'Age', text: 'It is old [F1].', findings: ['F1'] }] }),
    ],
    researcher: [
      reads(
        [`${web}/oldest`],
        report([found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`])]),
      ),
    ],
  }));
  const project = ['--project', server.project.id];
  expect(await cli(server, 'research', '../secrets', 'Which bell?', ...project)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('A topic is a name, not a path'),
  });
  expect(await cli(server, 'research', 'Bells', ...project)).toMatchObject({
    exitCode: 64,
    stderr: expect.stringContaining('Say what is to be found out: autonomous research "Bells" "Your question"'),
  });
  const limits = ['--researchers', '1', '--analysts', '0', '--rounds', '1', '--review'];
  const waiting = await cli(server, 'research', 'Bells', 'Which bell is the oldest?', ...limits, ...project);
  expect(waiting).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining("The report on 'Bells' has 1 finding of 1 round. Publish it?"),
  });
  const [run] = (await server.client.listRuns({ workflow: 'research' })).items;
  const { gate } = await server.until(run?.id ?? '', { gate: 'research_result' });
  await server.decide(run?.id ?? '', { decision: 'approve', artifactHash: gate?.artifactHash ?? '' });
  await server.until(run?.id ?? '', { status: 'completed' });
  expect(await server.file(run?.branch ?? '', 'docs/research-bells/bells-report.md')).toContain('cast in 1288');
});
