/** A whole backlog on a real server with real git: items one after the other, their statuses in the base, and what stops the loop. */
import { chmod, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RunConfigRequest, RunView } from '@autonomous/shared';
import { expect, it } from 'vitest';
import {
  aPlan,
  aScript,
  aServer,
  asks,
  type Files,
  FILES,
  type Fixture,
  runs,
  when,
  writes,
} from '../fixtures/orchestrator.fixture.ts';

const TABLE = [
  '# Backlog',
  '',
  '| ID | Title | Status | Priority | Depends on |',
  '|---|---|---|---|---|',
  '| TECH-6 | A bell | queued | P2 | |',
  '| TECH-65 | A horn, see TECH-6 | queued | P1 | |',
  '| TECH-7 | A choir | queued | P3 | TECH-6 |',
  '| TECH-1 | Old | done | P0 | |',
  '',
];

const spec = (id: string, allowed: string, environment = 'nodejs: false'): string =>
  [
    `# Tech: [${id}] Something`,
    '',
    '**Status:** queued | **Priority:** P1 | **Date:** 2026-02-02',
    '',
    '## Allowed Files',
    '',
    `1. \`${allowed}\` — new`,
    '',
    '## Environment',
    '',
    environment,
    '',
    '## Autopilot Log',
    '',
    '*(Filled by Autopilot during execution)*',
    '',
  ].join('\n');

const PROJECT: Files = {
  ...FILES,
  'ai/backlog.md': TABLE.join('\n'),
  'ai/features/TECH-6.md': spec('TECH-6', 'bell.sh'),
  'ai/features/TECH-65.md': spec('TECH-65', 'horn.sh'),
};

const plans = Array.from({ length: 6 }, () => aPlan());

async function aBacklog(
  implementer: ReturnType<typeof writes>[],
  files: Files = PROJECT,
): Promise<Fixture & { begin(input?: object, config?: RunConfigRequest): Promise<RunView> }> {
  const server = await aServer({ files, script: aScript({ planner: plans, implementer }) });
  return {
    ...server,
    begin: (input = {}, config = {}) =>
      server.client.launchRun({
        projectId: server.project.id,
        workflow: 'backlog',
        request: 'Work through ai/backlog.md',
        input: { ...input },
        config,
      }),
  };
}

const rows = async (server: Fixture): Promise<Record<string, string>> =>
  Object.fromEntries(
    ((await server.file('main', 'ai/backlog.md')) ?? '')
      .split('\n')
      .filter((line) => line.startsWith('| TECH'))
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .map(([, id = '', , status = '']) => [id, status]),
  );

