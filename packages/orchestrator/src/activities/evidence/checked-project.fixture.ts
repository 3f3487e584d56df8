/** Projects whose results are checked in a real sandbox, without a run. */
import { join } from 'node:path';
import type { Concern } from '@autonomous/shared';
import type { ActivityContext } from '../../core/activity.ts';
import {
  type Fixture,
  importFiles,
  type Imported,
  mainHead,
  openFixture,
} from '../../repository/git-fixture.fixture.ts';
import { createBubblewrapProvider } from '../../sandboxes/bubblewrap/bubblewrap.ts';
import { TEST_LIMITS } from '../../sandboxes/sandbox.contract.ts';
import type { ActivityTools } from '../tools.ts';
import type { Checked, CheckInput } from '../types.ts';
import { DependencyCache } from '../install/dependency-cache.ts';
import { BaselineCache } from './baseline-cache.ts';
import { check } from './check.ts';
import { CheckedTrees } from './checked-trees.ts';
import { concernsOfTests } from './test-concerns.ts';

const provider = createBubblewrapProvider();
export const bubblewrap = await provider.availability();

type Files = Readonly<Record<string, Imported>>;

export interface CheckedProject {
  readonly fixture: Fixture;
  readonly tools: ActivityTools;
  /** Notes of the checks, in their order. */
  readonly notes: readonly string[];
  /** Input of the check of the base commit. */
  input(runId: string): CheckInput;
  context(runId: string): ActivityContext;
  /** Evidence of the base commit with these files. */
  checked(runId: string, mode: CheckInput['mode'], files: Files): Promise<Checked>;
  /** Evidence of the base commit with these files in the order of a run, which ends with the first that failed. */
  result(runId: string, files: Files): Promise<Result>;
}

export interface Result {
  readonly evidence: readonly Checked[];
  /** Mode of the check that failed. */
  readonly failed?: CheckInput['mode'];
  readonly concerns: readonly Concern[];
}

/** @param command the tests of the project */
export async function openCheckedProject(
  folder: string,
  files: Readonly<Record<string, string>>,
  command = 'npm test',
): Promise<CheckedProject> {
  const fixture = await openFixture(folder, { files });
  const { repository, project } = fixture;
  const baseCommit = await mainHead(fixture);
  const notes: string[] = [];
  const tools = {
    repository,
    sandboxes: provider,
    limits: TEST_LIMITS,
    setupTimeoutMs: 10_000,
    dependencies: new DependencyCache({ folder: join(folder, 'dependencies'), maxBytes: 1e9 }),
    workFolder: join(folder, 'work'),
    baselines: new BaselineCache(join(folder, 'baselines')),
    checkedTrees: new CheckedTrees(join(folder, 'checked')),
    egress: async () => [],
    scrub: (text: string) => text,
    view: async () => ({ config: { commands: {} } }),
    project: async () => project,
    // The other ports have no part in it.
  } as unknown as ActivityTools;
  const input = (runId: string) =>
    ({
      runId,
      projectId: project.id,
      baseCommit,
      test: { command, source: 'package.json' },
      setup: null,
      excludePaths: [],
      timeoutMinutes: 1,
    }) as unknown as CheckInput;
  const context = (runId: string) => {
    const progress = ({ kind, text }: { readonly kind: string; readonly text: string }) =>
      kind === 'note' && notes.push(text);
    const part = { key: `${runId}/1/check`, runId, signal: new AbortController().signal, progress };
    return part as unknown as ActivityContext; // Nothing else is asked for.
  };
  const checked: CheckedProject['checked'] = (runId, mode, changed) => {
    const commit = importFiles(fixture.gitDir, `autonomous/${runId}`, changed, baseCommit);
    return check(tools).perform({ ...input(runId), mode, commit }, context(runId));
  };
  const result: CheckedProject['result'] = async (runId, changed) => {
    const evidence: Checked[] = [];
    for (const mode of ['as_is', 'base_tests'] as const) {
      evidence.push(await checked(runId, mode, changed));
      if (evidence.at(-1)?.passed === false) return { evidence, failed: mode, concerns: [] };
    }
    return { evidence, concerns: concernsOfTests(undefined, evidence) };
  };
  return { fixture, tools, notes, input, context, checked, result };
}
