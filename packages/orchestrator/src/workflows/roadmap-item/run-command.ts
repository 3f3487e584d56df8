/** Commands of the project's configuration that are no tests: further checks of a result, and its release. */
import { type CommandEvidence, NeedsHuman, type WorkflowEvent } from '@autonomous/shared';
import { networkOf, refusalNotes } from '../../activities/egress.ts';
import { setupOf } from '../../activities/install/install-step.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import { closeFolder, openFolder } from '../../activities/work-folders.ts';
import { scrubbedEnd } from '../../secrets/secrets.ts';
import { type Activity, type ActivityContext, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../../core/activity.ts';
import type { SandboxSpec } from '../../sandboxes/sandbox.ts';
import type { CommandInput, ItemActivities, ReleaseInput } from './types.ts';

type Of<Name extends 'runCommand' | 'release'> = Activity<
  ItemActivities[Name]['input'],
  ItemActivities[Name]['output']
>;

/** Of a command's output, characters from its end. */
const KEPT_OUTPUT = 20_000;

/** Name of the release beside the roles of agents, where hosts are listed by role. */
const RELEASE_ROLE = 'release';

/** A further check, on a fresh checkout of the result and without network. */
export function runCommand(tools: ActivityTools): Of<'runCommand'> {
  return {
    retry: THREE_TRIES,
    perform: async (input, context) => ({
      command: await runIn(tools, context, { ...input, network: 'none', begins: () => Promise.resolve() }),
    }),
  };
}

/**
 * The release, on a fresh checkout of the published commit, with the hosts that the server allows for `release`. It is begun once: where
 * the server was lost meanwhile, it is cut off, and a person looks first what is outside already.
 */
export function release(tools: ActivityTools): Of<'release'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      if (isBegun(context) || mayHaveRun(await tools.events(context.runId)))
        return { command: { command: input.command, exitCode: null, durationMs: 0, output: '' }, isCutOff: true };
      const network = await networkOf(tools, RELEASE_ROLE, input.config);
      const begins = () => markBegun(context);
      return { command: await runIn(tools, context, { ...input, name: RELEASE_ROLE, network, begins }) };
    },
  };
}

/** @throws {NeedsHuman} `storage_full`: without the mark, a release that is cut off would be run twice */
async function markBegun({ heartbeat }: ActivityContext): Promise<void> {
  if (await heartbeat({ isBegun: true })) return;
  throw new NeedsHuman(
    'storage_full',
    'The database cannot store that the release begins, so that it was not begun. Make room for the database, then retry.',
  );
}

/**
 * Whether a run was rebuilt from its record since people decided that it is to be released, by its events in their order: the record
 * does not say whether the release had begun. A decision after that, at the gate which asks about it, settles it.
 */
export function mayHaveRun(events: readonly Pick<WorkflowEvent, 'type' | 'payload'>[]): boolean {
  const decided = events.findLastIndex(({ type }) => type === 'APPROVAL_GRANTED' || type === 'FIX_DECIDED');
  return events
    .slice(decided + 1)
    .some(({ payload }) => payload['rebuilt'] === true || payload['reason'] === 'rebuilt');
}

function isBegun({ lastHeartbeat }: ActivityContext): boolean {
  return typeof lastHeartbeat === 'object' && lastHeartbeat !== null && 'isBegun' in lastHeartbeat;
}

type Command = Omit<CommandInput | ReleaseInput, 'name' | 'config'> & {
  readonly name: string;
  readonly network: SandboxSpec['network'];
  /** Awaited before the command runs. */
  readonly begins: () => Promise<void>;
};

async function runIn(
  tools: ActivityTools,
  context: ActivityContext,
  { runId, projectId, name, commit, setup, excludePaths, command, timeoutMinutes, network, begins }: Command,
): Promise<CommandEvidence> {
  const { signal, progress } = context;
  const project = await tools.project(projectId, runId);
  const treeish = await tools.repository.codeTree(project, commit);
  const work = await openFolder(tools, {
    project,
    runId,
    name,
    treeish,
    excludePaths,
    setup: await setupOf(tools, { project, runId, treeish }, setup),
    signal,
    progress,
  });
  const sandbox = await tools.sandboxes.open({
    key: context.key,
    folder: work.folder,
    home: work.home,
    readOnly: [],
    network,
    onRefused: refusalNotes(progress, name),
    limits: tools.limits,
    signal,
  });
  try {
    await begins();
    progress({ kind: 'command', text: `$ ${command}` });
    const result = await sandbox.run({
      command,
      timeoutMs: timeoutMinutes * 60_000,
      signal,
      onOutput: (chunk) => progress({ kind: 'output', text: chunk }),
    });
    signal.throwIfAborted();
    return {
      command,
      exitCode: result.exitCode,
      durationMs: Math.round(result.durationMs),
      output: scrubbedEnd(`${result.stdout}${result.stderr}`, KEPT_OUTPUT, (text) => tools.scrub(text)),
    };
  } finally {
    await sandbox.dispose();
    await closeFolder(work.folder);
  }
}
