/** Runs the project's own checks on one code tree, in a fresh sandbox without network. */
import { filterInSlices } from '../../foreign-text/foreign-text-slices.ts';
import { isTestConfiguration, isTestPath } from '../../project-analysis/project-commands.ts';
import { hasRunnerSections } from '../../project-analysis/runner-sections.ts';
import { scrubbedEnd } from '../../secrets/secrets.ts';
import { scriptHintOf } from '../../project-analysis/installation/setup-failure.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import type { ActivityContext } from '../../core/activity.ts';
import type { ChecksOutcome } from './checked-trees.ts';
import type { CheckInput } from '../types.ts';
import type { ActivityTools } from '../tools.ts';
import { setupOf } from '../install/install-step.ts';
import { rewrittenSince, stampsOf } from './rewritten-tests.ts';
import { startReporting } from './test-reporting.ts';
import { closeFolder, openFolder } from '../work-folders.ts';

/** Of a check's output, characters from its end. */
const KEPT_OUTPUT = 20_000;

/** Python would take them for their sources, and they may have been made of others. */
const COMPILED = ['__pycache__/'];

/** Name of the folder in which checks run on the base commit. */
export const BASELINE = 'baseline';

export interface ChecksRequest extends Pick<
  CheckInput,
  'runId' | 'setup' | 'test' | 'excludePaths' | 'timeoutMinutes'
> {
  /** Names the folder within the run. */
  readonly name: string;
  readonly treeish: string;
}

/** @throws {NeedsHuman} where the install step or the sandbox fails; a check that fails is an outcome */
export async function runChecks(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  request: ChecksRequest,
  installed: () => Promise<void> = async () => {},
): Promise<ChecksOutcome> {
  const { runId } = request;
  const startedAt = performance.now();
  // Evidence is for a code tree: what lies outside of it must not decide how the checks end.
  const treeish =
    project.ownedFiles === undefined ? request.treeish : await tools.repository.codeTree(project, request.treeish);
  const work = await openFolder(tools, {
    project,
    runId,
    name: request.name,
    treeish,
    // The agent sees the output of its code, so that code must not read files that are hidden from the agent.
    excludePaths: request.excludePaths,
    leaveOut: COMPILED,
    setup: await setupOf(tools, { project, runId, treeish }, request.setup),
    signal: context.signal,
    progress: context.progress,
  });
  await installed();
  const reporting = startReporting(tools.sandboxes);
  const sandbox = await tools.sandboxes.open({
    // A check may need a baseline first: another box, of the same activity.
    key: request.name === BASELINE ? `${context.key}/${BASELINE}` : context.key,
    folder: work.folder,
    home: work.home,
    readOnly: reporting.readOnly,
    network: 'none',
    limits: tools.limits,
    signal: context.signal,
  });
  try {
    const tests = await filterInSlices(await tools.repository.listFiles(project, treeish), decidesAboutTests);
    const before = await stampsOf(work.folder, tests);
    const { command } = request.test;
    const preparedMs = Math.round(performance.now() - startedAt);
    context.progress({ kind: 'command', text: `$ ${command}` });
    const result = await sandbox.run({
      command: reporting.command(command),
      timeoutMs: commandLimitMs(request.timeoutMinutes),
      signal: context.signal,
      onOutput: (chunk) => context.progress({ kind: 'output', text: chunk }),
    });
    context.signal.throwIfAborted();
    const report = result.exitCode === null ? null : await reporting.read(sandbox);
    const hint = result.exitCode === 0 ? null : scriptHintOf(`${result.stdout}${result.stderr}`);
    if (hint !== null) context.progress({ kind: 'note', text: hint });
    const rewritten = report === null ? [] : await rewrittenSince(work.folder, before);
    const isPython = /pytest|unittest/.test(report?.count.runner ?? '');
    const installed = isPython ? await reporting.installed(sandbox) : [];
    // Folders of a run that has ended are removed: what is missing then is no outcome, and would be kept for other runs.
    context.signal.throwIfAborted();
    return {
      command: {
        command,
        exitCode: result.exitCode,
        durationMs: Math.round(result.durationMs),
        output: scrubbedEnd(`${result.stdout}${result.stderr}`, KEPT_OUTPUT, (text) => tools.scrub(text)),
      },
      sandbox: sandbox.provider,
      preparedMs,
      report: report === null || rewritten.length === 0 ? report : { ...report, count: { ...report.count, rewritten } },
      installed,
    };
  } finally {
    await sandbox.dispose();
    await closeFolder(work.folder);
  }
}

/** Tests by their names, which no honest command changes while it runs them, and what is read to run them. */
function decidesAboutTests(path: string): boolean {
  return isTestPath(path) || isTestConfiguration(path) || hasRunnerSections(path);
}

/**
 * Time limit of a check's command, in milliseconds. A little longer than that of its stage, whose clock then ends it: a command that takes
 * too long pauses the run and is not taken for a failed check.
 */
function commandLimitMs(stageMinutes: number): number {
  const stageMs = stageMinutes * 60_000;
  return stageMs + Math.min(stageMs / 4, 30_000);
}
