/** Evidence that is found again: another run is told that it is from an earlier one, the run that made it is not. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Fixture, mainHead, openFixture, temporaryFolder } from '../../repository/git-fixture.fixture.ts';
import type { ActivityContext } from '../../core/activity.ts';
import type { BaselineInput } from '../types.ts';
import { BaselineCache } from './baseline-cache.ts';
import { baselineOf, keepAsBaseline } from './baseline.ts';
import type { ActivityTools } from '../tools.ts';

let temporary: ReturnType<typeof temporaryFolder>;
let fixture: Fixture;
beforeEach(async () => {
  temporary = temporaryFolder();
  fixture = await openFixture(temporary.path);
});
afterEach(() => temporary.remove());

it.each([
  ['the run that made it', 'r-1', undefined],
  ['another run', 'r-2', true],
])('is told to %s as what it is', async (_, runId, isFromEarlierRun) => {
  const { repository, project } = fixture;
  const commit = await mainHead(fixture);
  const codeTree = await repository.codeTree(project, commit);
  const tools = {
    repository,
    baselines: new BaselineCache(join(temporary.path, 'baselines')),
    sandboxes: { name: 'bubblewrap', platform: 'linux' },
    egress: async () => [],
    view: async () => ({ config: { commands: {} } }),
  } as unknown as ActivityTools; // Nothing else is asked for what is known.
  const input = {
    projectId: project.id,
    baseCommit: commit,
    test: { command: 'npm test' },
    setup: null,
    excludePaths: [],
  } as unknown as BaselineInput;
  const command = { command: 'npm test', exitCode: 0, durationMs: 1, output: '' };
  const baseline = { commit, codeTree, passed: true, command, sandbox: 'bubblewrap' };
  await keepAsBaseline(tools, project, input, { baseline, executed: [], failed: [], files: [], madeBy: 'r-1' });
  const found = await baselineOf(tools, { runId } as ActivityContext, project, input);
  expect(found.baseline.isFromEarlierRun).toBe(isFromEarlierRun);
});

it.each([
  ['that came to no end', { exitCode: null }, undefined],
  ['that a signal ended', { exitCode: 137 }, undefined],
  ['whose tests did not finish', { exitCode: 1 }, { finished: false }],
])('of checks %s is not kept for other runs', async (_, ended, tests) => {
  const cache = new BaselineCache(join(temporary.path, 'baselines'));
  const command = { command: 'npm test', durationMs: 1, output: '', ...ended };
  const baseline = { commit: 'c', codeTree: 't', passed: false, command, sandbox: 'bubblewrap', tests } as never;
  await cache.use('ab', async () => ({ baseline, executed: [], failed: [], files: [] }));
  expect(await cache.find('ab')).toBeNull();
});
