/** Whole full-auto runs on a real server with real git: the list of the features, what becomes of each, and how a run ends. */
import { Readable, Writable } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { countedTest } from '../fixtures/counted-test.fixture.ts';
import {
  aFullAuto,
  aScriptOf,
  builds,
  EIGHT,
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

it('given a list with a cycle, it is sent back once; a feature that fails three times is skipped, and its dependant is not reached', async () => {
  const cycle = EIGHT.map((each) => (each.id === 'F003' ? { ...each, dependencies: [idOf(5)] } : each));
  const server = await aFullAuto({
    'feature-lister': [lists(cycle), when('F003 → F005 → F004 → F003 is a cycle', lists(EIGHT))],
    implementer: [
      // Later features stand first, since the memory of the project names those before.
      ...all(8, 7, 6),
      when('F004 Sound 4\n', runs('true')),
      ...all(3, 2, 1),
    ],
  });
  const run = await server.begin();
  const done = await server.ends(run);

  expect(await server.payloads(run.id, 'FEATURE_LIST_REFUSED' as never)).toEqual([
    { faults: expect.stringContaining('F003 → F005 → F004 → F003 is a cycle of dependencies') },
  ]);
  expect(await server.changes(run.id)).toEqual([
    'F001 passes',
    'F002 passes',
    'F003 passes',
    'F004 failed',
    'F004 failed',
    'F004 skipped',
    'F006 passes',
    'F007 passes',
    'F008 passes',
  ]);
  expect(done.failures).toEqual([
    expect.stringMatching(/^F004 Sound 4 is skipped: it failed 3 times\./),
    'F005 Sound 5 cannot be reached: it depends on F004, which is skipped.',
  ]);
  expect(done.progress).toEqual({ done: 6, total: 8 });
  expect(await server.passes(run.branch)).toEqual({
    F001: true,
    F002: true,
    F003: true,
    F004: false,
    F005: false,
    F006: true,
    F007: true,
    F008: true,
  });
  const progress = await server.mirror('show', `${run.branch}:${FOLDER}/progress.txt`);
  expect(progress).toContain('6 of 8 features pass. Completed with failures.');
  expect(progress).toContain('[ ] F005 Sound 5: cannot be reached: it depends on F004');
  expect(progress).toContain('6. F004 skipped: it failed 3 times');
  const state = await server.mirror('show', `${run.branch}:${FOLDER}/${FOLDER.replace('docs/research-', '')}-state.md`);
  expect(state).toContain('\nstatus: completed\n');
  expect(state).toContain('- Features total: 8\n- Features complete: 6\n- Features failed: 1\n');
  expect(await server.file(run.branch, 'sound8.sh')).toBe('echo 8\n');
  expect(await server.file('main', 'sound8.sh')).toBeNull();
  const end = (await server.payloads(run.id, 'RUN_COMPLETED'))[0];
  expect(end?.summary).toContain('6 of 8 features pass, completed with failures.');
  const children = (await server.client.listRuns({ parentId: run.id })).items;
  const third = children.find(({ originalRequest }) => originalRequest.includes('An earlier attempt'));
  expect(third?.originalRequest).toContain('the agent changed no file');
  expect(third?.originalRequest).toContain('Write the tests of this feature first');
});

it('given a list that leaves out a task of the plan, it is sent back, however well its features would pass', async () => {
  const server = await aFullAuto({
    'feature-lister': [
      lists([feature(1)], ['T1']),
      when('No feature carries out T2 of the plan', lists([feature(1)], ['T1', 'T2'])),
    ],
    implementer: all(1),
  });
  const run = await server.begin();
  await server.ends(run);
  expect(await server.payloads(run.id, 'FEATURE_LIST_REFUSED' as never)).toEqual([
    { faults: expect.stringContaining('No feature carries out T2 of the plan') },
  ]);
});

it('given green checks without a test of the feature, or with one that passes without it, the feature does not pass', async () => {
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1)])],
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
  const done = await server.ends(run);
  expect(done.failures).toBeUndefined();
  expect(await server.changes(run.id)).toEqual(['F001 failed', 'F001 failed', 'F001 passes']);
  const reasons = (await server.payloads(run.id, 'FEATURE_CHANGED' as never)) as unknown as { reason: string }[];
  expect(reasons.flatMap(({ reason }) => (reason === '' ? [] : [reason]))).toEqual([
    expect.stringMatching(/^no test is new or changed/),
    expect.stringMatching(/^its tests pass without it, so that they prove nothing: test\/sound1\.test\.sh\./),
  ]);
  expect(await server.file('main', 'notes.txt')).toBeNull();
  expect(await server.file('main', 'sound1.sh')).toBe('echo 1\n');
});

