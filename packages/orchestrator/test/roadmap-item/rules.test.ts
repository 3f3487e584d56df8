/** Rules of the work on a roadmap's item, on a real server with real git: bugs, feedback and edits meanwhile. */
import { expect, it } from 'vitest';
import { finish, when, writes } from '../fixtures/orchestrator.fixture.ts';
import { aRoadmap, merging, noBugs, OTHER, roadmap, ROLES, stateOf } from './roadmap.fixture.ts';

const alone = { approvals: 'release' };
/** Bugs that the reviewer finds at its first look. */
const bugs = (...found: readonly object[]): object => ({
  'item-reviewer': [finish({ summary: 'Bugs were found.', bugs: found }), ...Array.from({ length: 5 }, () => noBugs)],
});
const BUG = { title: 'A crash', description: 'link.sh crashes.', size: 'small', blocks: false };

it('mends a small bug now, as a task that the roadmap does not count', async () => {
  const server = await aRoadmap({
    ...bugs(BUG),
    implementer: [when('Bugs were found in the result', writes({ 'link.sh': 'echo mended\n' })), ...ROLES.implementer],
  });
  const run = await server.begin(alone, merging);
  await server.until(run, { status: 'completed' });
  expect(await server.file('main', 'link.sh')).toBe('echo mended\n');
  expect(await server.items()).toHaveLength(2);
  expect(await stateOf(server)).toMatchObject({ tasksTotal: 2, tasksCompleted: 2 });
});

it('shows a large bug at the gate, and makes an item of it when a person has approved', async () => {
  const server = await aRoadmap(bugs({ ...BUG, size: 'large' }));
  const run = await server.begin(alone, merging);
  const shown = await server.until(run, { gate: 'item_result' });
  expect(JSON.stringify(shown.gate)).toContain('A crash (large; becomes bug-');
  expect(await server.items()).toHaveLength(2);
  await server.approve(run, 'item_result');
  await server.until(run, { status: 'completed' });
  expect(await server.items()).toEqual([
    expect.objectContaining({ id: 'sign-in', status: 'completed', dependencies: [] }),
    expect.objectContaining({ title: 'A crash', type: 'bugfix', moscow: 'must-have', timeHorizon: 'now' }),
    OTHER,
  ]);
});

it('asks about a bug that holds the item up, and waits for its item', async () => {
  const server = await aRoadmap(bugs({ ...BUG, size: 'large', blocks: true }));
  const run = await server.begin(alone, merging);
  await server.approve(run, 'item_bugs');
  await server.until(run, { status: 'paused' });
  const [item, bug] = await server.items();
  expect(bug).toMatchObject({ title: 'A crash', type: 'bugfix' });
  expect(item?.dependencies).toEqual([bug?.id]);
  expect(item?.workflowState['blockers']).toEqual([
    `It waits for ${bug?.id ?? ''}: A crash. Mend that first, then retry.`,
  ]);
});

it('gives the feedback on an ideation to the next attempt, and that on the result to one more task', async () => {
  const server = await aRoadmap({
    ideator: [
      when('Name the cost.', finish({ document: '# Problem\n\nIt costs 5.' })),
      finish({ document: '# Problem\n\nNobody can sign in.' }),
    ],
    implementer: [when('Greet in Dutch.', writes({ 'link.sh': 'echo hallo\n' })), ...ROLES.implementer],
  });
  const run = await server.begin({}, merging);
  await server.until(run, { gate: 'item_ideation' });
  await server.decide(run, { decision: 'reject', feedback: 'Name the cost.' });
  await server.approve(run, 'item_ideation');
  await server.approve(run, 'item_specification');
  await server.until(run, { gate: 'item_result' });
  await server.decide(run, { decision: 'reject', feedback: 'Greet in Dutch.' });
  await server.approve(run, 'item_result');
  await server.until(run, { status: 'completed' });
  expect(await server.file('main', 'specs/sign-in-by-a-link/01-ideation.md')).toContain('It costs 5.');
  expect(await server.file('main', 'link.sh')).toBe('echo hallo\n');
});

it("keeps a person's edits of the roadmap of the time between", async () => {
  const server = await aRoadmap();
  const run = await server.begin({}, merging);
  await server.until(run, { gate: 'item_ideation' });
  const [item, other] = await server.items();
  await server.commit({
    'roadmap/roadmap.json': roadmap({ ...item, owner: 'you' }, { ...other, health: 'at-risk' }),
  });
  for (const gate of ['item_ideation', 'item_specification', 'item_result']) await server.approve(run, gate);
  await server.until(run, { status: 'completed' });
  expect(await server.item()).toMatchObject({ status: 'completed', owner: 'you' });
  expect(await server.item('search')).toEqual({ ...OTHER, health: 'at-risk' });
});

it('makes an item of each of two bugs that have one title', async () => {
  const server = await aRoadmap(
    bugs({ ...BUG, size: 'large' }, { ...BUG, size: 'large', description: 'mail.sh, too.' }),
  );
  const run = await server.begin(alone, merging);
  await server.approve(run, 'item_result');
  await server.until(run, { status: 'completed' });
  const found = (await server.items()).filter(({ type }) => type === 'bugfix');
  expect(found.map((bug) => bug['description'])).toEqual(['link.sh crashes.', 'mail.sh, too.']);
  expect(new Set(found.map(({ id }) => id)).size).toBe(2);
});

it('makes an item beside it of a bug of which a person says that it does not hold the item up', async () => {
  const server = await aRoadmap(bugs({ ...BUG, size: 'large', blocks: true }));
  const run = await server.begin(alone, merging);
  await server.until(run, { gate: 'item_bugs' });
  await server.decide(run, { decision: 'reject', feedback: 'Nobody runs it.' });
  const shown = await server.approve(run, 'item_result');
  expect(JSON.stringify(shown.details)).toContain('A crash (large; becomes bug-');
  await server.until(run, { status: 'completed' });
  const [item, bug] = await server.items();
  expect(item).toMatchObject({ id: 'sign-in', status: 'completed', dependencies: [] });
  expect(bug).toMatchObject({ title: 'A crash', status: 'not-started' });
});

it('does what is sent back, also where a task of the decomposer has the name of the task for that', async () => {
  const server = await aRoadmap({
    decomposer: [finish({ tasks: [{ id: 'fix-1', title: 'A link', description: 'Write link.sh.', dependsOn: [] }] })],
    implementer: [
      when('Greet in Dutch.', writes({ 'link.sh': 'echo hallo\n' })),
      when('fix-1: A link', writes({ 'link.sh': 'echo link\n' })),
    ],
  });
  const run = await server.begin({}, merging);
  await server.approve(run, 'item_ideation');
  await server.approve(run, 'item_specification');
  await server.until(run, { gate: 'item_result' });
  await server.decide(run, { decision: 'reject', feedback: 'Greet in Dutch.' });
  await server.approve(run, 'item_result');
  await server.until(run, { status: 'completed' });
  expect(await server.file('main', 'link.sh')).toBe('echo hallo\n');
});
