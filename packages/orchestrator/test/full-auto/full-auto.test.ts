/** Whole full-auto runs on a real server with real git: the list of the features, what becomes of each, and how a run ends. */
import { Readable, Writable } from 'node:stream';
import type { RunView } from '@autonomous/shared';
import { expect, it, vi } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { statusOf } from '../../src/cli/run-texts.ts';
import { countedTest } from '../fixtures/counted-test.fixture.ts';
import {
  aFullAuto,
  aScriptOf,
  builds,
  feature,
  FOLDER,
  idOf,
  lists,
  PROJECT,
  sound,
  TOPIC,
} from './full-auto.fixture.ts';
import { asks, aServer, runs, when, writes } from '../fixtures/orchestrator.fixture.ts';

const all = (...numbers: readonly number[]) => numbers.map((number) => builds(number));

it('given a list with a cycle that leaves out a task, it is sent back once; a feature that fails three times is skipped, and its dependant is not reached', async () => {
  const listed = [feature(2, 1), feature(1), feature(3), feature(4, 3)];
  const cycle = listed.map((each) => (each.id === 'F003' ? { ...each, dependencies: [idOf(4)] } : each));
  const claim = JSON.stringify({ features: [1, 2, 3, 4].map((number) => ({ ...feature(number), passes: true })) });
  const server = await aFullAuto({
    'feature-lister': [lists(cycle, ['T1']), when('F003 → F004 → F003 is a cycle', lists(listed))],
    implementer: [
      // The first entry that matches answers a call: those of a single attempt come before those of all.
      when('the agent changed no file', writes({ 'app.sh': 'echo goodbye\n' }, { summary: 'All tests pass.' })),
      when('Which sound?', runs('true')),
      when('F003 Sound 3\n', asks({ question: 'Which sound?' })),
      // Later features stand first, since the memory of the project names those before.
      builds(2),
      builds(1, { [`${FOLDER}/feature-list.json`]: claim, [`${FOLDER}/progress.txt`]: 'All done.\n' }),
    ],
  });
  const run = await server.begin({}, { maxFixAttempts: 1 });
  const done = await server.ends(run);

  const refused = await server.payloads(run.id, 'FEATURE_LIST_REFUSED' as never);
  expect(refused).toEqual([{ faults: expect.stringContaining('F003 → F004 → F003 is a cycle of dependencies') }]);
  expect(JSON.stringify(refused)).toContain('No feature carries out T2 of the plan');
  expect(await server.changes(run.id)).toEqual([
    'F001 passes',
    'F002 passes',
    'F003 failed',
    'F003 failed',
    'F003 skipped',
  ]);
  expect(done.failures).toEqual([
    'F003 Sound 3 is skipped: it failed 3 times. The last time: 1 of 1 test failed: app',
    'F004 Sound 4 cannot be reached: it depends on F003, which is skipped.',
  ]);
  expect(done.progress).toEqual({ done: 2, total: 4 });
  // The claim of the agent is undone and told; the server sets its own.
  expect(await server.passes(run.branch)).toEqual({ F001: true, F002: true, F003: false, F004: false });
  const progress = await server.mirror('show', `${run.branch}:${FOLDER}/progress.txt`);
  expect(progress).toContain('2 of 4 features pass. Completed with failures.');
  expect(progress).toContain('[ ] F004 Sound 4: cannot be reached: it depends on F003');
  expect(progress).toContain('5. F003 skipped: it failed 3 times');
  expect(progress).not.toContain('All done.');
  const state = await server.mirror('show', `${run.branch}:${FOLDER}/${FOLDER.replace('docs/research-', '')}-state.md`);
  expect(state).toContain('\nstatus: completed\n');
  expect(state).toContain('- Features total: 4\n- Features complete: 2\n- Features failed: 1\n');
  expect(await server.file(run.branch, 'sound2.sh')).toBe('echo 2\n');
  expect(await server.file(run.branch, 'app.sh')).toBe('echo hello\n');
  expect(await server.file('main', 'sound2.sh')).toBeNull();
  const end = (await server.payloads(run.id, 'RUN_COMPLETED'))[0];
  expect(end?.summary).toContain('2 of 4 features pass, completed with failures.');
  const children = (await server.client.listRuns({ parentId: run.id })).items;
  expect(children.flatMap(({ notices }) => notices).join('\n')).toContain(`${FOLDER}/feature-list.json`);
  const [third, second] = children.filter(({ originalRequest }) => originalRequest.includes('An earlier attempt'));
  // Nobody is waited for.
  expect(second?.originalRequest).toContain('Which sound?');
  expect(third?.originalRequest).toContain('the agent changed no file');
  expect(third?.originalRequest).toContain('Write the tests of this feature first');
  expect(children.map((child) => statusOf(child)).slice(0, 4)).toEqual([
    'attempt 3 of 3 – 1 of 1 test failed: app',
    'attempt 2 of 3 – the agent changed no file',
    'attempt 1 of 3 – the agent asked: Which sound?',
    'attempt 1 of 3 – completed',
  ]);
  const { total } = await server.client.getMetrics({});
  expect(total).toMatchObject({ started: 1, failed: 1, cancelled: 0, successRate: 0 });
  expect(total.childRuns).toEqual({ started: 5, completed: 2, failed: 3, cancelled: 0 });
});

