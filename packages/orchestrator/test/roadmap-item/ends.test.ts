/** Ends of the work on a roadmap's item: a release, a result that stays red, a base that takes no pushes, an agent that only promises. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { finish, startServer, when, writes } from '../fixtures/orchestrator.fixture.ts';
import { aShortRoadmap, ITEM, merging, OTHER, roadmap, type RoadmapServer, stateOf } from './roadmap.fixture.ts';

const alone = { approvals: 'release' };
const named = { approvals: 'named' };
const releasing = (command: string) => ({ ...merging, commands: { test: 'sh test/app.test.sh', release: command } });

/**
 * The remote refuses commits of a branch with subjects that begin like this, instead of those that it refused before.
 * @param branch a pattern of the shell
 * @returns a function that has it take them
 */
async function refusing({ remote }: RoadmapServer, subject: string, branch = 'main'): Promise<() => Promise<void>> {
  const hook = path.join(remote, 'hooks', 'pre-receive');
  const refuse = `case "$(git log -1 --format=%s $n)" in "${subject}"*) echo ${branch} is protected >&2; exit 1;; esac`;
  const refuseThere = `case "$ref" in refs/heads/${branch}) ${refuse};; esac`;
  await writeFile(hook, `#!/bin/sh\nwhile read o n ref; do ${refuseThere}; done\n`);
  await chmod(hook, 0o755);
  return () => rm(hook);
}

const OF_RUNS = 'autonomous/*sign-in';
const waitsFor = (branch: string) => ({
  phase: 'committing',
  blockers: [`Its result is on the branch ${branch}: merge it into main.`],
});

/** The program `ship` of the sandboxes, and a function that makes it another one. */
async function aProgram(text: string) {
  // Sandboxes show nothing of /dev, where the folder of temporary files may be.
  const folder = await mkdtemp('/var/tmp/programs-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const becomes = (body: string) => writeFile(path.join(folder, 'ship'), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  await becomes(text);
  return { env: { SANDBOX_PROGRAMS: folder }, becomes };
}

it('releases what is merged once the base says so, and leaves a release that was cut off or has failed to a person', async () => {
  const { env, becomes } = await aProgram('echo released; sleep 60');
  const server = await aShortRoadmap({}, { env });
  const open = await refusing(server, 'Roadmap: sign-in releasing');
  const run = await server.begin(alone, releasing('ship'));
  await server.approve(run, 'item_release');
  const { gate } = await server.until(run, { gate: 'pause' });
  expect(gate?.reason).toBe('push_rejected');
  expect(gate?.summary).toMatch(/^The result is merged into main; roadmap\/roadmap\.json there does not say so yet\./);
  expect(gate?.summary).toMatch(
    /main is protected.*Allow it there, then retry\. Or push it from the server's machine: git --git-dir=/,
  );
  expect(await server.file('main', 'link.sh')).toBe('echo link\n');
  expect(await server.payloads(run.id, 'COMMAND_RAN' as never)).toEqual([]);
  await open();
  await server.decide(run, { decision: 'retry' });
  await server.said(run.id, 'released');
  await server.close();

  await becomes('exit 3');
  const later = await startServer(server.folder, { env });
  onTestFinished(later.stop);
  const gateOf = async () => (await later.client.getRun(run.id)).gate;
  await expect.poll(async () => (await gateOf())?.kind).toBe('item_release_cut_off');
  expect(await gateOf()).toMatchObject({
    decisions: ['retry', 'accept'],
    summary: expect.stringMatching(/was cut off while it ran.*Look what it has done, then run it again or finish/),
  });
  await later.client.decideOpenGate(run.id, { decision: 'retry' });
  await expect.poll(async () => (await gateOf())?.kind).toBe('item_release_failed');
  expect(await stateOf(server)).toMatchObject({ phase: 'releasing' });
  await becomes('test -f link.sh');
  await later.client.decideOpenGate(run.id, { decision: 'retry' });
  await expect.poll(async () => (await later.client.getRun(run.id)).status).toBe('completed');
  expect(await server.item()).toMatchObject({ status: 'completed', workflowState: { phase: 'completed' } });
  const events = await later.client.listEvents(run.id, 0, 1_000);
  const of = (type: string) => events.flatMap((event) => (event.type === type ? [event.payload] : []));
  expect(of('RUN_MERGED')).toHaveLength(1);
  expect(of('COMMAND_RAN')).toMatchObject(['3', '0'].map((exitCode) => ({ name: 'release', exitCode })));
});

it("completes on the branch where the base refuses a state, took those before, and takes in a colleague's correction of an item that was put on hold", async () => {
  const server = await aShortRoadmap();
  await refusing(server, 'Roadmap: sign-in testing');
  const setTo = (status: string) =>
    server.commit({ 'roadmap/roadmap.json': roadmap({ ...ITEM, status, workflowState: { phase: 'testing' } }, OTHER) });
  const run = await server.begin(alone, releasing('test -f link.sh'));
  const tested = await server.until(run, { gate: 'item_release' });
  expect(tested.ownedFiles).toMatchObject({ to: 'branch' });
  expect(await stateOf(server)).toMatchObject({ phase: 'implementing', tasksCompleted: 1 });
  expect(await server.mirror('log', '--format=%s', run.branch)).toContain('Roadmap: sign-in testing');
  await setTo('on-hold');
  await server.approve(run, 'item_release');
  const { gate } = await server.until(run, { gate: 'pause' });
  expect(gate?.summary).toContain("says that sign-in is 'on-hold'");
  await setTo('in-progress');
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { status: 'completed' });
  expect(await server.payloads(run.id, 'RUN_MERGED')).toHaveLength(1);
  expect(await server.payloads(run.id, 'COMMAND_RAN' as never)).toHaveLength(1);
  expect(await server.items()).toEqual([
    expect.objectContaining({
      status: 'completed',
      workflowState: expect.objectContaining({ phase: 'completed', tasksCompleted: 1 }),
    }),
    OTHER,
  ]);
});

