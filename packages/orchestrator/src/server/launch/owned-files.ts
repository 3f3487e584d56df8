/** Decides at a launch where a run commits its engine-owned files, from what is known beforehand: nothing is pushed to find out. */
import type { OwnedFiles, ProjectConfig, RunView } from '@autonomous/shared';
import { OWNED_BY_CONFIGURATION } from '../../activities/git/commit-owned-files.ts';
import type { WorkflowDefinition } from '../../core/definition.ts';
import type { EventStore } from '../../event-store/event-store.ts';

/** Runs of a project that are looked at for an earlier refusal, newest first. A refusal is handed on from run to run. */
const RUNS_READ = 100;

/**
 * @param paths that the run's workflow declares
 * @returns `undefined` where there are none
 */
export async function ownedFilesAtLaunch(
  store: Pick<EventStore, 'listRuns'>,
  paths: readonly string[],
  {
    results: declared,
    projectId,
    baseBranch,
    config,
  }: {
    readonly results: WorkflowDefinition['ownedResults'];
    readonly projectId: string;
    readonly baseBranch: string;
    readonly config: ProjectConfig | null;
  },
): Promise<OwnedFiles | undefined> {
  if (paths.length === 0) return undefined;
  if (declared === 'all') return { paths, to: 'branch', results: paths };
  const files = { paths, ...(declared === undefined ? {} : { results: declared }) };
  const configured = config?.git?.ownedFiles;
  if (configured === 'base') return { ...files, to: 'base' };
  if (configured === 'branch') return { ...files, to: 'branch', why: OWNED_BY_CONFIGURATION };
  const { items } = await store.listRuns({ projectId, limit: RUNS_READ });
  const known = items.find((run) => run.config.git.baseBranch === baseBranch && isKnown(run))?.ownedFiles;
  if (known?.refused !== true) return { ...files, to: 'base' };
  return { ...files, to: 'branch', refused: true, why: known.why ?? `${baseBranch} refused an earlier push` };
}

/** A run that was refused by its base, or that pushed to it, tells what the next run can expect. A record of others tells nothing. */
function isKnown({ ownedFiles, rebuiltUpTo }: RunView): boolean {
  if (rebuiltUpTo !== undefined) return false;
  return ownedFiles?.refused === true || (ownedFiles?.to === 'base' && ownedFiles.commit !== undefined);
}
