/** Rules of the work on a roadmap's item, on a real server with real git: bugs, feedback and edits meanwhile. */
import { expect, it } from 'vitest';
import { finish, when, writes } from '../fixtures/orchestrator.fixture.ts';
import { aRoadmap, merging, noBugs, OTHER, roadmap, stateOf } from './roadmap.fixture.ts';

const BUG = { title: 'A crash', description: 'link.sh crashes.', size: 'large', blocks: false };
/** A look of the reviewer, by what the prompt has by then. */
const finds = (...bugs: readonly object[]) => finish({ summary: 'Bugs were found.', bugs });
/** A task with the name of the first one for what is sent back. */
const decomposer = [
  finish({ tasks: [{ id: 'fix-1', title: 'A link', description: 'Write link.sh.', dependsOn: [] }] }),
];
const built = when('fix-1: A link', writes({ 'link.sh': 'echo link\n' }));
const greets = when('Greet in Dutch.', writes({ 'link.sh': 'echo hallo\n' }));

it("does what is sent back, mends a small bug now, makes an item of each large one that is approved, and keeps a person's edits", async () => {
  const small = { title: 'A typo', description: 'It says link.', size: 'small', blocks: false };
  const server = await aRoadmap({
    decomposer,
    ideator: [
      when('Name the cost.', finish({ document: '# Problem\n\nIt costs 5.' })),
      finish({ document: '# Problem\n\nNobody can sign in.' }),
    ],
    implementer: [greets, when('Bugs were found in the result', writes({ 'link.sh': 'echo mended\n' })), built],
    'item-reviewer': [
      finds(BUG, small, { ...BUG, description: 'mail.sh, too.' }),
      ...Array.from({ length: 3 }, () => noBugs),
    ],
  });
  const run = await server.begin({}, merging);
  await server.until(run, { gate: 'item_ideation' });
  const [item, other] = await server.items();
  await server.commit({ 'roadmap/roadmap.json': roadmap({ ...item, owner: 'you' }, { ...other, health: 'at-risk' }) });
  await server.decide(run, { decision: 'reject', feedback: 'Name the cost.' });
  await server.approve(run, 'item_ideation');
  await server.approve(run, 'item_specification');
  const shown = await server.until(run, { gate: 'item_result' });
  expect(JSON.stringify(shown.gate)).toContain('A crash (large; becomes bug-');
  expect(JSON.stringify(shown.gate)).not.toContain('A typo');
  expect(await server.mirror('show', `${run.branch}:link.sh`)).toBe('echo mended\n');
  expect(await server.items()).toHaveLength(2);
  await server.decide(run, { decision: 'reject', feedback: 'Greet in Dutch.' });
  await server.approve(run, 'item_result');
  await server.until(run, { status: 'completed' });
  expect(await server.file('main', 'specs/sign-in-by-a-link/01-ideation.md')).toContain('It costs 5.');
  expect(await server.file('main', 'link.sh')).toBe('echo hallo\n');
  expect(await stateOf(server)).toMatchObject({ tasksTotal: 1, tasksCompleted: 1 });
  const bug = { title: 'A crash', type: 'bugfix', moscow: 'must-have', timeHorizon: 'now' };
  const items = await server.items();
  expect(items).toEqual([
    expect.objectContaining({ id: 'sign-in', status: 'completed', dependencies: [], owner: 'you' }),
    expect.objectContaining({ ...bug, description: 'link.sh crashes.' }),
    expect.objectContaining({ ...bug, description: 'mail.sh, too.' }),
    { ...OTHER, health: 'at-risk' },
  ]);
  expect(new Set(items.map(({ id }) => id)).size).toBe(4);
});

it('asks about a bug that holds the item up: it becomes an item beside it where a person says so, or one that is waited for', async () => {
  const server = await aRoadmap({
    decomposer,
    implementer: [greets, built],
    'item-reviewer': [finds({ ...BUG, blocks: true }), finds({ ...BUG, title: 'A leak', blocks: true })],
  });
  const run = await server.begin({ approvals: 'release' }, merging);
  await server.until(run, { gate: 'item_bugs' });
  await server.decide(run, { decision: 'reject', feedback: 'Nobody runs it.' });
  const shown = await server.until(run, { gate: 'item_result' });
  expect(JSON.stringify(shown.gate?.details)).toContain('A crash (large; becomes bug-');
  await server.decide(run, { decision: 'reject', feedback: 'Greet in Dutch.' });
  await server.approve(run, 'item_bugs');
  await server.until(run, { status: 'paused' });
  const items = await server.items();
  expect(items).toMatchObject([
    { id: 'sign-in', status: 'in-progress' },
    { title: 'A crash', type: 'bugfix', status: 'not-started' },
    { title: 'A leak', type: 'bugfix', status: 'not-started' },
    OTHER,
  ]);
  const leak = items[2]?.id ?? '';
  expect(items[0]?.dependencies).toEqual([leak]);
  expect(items[0]?.workflowState['blockers']).toEqual([`It waits for ${leak}: A leak. Mend that first, then retry.`]);
});