it('given a person who edits the list in the base meanwhile, the result has what the server found', async () => {
  const claim = [
    { ...feature(1), passes: true },
    { ...feature(2), passes: true },
  ];
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1), feature(2)])],
    implementer: [when('F002 Sound 2\n', runs('true')), ...all(1)],
  });
  const run = await server.begin({ maxAttempts: 1 }, { git: { autoMerge: true } });
  await server.until(run, { gate: 'full_auto_result' });
  await server.commit({ [`${FOLDER}/feature-list.json`]: `${JSON.stringify({ features: claim }, null, 2)}\n` });
  await server.decide(run, { decision: 'approve' });
  const done = await server.ends(run);
  expect(done.merged?.baseBranch).toBe('main');
  expect(done.notices.join('\n')).toContain(`${FOLDER}/feature-list.json had been changed by others`);
  expect(JSON.parse((await server.file('main', `${FOLDER}/feature-list.json`)) ?? '')).toEqual({
    features: [claim[0], { ...claim[1], passes: false }],
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

it('given a result that waits for a person, features that do not need it are built meanwhile, and it is merged after the decision', async () => {
  const onOpening = { label: 'x', type: 'shell', command: 'true', runOptions: { runOn: 'folderOpen' } };
  const tasks = `${JSON.stringify({ version: '2.0.0', tasks: [onOpening] })}\n`;
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1), feature(2), feature(3, 1)])],
    implementer: [...all(3, 2), builds(1, { '.vscode/tasks.json': tasks })],
  });
  const run = await server.begin();
  await vi.waitUntil(async () => (await server.changes(run.id)).length > 0, { timeout: 200_000, interval: 300 });
  // The third one needs the first.
  expect(await server.changes(run.id)).toEqual(['F002 passes']);
  expect(await server.payloads(run.id, 'FEATURE_WAITS' as never)).toEqual([
    { feature: 'F001', reason: expect.stringContaining('A changed file can run code by itself') },
  ]);
  const isWaiting = async () => (await server.client.getRun(run.id)).status === 'awaiting_children';
  await vi.waitUntil(isWaiting, { timeout: 60_000, interval: 300 });
  const progress = await server.mirror('show', `${run.branch}:${FOLDER}/progress.txt`);
  expect(progress).toContain('[ ] F001 Sound 1: waits for you: Review the result');
  const children = (await server.client.listRuns({ parentId: run.id })).items;
  const waiting = children.find(({ gate }) => gate !== null);
  await server.decide(waiting?.id ?? '', { decision: 'approve' });
  const done = await server.ends(run);
  expect(done.failures).toBeUndefined();
  expect(await server.changes(run.id)).toEqual(['F002 passes', 'F001 passes', 'F003 passes']);
  expect(await server.file(run.branch, '.vscode/tasks.json')).toBe(tasks);
  const log = await server.mirror('log', '--format=%s', run.branch, '--', FOLDER);
  const lines = log.split('\n').filter((line) => /^(?:F00|Sounds|Features)/.test(line));
  expect(lines).toEqual([
    'Sounds: 3 of 3 features pass',
    'F003: passes',
    'F001: passes',
    'F002: passes',
    'F001: waits for a person',
    'Features of Sounds',
  ]);
});

it('given a feature whose run a person cancels, it is not begun again', async () => {
  const [first, ...turns] = builds(1).turns;
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1), feature(2)])],
    implementer: [...all(2), { ...builds(1), turns: [{ ...first, delayMs: 60_000 }, ...turns] }],
  });
  const run = await server.begin();
  const atWork = async () =>
    (await server.client.listRuns({ parentId: run.id })).items.find(
      ({ currentStage }) => currentStage === 'implementation',
    );
  const child = await vi.waitUntil(atWork, { timeout: 100_000, interval: 300 });
  await server.client.cancelRun(child.id, 'No such sound');
  const done = await server.ends(run);
  expect(await server.changes(run.id)).toEqual(['F001 skipped', 'F002 passes']);
  expect(done.failures).toEqual([
    expect.stringMatching(
      /^F001 Sound 1 is skipped: Child run \S+ of workflow 'build' was cancelled by local: No such sound\.$/,
    ),
  ]);
});

it('given features that all pass, the run completes as a success and is merged without a word of a person', async () => {
  const server = await aFullAuto({
    'feature-lister': [lists([feature(2, 1), feature(1)])],
    implementer: all(2, 1),
  });
  const run = await server.begin({}, { git: { autoMerge: true } });
  const done = await server.ends(run);
  expect(done.failures).toBeUndefined();
  expect(done.merged?.baseBranch).toBe('main');
  expect(await server.changes(run.id)).toEqual(['F001 passes', 'F002 passes']);
  expect(await server.file('main', 'sound2.sh')).toBe('echo 2\n');
  const list = JSON.parse((await server.file('main', `${FOLDER}/feature-list.json`)) ?? '') as { features: object[] };
  expect(list.features).toEqual([
    { ...feature(2, 1), passes: true },
    { ...feature(1), passes: true },
  ]);
  expect(await server.file('main', `${FOLDER}/init.sh`)).toContain('#!/bin/sh\n');
});

