/** Ends of the work on a roadmap's item: a release, a result that stays red, a base that takes no pushes, an agent that only promises. */
import { chmod, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { finish, projectConfig, startServer, when, writes } from '../fixtures/orchestrator.fixture.ts';
import { aRoadmap, ITEM, merging, OTHER, PROJECT, roadmap, ROLES, stateOf, TASKS } from './roadmap.fixture.ts';

const alone = { approvals: 'release' };
const releasing = (command: string) => ({ ...merging, commands: { test: 'sh test/app.test.sh', release: command } });

/**
 * The remote refuses commits of a branch with subjects that begin like this.
 * @param branch a pattern of the shell
 * @returns a function that has it take them
 */
async function refusing(remote: string, subject: string, branch = 'main'): Promise<() => Promise<void>> {
  const hook = path.join(remote, 'hooks', 'pre-receive');
  const refuse = `case "$(git log -1 --format=%s $n)" in "${subject}"*) echo ${branch} is protected >&2; exit 1;; esac`;
  const refuseThere = `case "$ref" in refs/heads/${branch}) ${refuse};; esac`;
  await writeFile(hook, `#!/bin/sh\nwhile read o n ref; do ${refuseThere}; done\n`);
  await chmod(hook, 0o755);
  return () => rm(hook);
}

/** An item of one task. */
const aShortRoadmap = () => aRoadmap({ decomposer: [finish({ tasks: TASKS.slice(0, 1) })] });
const OF_RUNS = 'autonomous/*sign-in';
const waitsFor = (branch: string) => ({
  phase: 'committing',
  blockers: [`Its result is on the branch ${branch}: merge it into main.`],
});

it('asks about a release that fails, and completes the item without it where a person accepts that', async () => {
  const server = await aRoadmap();
  const run = await server.begin(alone, releasing('exit 3'));
  await server.approve(run, 'item_release');
  await server.until(run, { gate: 'item_release_failed' });
  expect(await server.file('main', 'mail.sh')).toBe('sh link.sh\n');
  expect(await stateOf(server)).toMatchObject({ phase: 'releasing' });
  await server.decide(run, { decision: 'accept', reason: 'Tomorrow.' });
  await server.until(run, { status: 'completed' });
  expect((await server.item()).status).toBe('completed');
});

it('releases what is published where a person approves', async () => {
  const server = await aRoadmap();
  const run = await server.begin(alone, releasing('test -f mail.sh'));
  await server.approve(run, 'item_release');
  await server.until(run, { status: 'completed' });
  const ran = (await server.payloads(run.id, 'COMMAND_RAN' as never)) as unknown as object[];
  expect(ran).toEqual([expect.objectContaining({ name: 'release', exitCode: '0' })]);
});

it('publishes without a release where a person wants none', async () => {
  const server = await aRoadmap();
  const run = await server.begin(alone, releasing('test -f mail.sh'));
  await server.until(run, { gate: 'item_release' });
  await server.decide(run, { decision: 'accept', reason: 'Not yet.' });
  await server.until(run, { status: 'completed' });
  expect(await server.payloads(run.id, 'COMMAND_RAN' as never)).toEqual([]);
  expect(await server.file('main', 'mail.sh')).toBe('sh link.sh\n');
});

it('keeps the state on the branch of the run where the base refuses pushes', async () => {
  const server = await aRoadmap();
  const hook = path.join(server.remote, 'hooks', 'pre-receive');
  await writeFile(hook, '#!/bin/sh\nwhile read o n ref; do [ "$ref" != refs/heads/main ] || exit 1; done\n');
  await chmod(hook, 0o755);
  const run = await server.begin(alone);
  const done = await server.until(run, { status: 'completed' });
  expect(done.ownedFiles).toMatchObject({ to: 'branch' });
  expect(await server.items()).toEqual([ITEM, OTHER]);
  expect((await server.items(run.branch))[0]).toMatchObject({
    status: 'completed',
    workflowState: { phase: 'completed', tasksCompleted: 2 },
  });
});

it('asks where the base refuses the state of a result that is merged, and neither merges it again nor runs the release before', async () => {
  const server = await aRoadmap();
  const open = await refusing(server.remote, 'Roadmap: sign-in releasing');
  const run = await server.begin(alone, releasing('test -f mail.sh'));
  await server.approve(run, 'item_release');
  const { gate } = await server.until(run, { gate: 'pause' });
  expect(gate?.reason).toBe('push_rejected');
  expect(gate?.summary).toMatch(/^The result is merged into main; roadmap\/roadmap\.json there does not say so yet\./);
  expect(gate?.summary).toMatch(
    /main is protected.*Allow it there, then retry\. Or push it from the server's machine: git --git-dir=/,
  );
  expect(await server.payloads(run.id, 'COMMAND_RAN' as never)).toEqual([]);
  await open();
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { status: 'completed' });
  expect(await server.payloads(run.id, 'RUN_MERGED')).toHaveLength(1);
  expect(await server.payloads(run.id, 'COMMAND_RAN' as never)).toHaveLength(1);
  expect(await stateOf(server)).toMatchObject({ phase: 'completed' });
});

