/** The proof that a feature has been built: a test of its own, which fails without the feature. */
import { isEvent, type WorkflowEvent } from '@autonomous/shared';
import { childHead, type MergedChild } from '../../activities/child-heads.ts';
import { runChecks } from '../../activities/evidence/checks.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import type { CheckInput } from '../../activities/types.ts';
import { isTestPath } from '../../project-analysis/project-commands.ts';
import { type Activity, THREE_TRIES } from '../../core/activity.ts';
import type { RemoteProject } from '../../repository/repository.ts';

export type ProveInput = Omit<CheckInput, 'mode' | 'commit'> & {
  /** A child run that has completed, and whose checks are green. */
  readonly childId: string;
};

export type Proved = {
  /** Why the feature is not proved, for the next attempt; `null`: it is proved. */
  readonly fault: string | null;
  /** Words of the person who accepted the result although its checks failed; `null`: its checks are green. */
  readonly accepted: string | null;
};

/** Files that a fault names. */
const FILES_NAMED = 5;

const NO_TEST =
  'no test is new or changed, so that the green checks say nothing of the feature. Write tests that fail without it.';

/**
 * Green checks alone say that nothing broke. The tests that the feature brings are run on the code as it was before it: there
 * they have to fail. A person's approval of exactly this result takes the place of the proof.
 */
export function proveFeature(tools: ActivityTools): Activity<ProveInput, Proved> {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const project = await tools.project(input.projectId, input.runId);
      const child = await childHead(tools, input.runId, input.childId);
      const { baseCommit, head } = child;
      const accepted = await acceptedBy(tools, child);
      if (accepted !== null || (await isApproved(tools, project, child))) return { fault: null, accepted };
      const { repository } = tools;
      const changes = await repository.changes(project, baseCommit, head);
      const tests = changes.flatMap(({ path, after }) => (after !== null && isTestPath(path) ? [path] : []));
      // Tests may stand in files of the product, or have names that only their runner knows.
      if (tests.length === 0) return { fault: (await hasMoreTests(tools, input.childId)) ? null : NO_TEST, accepted };
      const before = await repository.treeOf(project, baseCommit);
      const treeish = await repository.restorePaths(project, before, head, tests);
      const { command } = await runChecks(tools, context, project, { ...input, name: 'proof', treeish });
      return { fault: command.exitCode === 0 ? withoutFeature(tests) : null, accepted };
    },
  };
}

/** A person has accepted the result with its failures. */
async function acceptedBy(tools: ActivityTools, { runId }: MergedChild): Promise<string | null> {
  const decided = (await eventsHere(tools, runId)).findLast((event) => isEvent(event, 'FIX_DECIDED'));
  if (decided === undefined || !isEvent(decided, 'FIX_DECIDED') || decided.payload.decision !== 'accept') return null;
  const { by, reason = '' } = decided.payload;
  return reason === '' ? by : `${by}: ${reason}`;
}

/** A person has approved exactly this result. */
async function isApproved(
  tools: ActivityTools,
  project: RemoteProject,
  { runId, head }: MergedChild,
): Promise<boolean> {
  const codeTree = await tools.repository.codeTree(project, head);
  const events = await eventsHere(tools, runId);
  return events.some((event) => isEvent(event, 'APPROVAL_GRANTED') && event.payload.codeTree === codeTree);
}

/** Events of a run that this server made: anybody who can push could have written those of a record. */
async function eventsHere(tools: ActivityTools, runId: string): Promise<readonly WorkflowEvent[]> {
  const { rebuiltUpTo } = await tools.view(runId);
  return tools.events(runId, rebuiltUpTo);
}

/** Whether more tests ran on the result than on the commit where its run began. */
async function hasMoreTests(tools: ActivityTools, childId: string): Promise<boolean> {
  const { evidence, baseline, rebuiltUpTo } = await tools.view(childId);
  const here = evidence.filter(({ rebuiltAt }) => rebuiltAt === undefined);
  const before = baseline ?? here.findLast((each) => each.baseline !== undefined)?.baseline;
  if (before === undefined && rebuiltUpTo !== undefined) return false;
  const ran = here.findLast(({ mode }) => mode === 'as_is')?.tests?.executed ?? 0;
  return ran > (before?.tests?.executed ?? 0);
}

function withoutFeature(tests: readonly string[]): string {
  const more = tests.length > FILES_NAMED ? ` and ${tests.length - FILES_NAMED} more` : '';
  return `its tests pass without it, so that they prove nothing: ${tests.slice(0, FILES_NAMED).join(', ')}${more}. Have them fail on the code as it was before.`;
}