it('given a result with failures that would be merged, a person decides: what failed is tried again, or the branch is left', async () => {
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1), feature(2)])],
    implementer: [when('A person knows better', writes(sound(2))), when('F002 Sound 2\n', runs('true')), ...all(1)],
  });
  const run = await server.begin({ maxAttempts: 1 }, { git: { autoMerge: true } });
  const { gate } = await server.until(run, { gate: 'full_auto_result' });
  expect(gate?.summary).toBe('1 of 2 features pass, completed with failures. Merge it into main?');
  expect(gate?.details['failures']).toEqual([expect.stringContaining('F002 Sound 2 is skipped')]);
  expect(await server.file('main', 'sound1.sh')).toBeNull();
  await server.decide(run, { decision: 'retry', notes: 'A person knows better' });
  const done = await server.ends(run);
  expect(done.failures).toBeUndefined();
  expect(await server.file('main', 'sound2.sh')).toBe('echo 2\n');
});

it('given a result with failures, the person who leaves the branch merges nothing', async () => {
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1), feature(2)])],
    implementer: [when('F002 Sound 2\n', runs('true')), ...all(1)],
  });
  const run = await server.begin({ maxAttempts: 1 }, { git: { autoMerge: true } });
  await server.until(run, { gate: 'full_auto_result' });
  await server.decide(run, { decision: 'accept', reason: 'I look at it tomorrow.' });
  const done = await server.ends(run);
  expect(done).toMatchObject({ published: { pushed: true }, failures: [expect.stringContaining('F002')] });
  expect(done.merged).toBeUndefined();
  expect(await server.file('main', 'sound1.sh')).toBeNull();
});

it('given an agent that sets passes itself, its edit is undone and told, and the server sets its own', async () => {
  const claim = JSON.stringify({
    features: [
      { ...feature(1), passes: true },
      { ...feature(2), passes: true },
    ],
  });
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1), feature(2)])],
    implementer: [
      when('F002 Sound 2\n', runs('true')),
      builds(1, { [`${FOLDER}/feature-list.json`]: claim, [`${FOLDER}/progress.txt`]: 'All done.\n' }),
    ],
  });
  const run = await server.begin({ maxAttempts: 1 });
  await server.until(run, { status: 'completed' });
  expect(await server.passes(run.branch)).toEqual({ F001: true, F002: false });
  const children = (await server.client.listRuns({ parentId: run.id })).items;
  const notices = children.flatMap(({ notices: each }) => each).join('\n');
  expect(notices).toContain(`${FOLDER}/feature-list.json`);
  expect(await server.mirror('show', `${run.branch}:${FOLDER}/progress.txt`)).not.toContain('All done.');
});

it('given a feature that its agent calls done with red checks, it does not pass', async () => {
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1)])],
    implementer: Array.from({ length: 10 }, () =>
      writes({ 'app.sh': 'echo goodbye\n' }, { summary: 'All tests pass.' }),
    ),
  });
  const run = await server.begin({ maxAttempts: 1 }, { maxFixAttempts: 1 });
  const done = await server.ends(run);
  expect(await server.changes(run.id)).toEqual(['F001 skipped']);
  expect(done.failures).toHaveLength(1);
  expect(done.published ?? null).toBeNull();
  expect(await server.mirror('show', `${run.branch}:app.sh`)).toBe('echo hello\n');
});

it('given an agent that asks, nobody is waited for: the question is told to the next attempt', async () => {
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1)])],
    implementer: [when('Which sound?', writes(sound(1))), when('F001 Sound 1\n', asks({ question: 'Which sound?' }))],
  });
  const run = await server.begin();
  await server.until(run, { status: 'completed' });
  expect(await server.changes(run.id)).toEqual(['F001 failed', 'F001 passes']);
});

it('given a limit of iterations, what is left is named as not begun', async () => {
  const server = await aFullAuto({
    'feature-lister': [lists([feature(1), feature(2)])],
    implementer: all(2, 1),
  });
  const run = await server.begin({ maxIterations: 1 });
  const done = await server.ends(run);
  expect(done.failures).toEqual(['F002 Sound 2 was not begun: the iterations were used up.']);
  const [end] = (await server.payloads(run.id, 'FEATURES_ENDED' as never)) as unknown as { kind: string }[];
  expect(end?.kind).toBe('iterations');
});

it('given a list with a cycle twice, a person is asked, and a retry lists anew with the note', async () => {
  const circle = [feature(1, 2), feature(2, 1)];
  const server = await aFullAuto({
    'feature-lister': [lists(circle), lists(circle), when('One feature is enough', lists([feature(1)]))],
    implementer: all(1),
  });
  const run = await server.begin();
  const { gate } = await server.until(run, { gate: 'pause' });
  expect(gate?.summary).toContain('F001 → F002 → F001 is a cycle of dependencies');
  await server.decide(run, { decision: 'retry', notes: 'One feature is enough' });
  await server.until(run, { status: 'completed' });
  expect(await server.passes(run.branch)).toEqual({ F001: true });
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
  expect(await call('full-auto', TOPIC)).toMatchObject({
    exitCode: 64,
    said: expect.stringContaining('Say what is to be built'),
  });
});