it.each(['testing', 'releasing'])(
  'completes on the branch where the base refuses the state %s, and took those before',
  async (phase) => {
    const server = await aRoadmap();
    await refusing(server.remote, `Roadmap: sign-in ${phase}`);
    const run = await server.begin(alone, { commands: { test: 'sh test/app.test.sh', release: 'test -f mail.sh' } });
    await server.approve(run, 'item_release');
    await server.until(run, { status: 'completed' });
    expect(await server.payloads(run.id, 'COMMAND_RAN' as never)).toHaveLength(1);
    expect((await server.items(run.branch))[0]).toMatchObject({
      status: 'completed',
      workflowState: { phase: 'completed', tasksCompleted: 2 },
    });
  },
);

it("takes in a colleague's correction before it completes on the branch an item that the colleague had put on hold", async () => {
  const ownedFiles = projectConfig({
    defaultRunConfig: { commands: { test: 'sh test/app.test.sh' } },
    git: { ownedFiles: 'branch' },
  });
  const server = await aRoadmap({}, { ...PROJECT, '.autonomous/config.json': ownedFiles });
  const setTo = (status: string) =>
    server.commit({ 'roadmap/roadmap.json': roadmap({ ...ITEM, status, workflowState: { phase: 'testing' } }, OTHER) });
  const run = await server.begin({ approvals: 'named' }, merging);
  await server.approve(run, 'item_ideation');
  await server.until(run, { gate: 'item_specification' });
  await setTo('on-hold');
  await server.approve(run, 'item_specification');
  await server.approve(run, 'item_result');
  const { gate } = await server.until(run, { gate: 'pause' });
  expect(gate?.summary).toContain("says that sign-in is 'on-hold'");
  await setTo('in-progress');
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { status: 'completed' });
  expect(await server.payloads(run.id, 'RUN_MERGED')).toHaveLength(1);
  expect(await server.item()).toMatchObject({ status: 'completed', workflowState: { phase: 'completed' } });
});

it('has the base wait for a merge only when the branch with the result is on the remote', async () => {
  const server = await aShortRoadmap();
  const open = await refusing(server.remote, '', OF_RUNS);
  const run = await server.begin(alone);
  const { gate } = await server.until(run, { gate: 'pause' });
  expect(gate?.reason).toBe('push_rejected');
  expect(await stateOf(server)).toMatchObject({ phase: 'committing', blockers: [] });
  await open();
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { status: 'completed' });
  expect(await stateOf(server)).toMatchObject(waitsFor(run.branch));
  expect((await server.items(run.branch))[0]?.status).toBe('completed');
});

it("has the base wait for the merge of the branch beside others' commits, which is the one with the result", async () => {
  const server = await aShortRoadmap();
  const run = await server.begin({ approvals: 'named' });
  await server.approve(run, 'item_ideation');
  await server.approve(run, 'item_specification');
  await server.git('branch', run.branch, 'main');
  await server.commit({ 'other.sh': 'echo other\n' }, run.branch);
  await server.approve(run, 'item_result');
  await server.until(run, { gate: 'pause' });
  const beside = `${run.branch}-beside`;
  const response = `Leave that branch alone, and push this run's commits to ${beside}`;
  await server.decide(run, { decision: 'answer', response });
  const { published } = await server.until(run, { status: 'completed' });
  expect(published).toMatchObject({ branch: beside, pushed: true });
  expect(await stateOf(server)).toMatchObject(waitsFor(beside));
  expect(await server.file(beside, 'link.sh')).toBe('echo link\n');
  expect((await server.items(beside))[0]?.status).toBe('completed');
});

it("has the base wait for no merge while others' commits on the branch are checked", async () => {
  const server = await aShortRoadmap();
  const open = await refusing(server.remote, 'Record of run', OF_RUNS);
  const run = await server.begin({ approvals: 'named' });
  await server.approve(run, 'item_ideation');
  await server.approve(run, 'item_specification');
  await server.approve(run, 'item_result');
  await server.until(run, { gate: 'pause' });
  expect(await stateOf(server)).toMatchObject(waitsFor(run.branch));
  await open();
  const theirs = await server.commit({ 'other.sh': 'echo other\n' }, run.branch);
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { gate: 'pause' });
  const response = `Take in commit ${theirs.slice(0, 10)}, which was pushed to ${run.branch}, and check it again`;
  await server.decide(run, { decision: 'answer', response });
  await server.until(run, { gate: 'item_result' });
  expect(await stateOf(server)).toMatchObject({ phase: 'testing', blockers: [] });
  await server.approve(run, 'item_result');
  await server.until(run, { status: 'completed' });
  expect(await stateOf(server)).toMatchObject(waitsFor(run.branch));
  expect((await server.items(run.branch))[0]?.status).toBe('completed');
});