it('given a list with a cycle twice, a person has it listed anew; a feature passes only by a test that fails without it, and is merged without a word of a person', async () => {
  const circle = lists([feature(1, 2), feature(2, 1)]);
  const server = await aFullAuto({
    'feature-lister': [circle, circle, when('One feature is enough', lists([feature(1)]))],
    implementer: [
      when('its tests pass without it', writes(sound(1))),
      when(
        'no test is new or changed',
        writes({ 'sound1.sh': 'echo 1\n', 'test/sound1.test.sh': countedTest('true', 'sound1') }),
      ),
      when('F001 Sound 1\n', writes({ 'notes.txt': 'Done, all tests pass.\n' })),
    ],
  });
  const run = await server.begin({}, { git: { autoMerge: true } });
  const { gate } = await server.until(run, { gate: 'pause' });
  expect(gate?.summary).toContain('F001 → F002 → F001 is a cycle of dependencies');
  await server.decide(run, { decision: 'retry', notes: 'One feature is enough' });
  const done = await server.ends(run);
  expect(done.failures).toBeUndefined();
  expect(done.merged?.baseBranch).toBe('main');
  expect(await server.changes(run.id)).toEqual(['F001 failed', 'F001 failed', 'F001 passes']);
  const reasons = (await server.payloads(run.id, 'FEATURE_CHANGED' as never)) as unknown as { reason: string }[];
  expect(reasons.flatMap(({ reason }) => (reason === '' ? [] : [reason]))).toEqual([
    expect.stringMatching(/^no test is new or changed/),
    expect.stringMatching(/^its tests pass without it, so that they prove nothing: test\/sound1\.test\.sh\./),
  ]);
  expect(await server.file('main', 'notes.txt')).toBeNull();
  expect(await server.file('main', 'sound1.sh')).toBe('echo 1\n');
  expect(JSON.parse((await server.file('main', `${FOLDER}/feature-list.json`)) ?? '')).toEqual({
    features: [{ ...feature(1), passes: true }],
  });
  expect(await server.file('main', `${FOLDER}/init.sh`)).toContain('#!/bin/sh\n');
});

