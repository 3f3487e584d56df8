/** The example of a custom workflow with agents and child runs, on a server process of its own with real git. */
import { type RunConfigRequest, shownAt } from '@autonomous/shared';
import { ApiError } from '@autonomous/shared/client';
import { expect, it } from 'vitest';
import { workflows } from '../../src/workflows/index.ts';
import { aPlan, aScript, FILES, finish, passes, when, writes } from '../fixtures/orchestrator.fixture.ts';
import { aPlace, PATIENCE, type Place } from './example.fixture.ts';

const split = (title: string) => ({
  title,
  summary: 'First the name, then the greeting.',
  changes: [
    { title: 'Name', request: 'Add `name.sh`, which prints a name.', reason: 'Nothing uses it yet.' },
    { title: 'Greeting', request: 'Greet the name in `greet.sh`.', reason: 'It builds on the name.' },
  ],
});

const SCRIPT = aScript({
  surveyor: [when('Mention the tests', finish(split('Greet by name, tested'))), finish(split('Greet by name'))],
  planner: [
    when('An earlier run has built', aPlan({ title: 'Greeting' })),
    when('Another run builds', aPlan({ title: 'Name' })),
  ],
  implementer: [
    when('An earlier run has built', writes({ 'greet.sh': 'echo "hello $(sh name.sh)"\n' })),
    when('Another run builds', writes({ 'name.sh': 'echo Ada\n' })),
  ],
  validator: [passes(), passes()],
});

const launched = (place: Place, config: RunConfigRequest = {}) => place.launch({ request: 'Greet by name', config });

it('splits a request, asks a person, and builds and merges both changes in their order', async () => {
  const place = await aPlace({ workflow: 'two-changes', script: SCRIPT });
  const { client } = place;
  const info = (await client.listWorkflows()).find(({ name }) => name === 'two-changes');
  expect(info).toMatchObject({ title: 'Two changes', roles: [{ name: 'surveyor', title: 'Surveyor' }] });

  const { id, branch } = await launched(place, { trustMode: { planning: 'auto' }, git: { autoMerge: true } });
  const first = await place.gate(id);
  expect(first).toMatchObject({
    status: 'awaiting_approval',
    gate: { kind: 'split', decisions: ['approve', 'reject'], summary: "Build 'Greet by name' as two changes?" },
  });
  const [document] = first.artifacts;
  expect(document).toMatchObject({ type: 'split', hash: first.gate?.artifactHash, scripted: true });
  expect((await client.getArtifact(id, document?.id ?? '')).content).toContain('## 2. Greeting');

  // The first version cannot be approved once there is a new one.
  // The options that are shown fit every decision, and name what was shown.
  const [, options = ''] = /^decide +(.*)$/m.exec(await place.command('show', id)) ?? [];
  expect(options).toContain('--hash');
  const reject = ['reject', id, '--feedback', 'Mention the tests.', ...options.split(' ')];
  expect(await place.refused(...reject.slice(0, -1), 'another')).toContain('does not show what --hash names');
  await place.command(...reject);
  await expect.poll(async () => (await client.getRun(id)).gate?.summary, PATIENCE).toMatch(/tested/);
  if (first.gate === null) throw new Error('there is no gate');
  await expect(client.decideGate(first.gate.id, { decision: 'approve', ...shownAt(first.gate) })).rejects.toThrow(
    /is already decided/,
  );
  const second = await place.gate(id);
  if (second.gate === null) throw new Error('there is no gate');
  await client.decideGate(second.gate.id, { decision: 'approve', ...shownAt(second.gate) });

  const done = await place.ends(id);
  expect(done).toMatchObject({ status: 'completed', progress: { done: 2, total: 2 }, merged: { baseBranch: 'main' } });
  const children = (await client.listRuns({ parentId: id })).items.toSorted((a, b) =>
    a.createdAt < b.createdAt ? -1 : 1,
  );
  expect(children.map(({ workflow, status, branch: of }) => [workflow.name, status, of.replace(/^.*-/, '')])).toEqual([
    ['build', 'completed', 'name'],
    ['build', 'completed', 'greeting'],
  ]);
  // The second change was built on top of the first.
  expect(children[1]?.baseCommit).not.toBe(children[0]?.baseCommit);
  expect(await place.remote('show', 'main:name.sh')).toBe('echo Ada\n');
  expect(await place.remote('show', 'main:greet.sh')).toContain('hello');
  expect(await place.remote('show', `${branch}:.autonomous/runs/${id}/split.md`)).toContain('# Greet by name, tested');
  // Both merges were checked by the run itself before its branch moved.
  const evidence = (await client.listEvents(id, 0, 1_000)).filter(({ type }) => type === 'EVIDENCE_RECORDED');
  expect(evidence.map(({ payload }) => payload['passed'])).toEqual([true, true]);
  expect(evidence.at(-1)?.payload['codeTree']).toBe(done.codeTree);
});

