/** Full auto without a plan, on a real server with real git and a real web of this machine: research, plan and features in one run. */
import { expect, it } from 'vitest';
import { builds, feature, lists, TESTED } from './full-auto.fixture.ts';
import { aPlan, finish } from '../fixtures/orchestrator.fixture.ts';
import { draft, review, STRUCTURE, WAY } from '../research-and-plan/research-and-plan.fixture.ts';
import { aResearchServer, found, OLDEST, reads, report, synthesis } from '../research/research.fixture.ts';

const folder = 'docs/research-bells';
const directions = [{ kind: 'web', question: 'How old is the oldest bell?' }];

it('researches the topic, plans, and builds the features of that plan', async () => {
  const server = await aResearchServer(
    (web) => ({
      synthesiser: [
        synthesis({ directions }),
        synthesis({
          themes: [{ id: null, title: 'Age', text: 'It dates from 1288 [F1].', findings: ['F1'] }],
          directions,
        }),
        synthesis({ directions }),
        synthesis({ analysis: 'It is old [F1].' }),
      ],
      researcher: [
        reads(
          [`${web}/oldest`],
          report([found('The oldest bell of the town was cast in 1288.', [OLDEST, `${web}/oldest`])]),
        ),
        reads([`${web}/oldest`], report([])),
        reads([`${web}/oldest`], report([])),
      ],
      'plan-architect': [draft(STRUCTURE), draft(WAY), draft(), draft(), draft(), draft()],
      'plan-critic': Array.from({ length: 6 }, () => review()),
      'feature-lister': [lists([feature(1)], ['motor', 'frame'])],
      planner: [aPlan()],
      implementer: [builds(1)],
      validator: [finish({ verdict: 'pass', severity: 'minor', summary: 'As planned.', feedback: '' })],
    }),
    { files: TESTED },
  );
  const run = await server.client.launchRun({
    projectId: server.project.id,
    workflow: 'full-auto',
    request: 'Ring the oldest bell of the town again.',
    input: { topic: 'Bells' },
    config: { git: { autoMerge: true } },
  });
  const ended = (): Promise<string> => server.client.getRun(run.id).then(({ status }) => status);
  await expect.poll(ended, { timeout: 400_000, interval: 500 }).toBe('completed');

  const done = await server.client.getRun(run.id);
  expect(done.merged?.baseBranch).toBe('main');
  expect(await server.file('main', 'sound1.sh')).toBe('echo 1\n');
  expect(await server.file('main', `${folder}/bells-report.md`)).toContain('cast in 1288');
  expect(await server.file('main', `${folder}/bells-plan.json`)).toContain('The oldest bell rings again [F1].');
  const list = JSON.parse((await server.file('main', `${folder}/feature-list.json`)) ?? '') as {
    features: readonly { id: string; passes: boolean }[];
  };
  expect(list.features).toMatchObject([{ id: 'F001', passes: true }]);
  const children = (await server.client.listRuns({ parentId: run.id })).items.map(({ workflow }) => workflow.name);
  expect(children.toSorted()).toEqual(['build', 'research-and-plan']);
}, 480_000);