it('given a result with failures that would be merged, a person has what failed tried again; of a list that is edited in the base meanwhile, the result has what the server found', async () => {
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1), feature(2)])],
    implementer: [when('A person knows better', writes(sound(2))), when('F002 Sound 2\n', runs('true')), ...all(1)],
  });
  const run = await server.begin({ maxAttempts: 1 }, { git: { autoMerge: true } });
  const { gate } = await server.until(run, { gate: 'full_auto_result' });
  expect(gate?.summary).toBe('1 of 2 features pass, completed with failures. Merge it into main?');
  expect(gate?.details['failures']).toEqual([expect.stringContaining('F002 Sound 2 is skipped')]);
  expect(await server.file('main', 'sound1.sh')).toBeNull();
  const claim = [
    { ...feature(1), passes: false },
    { ...feature(3), passes: true },
  ];
  await server.commit({ [`${FOLDER}/feature-list.json`]: `${JSON.stringify({ features: claim }, null, 2)}\n` });
  await server.decide(run, { decision: 'retry', notes: 'A person knows better' });
  const done = await server.ends(run);
  expect(done.failures).toBeUndefined();
  expect(done.merged?.baseBranch).toBe('main');
  expect(done.notices.join('\n')).toContain(`${FOLDER}/feature-list.json had been changed by others`);
  expect(await server.file('main', 'sound2.sh')).toBe('echo 2\n');
  expect(JSON.parse((await server.file('main', `${FOLDER}/feature-list.json`)) ?? '')).toEqual({
    features: [1, 2].map((number) => ({ ...feature(number), passes: true })),
  });
});

it('given a project without tests, the list names the command, and the first feature brings what it runs', async () => {
  const { 'test/all.sh': allTests = '', 'test/app.test.sh': _, '.autonomous/config.json': __, ...files } = PROJECT;
  const server = await aServer({
    files,
    script: aScriptOf({
      'feature-lister': [
        lists([feature(1), feature(2)]),
        when(
          'names no command that tests it',
          lists([feature(1), feature(2)], ['T1', 'T2'], { testCommand: 'sh test/all.sh' }),
        ),
      ],
      implementer: [...all(2), builds(1, { 'test/all.sh': String(allTests) })],
    }),
  });
  const run = await server.client.launchRun({
    projectId: server.project.id,
    workflow: 'full-auto',
    request: 'Build the sounds',
    input: { topic: TOPIC, plan: FOLDER },
  });
  const children = async () => (await server.client.listRuns({ parentId: run.id })).items;
  // No test of the base vouches for the first result: a person looks at it.
  const first = await vi.waitUntil(async () => (await children()).find(({ gate }) => gate !== null), {
    timeout: 200_000,
  });
  expect(first.gate?.kind).toBe('implementation');
  expect(first.gate?.concerns?.map(({ kind }) => kind)).toContain('tests_none');
  await server.decide(first, { decision: 'approve' });
  const atEnd = await vi.waitUntil(
    async () => {
      const view = await server.client.getRun(run.id);
      return view.gate !== null || view.status === 'completed' ? view : null;
    },
    { timeout: 200_000 },
  );
  expect(atEnd.progress).toEqual({ done: 2, total: 2 });
  expect(atEnd.notices.join('\n')).toContain('`sh test/all.sh`, which the feature-lister named, checks the features.');
});