it('works through the items by priority, each from what the one before gave, leaves out what a specification does not allow, goes on with an item that a person has queued meanwhile, and keeps their statuses in the base', async () => {
  const server = await aBacklog(
    [
      // The memory names items that are done.
      when('TECH-8: A drum', writes({ 'drum.sh': 'echo boom\n' })),
      when('TECH-6: A bell', writes({ 'bell.sh': 'sh horn.sh && echo ding\n', 'app.sh': 'echo goodbye\n' })),
      when('TECH-65: A horn', writes({ 'horn.sh': 'echo toot\n', 'ai/backlog.md': 'all done, I say\n' })),
    ],
    { ...PROJECT, 'ai/backlog.md': TABLE.filter((line) => !line.includes('TECH-7')).join('\n') },
  );
  const run = await server.begin({}, { git: { autoMerge: true } });
  await server.event(run.id, 'PROGRESS_CHANGED');
  const text = (await server.file('main', 'ai/backlog.md')) ?? '';
  await server.commit({ 'ai/backlog.md': `${text.trimEnd()}\n| TECH-8 | A drum | queued | P9 | |\n` });
  const done = await server.until(run.id, { status: 'completed' });
  expect(done.merged?.baseBranch).toBe('main');
  expect(await rows(server)).toEqual({ 'TECH-6': 'done', 'TECH-65': 'done', 'TECH-1': 'done', 'TECH-8': 'done' });
  expect(await server.file('main', 'bell.sh')).toBe('sh horn.sh && echo ding\n');
  expect(await server.file('main', 'drum.sh')).toBe('echo boom\n');
  expect(await server.file('main', 'app.sh')).toBe('echo hello\n');
  const children = (await server.client.listRuns({ parentId: run.id })).items;
  const requests = children.map(({ originalRequest }) => originalRequest.split('\n')[0]).toReversed();
  expect(requests).toEqual(['TECH-65: A horn, see TECH-6', 'TECH-6: A bell', 'TECH-8: A drum']);
  expect(children[1]?.notices.join('\n')).toContain('app.sh (it is not among the files that this run may change');
  const horn = (await server.file('main', 'ai/features/TECH-65.md')) ?? '';
  expect(horn).toContain('**Status:** done | **Priority:** P1');
  expect(horn).not.toContain('Filled by Autopilot');
  const changes = (await server.payloads(run.id, 'ITEM_CHANGED' as never)) as unknown as {
    item: string;
    status: string;
  }[];
  expect(changes.map(({ item, status }) => `${item} ${status}`)).toEqual([
    'TECH-65 in_progress',
    'TECH-65 done',
    'TECH-6 in_progress',
    'TECH-6 done',
    'TECH-8 in_progress',
    'TECH-8 done',
  ]);
  expect(await server.file('main', 'ai/diary/autopilot-progress.md')).toContain('`autopilot-progress.log.md` beside');
  expect(await server.file('main', 'ai/diary/.gitignore')).toBe('/autopilot-progress.log.md\n');
  expect(await server.file('main', 'ai/diary/autopilot-progress.log.md')).toBeNull();
  const log = await server.file('main', `.autonomous/runs/${run.id}/autopilot-progress.md`);
  expect(log).toContain('## Iteration 2: TECH-6\n');
});

it('stops at an item that comes to nothing twice, and finishes with what is done where a person says so: what they have set in the table meanwhile is kept row by row, or asked about', async () => {
  const server = await aBacklog([
    when('TECH-6: A bell', runs('true')),
    when('TECH-65: A horn', writes({ 'horn.sh': 'echo toot\n' })),
  ]);
  const run = await server.begin({}, { git: { autoMerge: true } });
  const stopped = await server.until(run.id, { gate: 'backlog_stopped' });
  expect(stopped.gate?.summary).toContain('TECH-6 is blocked');
  expect(await rows(server)).toMatchObject({ 'TECH-65': 'in_progress' });
  await server.decide(run.id, { decision: 'retry', notes: 'It is a small bell.' });
  await server.until(run.id, { gate: 'backlog_stopped' });
  const [latest] = (await server.client.listRuns({ parentId: run.id })).items;
  expect(latest?.originalRequest).toContain('A person says: It is a small bell.');

  const before = (await server.file('main', 'ai/backlog.md')) ?? '';
  const edited = `${before.replace('| A choir |', '| A large choir |').trimEnd()}\n| TECH-8 | A drum | queued | P9 | |\n`;
  const horn = (status: string): string => edited.replace(/(\| TECH-65 \|.*\|) in_progress \|/, `$1 ${status} |`);
  await server.commit({ 'ai/backlog.md': horn('blocked') });
  await server.decide(run.id, { decision: 'accept', reason: 'The horn is enough.' });
  const paused = await server.until(run.id, { gate: 'pause' });
  expect(paused.gate?.summary).toContain("TECH-65 is 'blocked', and its result is on the run's branch already");
  expect(await server.file('main', 'horn.sh')).toBeNull();
  expect(paused.published ?? null).toBeNull();
  await server.commit({ 'ai/backlog.md': horn('in_progress') });
  await server.decide(run.id, { decision: 'retry' });
  const done = await server.until(run.id, { status: 'completed' });
  expect(done.progress).toEqual({ done: 2, total: 5 });
  expect(await server.file('main', 'horn.sh')).toBe('echo toot\n');
  // An item is done once its result is published.
  expect(await server.file('main', 'ai/backlog.md')).toBe(horn('done'));
  expect(await rows(server)).toMatchObject({ 'TECH-6': 'blocked', 'TECH-65': 'done', 'TECH-7': 'queued' });
});

