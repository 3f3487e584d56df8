/** The project's own checks on one tree, in a fresh sandbox without network. */
import type { CommandEvidence } from '@autonomous/shared';
import { scrubbedEnd } from '../artifacts/secrets.ts';
import type { TestReport } from '../artifacts/test-report.ts';
import type { RemoteProject } from '../repository/repository.ts';
import type { ActivityContext } from '../workflow/activity.ts';
import type { CheckInput } from '../workflow/definitions/build-types.ts';
import type { BuildTools } from './build-tools.ts';
import { setupOf } from './install-step.ts';
import { startReporting } from './test-reporting.ts';
import { closeFolder, openFolder } from './work-folders.ts';

/** Of a check's output, characters from its end. */
const KEPT_OUTPUT = 20_000;

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

export interface ChecksOutcome {
  readonly command: CommandEvidence;
  readonly sandbox: string;
  /** `null` where no runner reported. */
  readonly report: TestReport | null;
}

/** @throws {NeedsHuman} where the install step or the sandbox fails; a check that fails is an outcome */
export async function runChecks(
  tools: BuildTools,
  context: ActivityContext,
  project: RemoteProject,
  request: ChecksRequest,
  installed: () => Promise<void> = async () => {},
): Promise<ChecksOutcome> {
  const { runId, treeish } = request;
  const work = await openFolder(tools, {
    project,
    runId,
    name: request.name,
    treeish,
    // What is not shown to agents is not there for their code either, whose output they are shown.
    excludePaths: request.excludePaths,
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
    const { command } = request.test;
    context.progress({ kind: 'command', text: `$ ${command}` });
    const result = await sandbox.run({
      command: reporting.command(command),
      timeoutMs: request.timeoutMinutes * 60_000,
      signal: context.signal,
      onOutput: (chunk) => context.progress({ kind: 'output', text: chunk }),
    });
    context.signal.throwIfAborted();
    const report = result.exitCode === null ? null : await reporting.read(sandbox);
    return {
      command: {
        command,
        exitCode: result.exitCode,
        durationMs: Math.round(result.durationMs),
        output: scrubbedEnd(`${result.stdout}${result.stderr}`, KEPT_OUTPUT, (text) => tools.scrub(text)),
      },
      sandbox: sandbox.provider,
      report,
    };
  } finally {
    await sandbox.dispose();
    await closeFolder(work.folder);
  }
}