it('given a result that waits for a person, features that do not need it are built meanwhile, it is merged after the decision, and what a person cancels is not begun again', async () => {
  const onOpening = { label: 'x', type: 'shell', command: 'true', runOptions: { runOn: 'folderOpen' } };
  const tasks = `${JSON.stringify({ version: '2.0.0', tasks: [onOpening] })}\n`;
  const [first, ...turns] = builds(3).turns;
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1), feature(2), feature(3, 1)])],
    implementer: [
      { ...builds(3), turns: [{ ...first, delayMs: 60_000 }, ...turns] },
      builds(2),
      builds(1, { '.vscode/tasks.json': tasks }),
    ],
  });
  const run = await server.begin();
  await vi.waitUntil(async () => (await server.changes(run.id)).length > 0, { timeout: 200_000, interval: 100 });
  // The third one needs the first.
  expect(await server.changes(run.id)).toEqual(['F002 passes']);
  expect(await server.payloads(run.id, 'FEATURE_WAITS' as never)).toEqual([
    { feature: 'F001', reason: expect.stringContaining('A changed file can run code by itself') },
  ]);
  const isWaiting = async () => (await server.client.getRun(run.id)).status === 'awaiting_children';
  await vi.waitUntil(isWaiting, { timeout: 60_000, interval: 100 });
  const progress = await server.mirror('show', `${run.branch}:${FOLDER}/progress.txt`);
  expect(progress).toContain('[ ] F001 Sound 1: waits for you: Review the result');
  const child = async (is: (child: RunView) => boolean) =>
    (await server.client.listRuns({ parentId: run.id })).items.find(is);
  await server.decide((await child(({ gate }) => gate !== null))?.id ?? '', { decision: 'approve' });
  const third = await vi.waitUntil(
    () => child((each) => each.originalRequest.startsWith('F003') && each.currentStage === 'implementation'),
    { timeout: 100_000, interval: 100 },
  );
  await server.client.cancelRun(third.id, 'No such sound');
  const done = await server.ends(run);
  expect(await server.changes(run.id)).toEqual(['F002 passes', 'F001 passes', 'F003 skipped']);
  expect(done.failures).toEqual([
    expect.stringMatching(
      /^F003 Sound 3 is skipped: Child run \S+ of workflow 'build' was cancelled by local: No such sound\.$/,
    ),
  ]);
  expect(await server.file(run.branch, '.vscode/tasks.json')).toBe(tasks);
  const log = await server.mirror('log', '--format=%s', run.branch, '--', FOLDER);
  const lines = log.split('\n').filter((line) => /^(?:F00|Sounds|Features)/.test(line));
  expect(lines).toEqual([
    'Sounds: 2 of 3 features pass',
    'F003: skipped',
    'F001: passes',
    'F002: passes',
    'F001: waits for a person',
    'Features of Sounds',
  ]);
});

it('refuses a plan that is not there or has another shape, and says what to do', async () => {
  const server = await aFullAuto({}, { files: { 'docs/other.json': '{"components": []}\n' } });
  const missing = await server.begin({ plan: 'docs/none' });
  expect((await server.ends(missing, 'failed')).failure).toContain("The project has no plan 'docs/none'");
  const other = await server.begin({ plan: 'docs/other.json' });
  expect((await server.ends(other, 'failed')).failure).toContain('docs/other.json is no plan: tasks');
});

it('ends at the command line with 1 where features fail, and with 2 where the iterations are used up', async () => {
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1), feature(2)])],
    implementer: [when('F002 Sound 2\n', runs('true')), ...all(1)],
  });
  const call = async (...words: readonly string[]) => {
    let said = '';
    const into = new Writable({
      write(chunk: Buffer, _encoding, done) {
        said += chunk.toString();
        done();
      },
    });
    const { token, server: http } = server.orchestrator;
    const exitCode = await runCli(words, {
      stdin: Readable.from([]),
      stdout: into,
      stderr: into,
      env: { AUTONOMOUS_TOKEN: token, AUTONOMOUS_SERVER: http.url },
      cwd: server.folder,
      program: 'autonomous',
    });
    return { exitCode, said };
  };
  const run = (...more: readonly string[]) =>
    call('full-auto', TOPIC, 'Build the sounds', '--plan', FOLDER, '--project', server.project.id, ...more);
  const failed = await run('--attempts', '1');
  expect(failed).toMatchObject({ exitCode: 1, said: expect.stringContaining('completed with failures') });
  expect(failed.said).toContain('F002 Sound 2 is skipped');
  expect((await call('list')).said).toContain('completed with failures');
  expect((await run('--max-iterations', '1')).exitCode).toBe(2);
  const [last] = (await server.client.listRuns({ workflow: 'full-auto' })).items;
  expect(last?.failures).toEqual(['F002 Sound 2 was not begun: the iterations were used up.']);
  expect(await server.payloads(last?.id ?? '', 'FEATURES_ENDED' as never)).toMatchObject([{ kind: 'iterations' }]);
  expect(await call('full-auto', TOPIC)).toMatchObject({
    exitCode: 64,
    said: expect.stringContaining('Say what is to be built'),
  });
});