it('leaves an item that asks waiting and goes on with others; blocks one whose programs the sandbox does not have before an agent is asked, and skips what depends on it', async () => {
  const question = { question: 'Which horn?', options: ['Brass', 'Wood'] };
  const server = await aBacklog(
    [
      when('TECH-6: A bell', writes({ 'bell.sh': 'echo ding\n' })),
      when('Brass', writes({ 'horn.sh': 'echo toot\n' })),
      when('TECH-65: A horn', asks(question)),
    ],
    {
      ...PROJECT,
      'ai/backlog.md': [...TABLE.slice(0, -1), '| TECH-9 | A mass | queued | P4 | TECH-7 |', ''].join('\n'),
      'ai/features/TECH-65.md': spec('TECH-65', 'horn.sh', 'sh: true'),
      'ai/features/TECH-7.md': spec('TECH-7', 'choir.sh', 'sh: true\nno-such-program: true'),
    },
  );
  const run = await server.begin({ keepGoing: true });
  await expect.poll(() => rows(server)).toMatchObject({ 'TECH-6': 'in_progress', 'TECH-7': 'blocked' });
  const children = async () => (await server.client.listRuns({ parentId: run.id })).items;
  const [, horn] = await children();
  expect(horn?.gate?.kind).toBe('clarification');
  await server.decide(horn?.id ?? '', { decision: 'answer', response: 'Brass' });
  const stopped = await server.until(run.id, { gate: 'backlog_stopped' });
  expect(stopped.gate?.summary).toContain('TECH-7 asks for: no-such-program: true (there is no program no-such');
  expect(stopped.gate?.summary).toContain('SANDBOX_PROGRAMS');
  expect(stopped.gate?.details['left']).toContain('TECH-9 is skipped: it waits for TECH-7, which is blocked');
  expect(await rows(server)).toMatchObject({
    'TECH-6': 'in_progress',
    'TECH-65': 'in_progress',
    'TECH-7': 'blocked',
    'TECH-9': 'queued',
  });
  expect(await server.file('main', 'ai/features/TECH-7.md')).toMatch(/\d: blocked \(the sandbox does not have/);
  expect((await children()).map(({ originalRequest }) => originalRequest.split(':')[0])).toEqual(['TECH-6', 'TECH-65']);
  const activities = await server.payloads(run.id, 'ACTIVITY_COMPLETED');
  expect(activities.filter(({ activity }) => activity === 'checkEnvironment')).toHaveLength(2);
  // The line of the specification is the one way out that needs no other server.
  await server.commit({ 'ai/features/TECH-7.md': spec('TECH-7', 'choir.sh') });
  await server.decide(run.id, { decision: 'retry' });
  await expect.poll(() => rows(server)).toMatchObject({ 'TECH-7': 'in_progress' });
});

it('asks for its result once, though its statuses have moved the base, and asks where a status cannot be written: before the work, and after the merge, which is made once', async () => {
  const bell = 'ai/features/TECH-6.md';
  const server = await aBacklog([writes({ 'bell.sh': 'echo ding\n' })], {
    ...PROJECT,
    // A checkout that reads it in another encoding writes this sign.
    [bell]: spec('TECH-6', 'bell.sh').replace('Something', 'Caf\uFFFD'),
  });
  const open = await refusingTheLast(server);
  const manual = { trustMode: { implementation: 'manual' as const }, git: { autoMerge: true } };
  const run = await server.begin({ item: 'TECH-6' }, manual);
  const unread = await server.until(run.id, { gate: 'pause' });
  expect(unread.gate?.summary).toContain(`${bell} at commit`);
  expect(unread.gate?.summary).toContain('is not UTF-8 text');
  expect(await rows(server)).toMatchObject({ 'TECH-6': 'queued' });
  await server.commit({ [bell]: spec('TECH-6', 'bell.sh').replace('Something', 'Something else') });
  await server.decide(run.id, { decision: 'retry' });

  const childOf = async () => (await server.client.listRuns({ parentId: run.id })).items[0];
  await expect.poll(async () => (await childOf())?.gate?.kind).toBe('implementation');
  const child = await childOf();
  expect(child?.originalRequest).toContain('[TECH-6] Something else');
  await server.approveResult(child?.id ?? '');
  const { gate } = await server.until(run, { gate: 'backlog_result' });
  await server.decide(run, {
    decision: 'approve',
    ...(gate?.codeTree === undefined ? {} : { codeTree: gate.codeTree }),
  });
  const refused = await server.until(run, { gate: 'pause' });
  expect(refused.gate?.summary).toMatch(/^The result is merged into main; .*main is protected/);
  await open();
  await server.decide(run, { decision: 'retry' });
  await server.until(run, { status: 'completed' });
  expect(await server.payloads(run.id, 'RUN_MERGED')).toHaveLength(1);
  expect(await rows(server)).toMatchObject({ 'TECH-6': 'done' });
});

it('reads and writes the table that the project configures, in its own words, on the branch that is published where the base refuses the last statuses', async () => {
  const table = TABLE.join('\n')
    .replace('| ID | Title | Status |', '| Nr | Title | Stand |')
    .replaceAll('| queued', '| open')
    .replace('| done', '| ready');
  const backlog = {
    file: 'docs/todo.md',
    specs: 'docs/specs',
    columns: { id: 'Nr', status: 'Stand' },
    statusWords: { open: 'queued', 'under way': 'in_progress', ready: 'done' },
    progressLog: false,
  };
  const server = await aBacklog([when('TECH-6: A bell', writes({ 'bell.sh': 'echo ding\n' }))], {
    ...FILES,
    'docs/todo.md': table,
    'docs/specs/TECH-6.md': spec('TECH-6', 'bell.sh'),
    '.autonomous/config.json': JSON.stringify({
      backlog,
      defaultRunConfig: { commands: { test: 'sh test/app.test.sh' } },
    }),
  });
  await refusingTheLast(server);
  const run = await server.begin({ item: 'TECH-6' });
  expect(run.ownedFiles?.paths.slice(0, 3)).toEqual([
    'docs/todo.md',
    'docs/specs/**/*.md',
    'docs/diary/autopilot-progress.md',
  ]);
  await server.until(run.id, { status: 'completed' });
  const withBell = (status: string) => table.replace('| A bell | open', `| A bell | ${status}`);
  expect(await server.file('main', 'docs/todo.md')).toBe(withBell('under way'));
  expect(await server.file(run.branch, 'docs/todo.md')).toBe(withBell('ready'));
  expect(await server.file(run.branch, 'docs/specs/TECH-6.md')).toContain('attempt 1: done');
  expect(await server.file(run.branch, 'docs/diary/autopilot-progress.md')).toBeNull();
  const named = await server.client.launchRun({
    projectId: server.project.id,
    workflow: 'backlog',
    input: { file: 'docs/other.md' },
  });
  expect(named.ownedFiles?.paths.slice(0, 2)).toEqual(['docs/other.md', 'docs/specs/**/*.md']);
});

/**
 * The base refuses the last statuses.
 * @returns a function that has it take them
 */
async function refusingTheLast(server: Fixture): Promise<() => Promise<void>> {
  const hook = path.join(server.remote, 'hooks', 'pre-receive');
  const refuse = 'case "$(git log -1 --format=%s $n)" in *": done") echo main is protected >&2; exit 1;; esac';
  await writeFile(hook, `#!/bin/sh\nwhile read o n ref; do [ "$ref" != refs/heads/main ] || ${refuse}; done\n`);
  await chmod(hook, 0o755);
  return () => rm(hook);
}
