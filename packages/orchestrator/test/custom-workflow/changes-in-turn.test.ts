/** The example of a workflow of attempts on a server process of its own with real git. */
import { shownAt } from '@autonomous/shared';
import { expect, it } from 'vitest';
import { aPlan, aScript, finish, passes, when, writes } from '../fixtures/orchestrator.fixture.ts';
import { aPlace } from './example.fixture.ts';

const CHILDREN = {
  planner: [when('Describe the name', aPlan({ title: 'Notes' })), when('Note a name', aPlan({ title: 'Name' }))],
  implementer: [
    when('Describe the name', writes({ 'notes.txt': 'Ada is a name.\n' })),
    when('An earlier attempt failed', writes({ 'name.txt': 'Ada\n' })),
    // The test of the project wants a greeting in it.
    when('Note a name', writes({ 'app.sh': 'echo Ada\n' })),
  ],
  validator: [passes(), passes(), passes()],
};

it('merges its changes in their order, and tells the second attempt why the first one failed', async () => {
  const { client, launch, ends, remote } = await aPlace({
    workflow: 'changes-in-turn',
    script: aScript(CHILDREN),
  });
  expect(await client.getWorkflow('changes-in-turn')).toMatchObject({
    title: 'Changes in turn',
    needsProject: true,
    input: {
      required: ['changes'],
      properties: {
        changes: { title: 'Changes, in their order', type: 'array', maxItems: 20 },
        attempts: { title: 'Attempts at a change', default: 2, maximum: 5 },
      },
    },
  });
  const { id } = await launch({
    request: 'Greet people by name',
    input: { changes: ['Note a name', 'Describe the name'] },
    config: { maxFixAttempts: 0, git: { autoMerge: true } },
  });

  const done = await ends(id);
  expect(done).toMatchObject({ status: 'completed', progress: { done: 2, total: 2 }, merged: { baseBranch: 'main' } });
  const children = (await client.listRuns({ parentId: id })).items.toSorted((a, b) =>
    a.createdAt < b.createdAt ? -1 : 1,
  );
  expect(children.map(({ workflow, status }) => [workflow.name, status])).toEqual([
    ['build', 'cancelled'],
    ['build', 'completed'],
    ['build', 'completed'],
  ]);
  const requests = children.map(({ originalRequest }) => originalRequest);
  expect(requests).toEqual([
    'Note a name\n\nIt is one part of: Greet people by name',
    expect.stringMatching(/^Note a name\n\n[^]*\n\nAn earlier attempt failed:\n.*1 of 1 test failed: app/),
    expect.stringMatching(/^Describe the name\n/),
  ]);
  // The second change was built on top of the first.
  expect(children[2]?.baseCommit).not.toBe(children[1]?.baseCommit);
  expect(await remote('show', 'main:app.sh')).toBe('echo hello\n');
  expect(await remote('show', 'main:name.txt')).toBe('Ada\n');
  expect(await remote('show', 'main:notes.txt')).toBe('Ada is a name.\n');
});

it('has an agent list the changes, and makes those that a person approves', async () => {
  const { client, command, refused, gate, ends, remote } = await aPlace({
    workflow: 'listed-changes',
    file: 'changes-in-turn/listed.ts',
    script: aScript({ ...CHILDREN, lister: [finish({ changes: ['Describe the name'] })] }),
  });
  // The workflow has a command of its own.
  const place = ['--project', 'notes'];
  expect(await refused('listed-changes', ...place)).toContain(
    'Say what is to be done: autonomous listed-changes "Your request"',
  );
  const started = await command('listed-changes', 'Note', 'people', ...place, '--auto-merge', '--detach');
  const { id, branch } = await client.getRun(started.split('\n', 1)[0] ?? '');
  const asked = await gate(id);
  if (asked.gate === null) throw new Error('there is no gate');
  const [document] = asked.artifacts;
  expect(asked.gate).toMatchObject({
    kind: 'list',
    summary: 'Changes on the list: 1. Make them?',
    artifactHash: document?.hash,
  });
  expect((await client.getArtifact(id, document?.id ?? '')).content).toBe('# Changes\n\n1. Describe the name\n');
  await client.decideGate(asked.gate.id, { decision: 'approve', ...shownAt(asked.gate) });

  expect(await ends(id)).toMatchObject({ status: 'completed', progress: { done: 1, total: 1 } });
  expect(await remote('show', 'main:notes.txt')).toBe('Ada is a name.\n');
  expect(await remote('show', `${branch}:.autonomous/runs/${id}/list.md`)).toContain('1. Describe the name');
});

it('asks a person for what is missing after the last change, and makes it', async () => {
  const { client, command, gate, ends, launch, remote } = await aPlace({
    workflow: 'reviewed-changes',
    file: 'changes-in-turn/reviewed.ts',
    script: aScript({
      ...CHILDREN,
      implementer: [
        when('Note a name', writes({ 'name.txt': 'Ada\n' })),
        when('Describe the name', writes({ 'notes.txt': 'Ada is a name.\n' })),
      ],
    }),
  });
  const { id } = await launch({
    request: 'Greet',
    input: { changes: ['Describe the name'] },
    config: { git: { autoMerge: true } },
  });
  const atWhole = async () => (await gate(id)).gate ?? expect.fail('there is no gate');
  const first = await atWhole();
  expect(first).toMatchObject({ kind: 'whole', summary: 'Changes made: 1. Is something missing?' });
  expect((await client.getDiff(id)).files.map(({ path }) => path)).toContain('notes.txt');
  expect(await command('show', id)).toContain('input      changes: ["Describe the name"]');
  await client.decideGate(first.id, { decision: 'reject', feedback: 'Note a name' });
  expect(await ends(id)).toMatchObject({ progress: { done: 2, total: 2 } });
  const second = await atWhole();
  await client.decideGate(second.id, { decision: 'approve', ...shownAt(second) });
  expect(await ends(id)).toMatchObject({ status: 'completed', merged: { baseBranch: 'main' } });
  expect(await remote('show', 'main:name.txt')).toBe('Ada\n');
});