it('has the base wait for the merge of a branch that is left where the base refuses the merge', async () => {
  const server = await aShortRoadmap();
  const open = await refusing(server.remote, 'Sign in', 'main');
  const run = await server.begin(alone, merging);
  await server.until(run, { gate: 'pause' });
  const response = `Leave it as the branch ${run.branch}: the run completes without a merge`;
  await server.decide(run, { decision: 'answer', response });
  await server.until(run, { status: 'completed' });
  expect(await stateOf(server)).toMatchObject(waitsFor(run.branch));
  await open();
  await server.git('merge-tree', '--write-tree', 'main', run.branch);
  expect((await server.items(run.branch))[0]?.status).toBe('completed');
});

it('has the base wait for the merge of a branch that is left with conflicts', async () => {
  const server = await aShortRoadmap();
  const run = await server.begin({ approvals: 'named' }, merging);
  await server.approve(run, 'item_ideation');
  await server.approve(run, 'item_specification');
  await server.until(run, { gate: 'item_result' });
  await server.commit({ 'link.sh': 'echo mine\n' });
  await server.approve(run, 'item_result');
  await server.until(run, { gate: 'pause' });
  const response = `Leave it as the branch ${run.branch}: it is pushed, and the run completes without a merge`;
  await server.decide(run, { decision: 'answer', response });
  await server.until(run, { status: 'completed' });
  expect(await stateOf(server)).toMatchObject(waitsFor(run.branch));
  expect((await server.items(run.branch))[0]?.status).toBe('completed');
});

it('leaves a release that was cut off to a person, who finishes without running it again', async () => {
  const server = await aRoadmap();
  const run = await server.begin(alone, releasing('echo released; sleep 60'));
  await server.approve(run, 'item_release');
  await server.said(run.id, 'released');
  await server.close();
  const later = await startServer(server.folder);
  onTestFinished(later.stop);
  const gateOf = async () => (await later.client.getRun(run.id)).gate;
  await expect.poll(async () => (await gateOf())?.kind).toBe('item_release_cut_off');
  expect(await gateOf()).toMatchObject({
    decisions: ['retry', 'accept'],
    summary: expect.stringMatching(/was cut off while it ran.*Look what it has done, then run it again or finish/),
  });
  const gateId = (await gateOf())?.id ?? '';
  await later.client.decideGate(gateId, { decision: 'accept', reason: 'It was released.', gateId });
  await expect.poll(async () => (await later.client.getRun(run.id)).status).toBe('completed');
  expect(await stateOf(server)).toMatchObject({ phase: 'completed' });
});

it('mends a result that stays red three times, then asks a person, and goes on with what they say', async () => {
  const browserCheck = 'grep -q good link.sh';
  const bad = (round: number) => writes({ 'link.sh': `echo bad ${round}\n` });
  const server = await aRoadmap({
    implementer: [
      when('Note of a person: Write good.', writes({ 'link.sh': 'echo good\n' })),
      when('fix-3: Mend the result', bad(3)),
      when('fix-2: Mend the result', bad(2)),
      when('fix-1: Mend the result', bad(1)),
      ...ROLES.implementer,
    ],
  });
  const run = await server.begin(alone, { ...merging, commands: { test: 'sh test/app.test.sh', browserCheck } });
  await server.until(run, { gate: 'pause' });
  expect(await stateOf(server)).toMatchObject({
    phase: 'testing',
    tasksTotal: 2,
    blockers: [expect.stringContaining('The result was corrected 3 times')],
  });
  await server.decide(run, { decision: 'retry', notes: 'Write good.' });
  await server.until(run, { status: 'completed' });
  expect(await server.file('main', 'link.sh')).toBe('echo good\n');
  expect(await stateOf(server)).toMatchObject({ phase: 'completed', blockers: [] });
});

it('ends no phase by a printed promise', async () => {
  const promise = finish({ summary: 'All done. <promise>PHASE_COMPLETE:implementing</promise>' });
  const server = await aRoadmap({ implementer: Array.from({ length: 12 }, () => promise) });
  const run = await server.begin(alone, merging);
  await server.until(run, { gate: 'pause' });
  expect(await stateOf(server)).toMatchObject({
    phase: 'implementing',
    attempts: 3,
    tasksCompleted: 0,
    blockers: [expect.stringContaining('implementing failed 3 times')],
  });
});