it('refuses what the workflow lacks with every fault at once, and makes nothing', async () => {
  const place = await aPlace({ workflow: 'two-changes', script: SCRIPT });
  const { client, refused } = place;
  const of = (kind: string, name: string, known: string) =>
    `Workflow 'two-changes' has no ${kind} '${name}'; it has ${known}.`;
  const trust = (name: string) => of('trust mode', name, 'split, planning, implementation');
  const error = await launched(place, {
    modelRouting: { surveyor: 'scripted:two', planner: 'scripted:two' },
    trustMode: { split: 'auto', fixes: 'auto', review: 'manual' },
    egress: { validator: ['example.com'] },
    timeoutMinutes: { survey: 1, planning: 2, publishing: 3 },
  }).catch((thrown: unknown) => thrown);
  if (!(error instanceof ApiError)) throw error;
  expect([error.status, error.problem.faults]).toEqual([
    400,
    expect.arrayContaining([
      { path: 'config.modelRouting.planner', message: of('role', 'planner', 'surveyor') },
      {
        path: 'config.timeoutMinutes.planning',
        message: of('stage with a time limit', 'planning', 'survey, building'),
      },
      {
        path: 'config.timeoutMinutes.publishing',
        message: of('stage with a time limit', 'publishing', 'survey, building'),
      },
      { path: 'config.trustMode.fixes', message: trust('fixes') },
      { path: 'config.trustMode.review', message: trust('review') },
      { path: 'config.egress.validator', message: of('role', 'validator', 'surveyor, setup') },
    ]),
  ]);
  const nowhere = await client.launchRun({ workflow: 'two', config: { trustMode: { review: 'auto' } } }).then(
    () => null,
    (thrown: unknown) => (thrown as ApiError).problem.faults,
  );
  const names = [...workflows.map(({ name }) => name), 'two-changes'].toSorted();
  expect(nowhere).toEqual([
    {
      path: 'workflow',
      message: `There is no workflow 'two'; there are ${names.map((name) => `'${name}'`).join(', ')}.`,
    },
    {
      path: 'config.trustMode.review',
      message: expect.stringContaining("No workflow of this server has the trust mode 'review'; there are ") as string,
    },
  ]);

  const options = [
    '--workflow',
    'two-changes',
    '--project',
    'notes',
    '--trust',
    'review=auto',
    '--trust',
    'fixes=auto',
  ];
  expect(await refused('run', ...options, '--model', 'poet=x:y', 'Greet by name')).toBe(
    [
      'The server refuses the request:',
      `  config.modelRouting.poet: ${of('role', 'poet', 'surveyor')}`,
      `  config.trustMode.review: ${trust('review')}`,
      `  config.trustMode.fixes: ${trust('fixes')}`,
      '',
    ].join('\n'),
  );
  expect((await client.listRuns()).items).toEqual([]);
});

it('pauses with the way out where the project names no test command', async () => {
  const { '.autonomous/config.json': _config, 'test/app.test.sh': _test, ...files } = FILES;
  const place = await aPlace({ workflow: 'two-changes', script: SCRIPT, files });
  const { gate } = await place.gate((await launched(place)).id);
  expect(gate).toMatchObject({ kind: 'pause', reason: 'setup_failed', decisions: ['retry'] });
  expect(gate?.summary).toContain("'defaultRunConfig.commands.test' in .autonomous/config.json");
});