it("has the base wait for a merge only of a branch that the remote has: not while others' commits on it are checked, and of the one beside them", async () => {
  const server = await aShortRoadmap();
  const run = await server.begin(named);
  await refusing(server, '', OF_RUNS);
  for (const gate of ['item_ideation', 'item_specification', 'item_result']) await server.approve(run, gate);
  const refused = await server.until(run, { gate: 'pause' });
  expect(refused.gate?.reason).toBe('push_rejected');
  expect(await stateOf(server)).toMatchObject({ phase: 'committing', blockers: [] });

  const open = await refusing(server, 'Record of run', OF_RUNS);
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { gate: 'pause' });
  expect(await stateOf(server)).toMatchObject(waitsFor(run.branch));

  await open();
  const theirs = await server.commit({ 'other.sh': 'echo other\n' }, run.branch);
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { gate: 'pause' });
  const taking = `Take in commit ${theirs.slice(0, 10)}, which was pushed to ${run.branch}, and check it again`;
  await server.decide(run, { decision: 'answer', response: taking });
  await server.until(run, { gate: 'item_result' });
  expect(await stateOf(server)).toMatchObject({ phase: 'testing', blockers: [] });

  await server.commit({ 'other.sh': 'echo another\n' }, run.branch);
  await server.approve(run, 'item_result');
  await server.until(run, { gate: 'pause' });
  const beside = `${run.branch}-beside`;
  const leaving = `Leave that branch alone, and push this run's commits to ${beside}`;
  await server.decide(run, { decision: 'answer', response: leaving });
  const { published } = await server.until(run, { status: 'completed' });
  expect(published).toMatchObject({ branch: beside, pushed: true });
  expect(await stateOf(server)).toMatchObject(waitsFor(beside));
  expect(await server.file(beside, 'link.sh')).toBe('echo link\n');
  expect(await server.file(beside, 'other.sh')).toBe('echo other\n');
  expect((await server.items(beside))[0]?.status).toBe('completed');
});

it('has the base wait for the merge of a branch that is left where the base refuses the merge', async () => {
  const server = await aShortRoadmap();
  const open = await refusing(server, 'Sign in', 'main');
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
  const run = await server.begin(named, merging);
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

it('ends no phase by a printed promise; asks a person where that or a red result is the last attempt, and goes on with what they say', async () => {
  const promise = finish({ summary: 'All done. <promise>PHASE_COMPLETE:implementing</promise>' });
  const server = await aShortRoadmap({
    implementer: [
      when('Note of a person: Write good.', writes({ 'link.sh': 'echo good\n' })),
      when('fix-1: Mend the result', writes({ 'link.sh': 'echo bad\n' })),
      when('Note of a person: Write it.', writes({ 'link.sh': 'echo link\n' })),
      ...Array.from({ length: 4 }, () => promise),
    ],
  });
  const browserCheck = 'grep -q good link.sh';
  const run = await server.begin(
    { ...alone, maxAttempts: 1 },
    { ...merging, commands: { test: 'sh test/app.test.sh', browserCheck } },
  );
  await server.until(run, { gate: 'pause' });
  expect(await stateOf(server)).toMatchObject({
    phase: 'implementing',
    attempts: 1,
    tasksCompleted: 0,
    blockers: [expect.stringContaining('implementing failed once: ')],
  });
  await server.decide(run, { decision: 'retry', notes: 'Write it.' });
  await server.until(run, { gate: 'pause' });
  expect(await stateOf(server)).toMatchObject({
    phase: 'testing',
    tasksTotal: 1,
    blockers: [expect.stringContaining('The result was corrected once, and still: ')],
  });
  await server.decide(run, { decision: 'retry', notes: 'Write good.' });
  await server.until(run, { status: 'completed' });
  expect(await server.file('main', 'link.sh')).toBe('echo good\n');
  expect(await stateOf(server)).toMatchObject({ phase: 'completed', blockers: [] });
});
