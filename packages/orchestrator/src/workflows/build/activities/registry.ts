/** The activities of the build workflow, by the names that its machine gives them. */
import { FINAL_STATUSES } from '@autonomous/shared';
import { withinGitBounds } from '../../../repository/git-bounds.ts';
import type { Activity, ActivityRegistry } from '../../../core/activity.ts';
import type { BuildActivities } from '../types.ts';
import { baseline } from '../../../activities/baseline.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { checkpoint, commitCode, implement, setUp, takeFiles } from './implementing.ts';
import { commitPlan, plan, prepare, replyToPerson, revisePlan } from './planning.ts';
import { copyRecord, integrate, merge, pushBranch } from './publishing.ts';
import { check, report, review } from './validating.ts';
import { removeRunFolder } from '../../../activities/work-folders.ts';

type Implementations = {
  readonly [Name in keyof BuildActivities]: Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;
};

export function buildActivities(tools: ActivityTools): ActivityRegistry {
  const activities: Implementations = {
    prepare: prepare(tools),
    plan: plan(tools),
    commitPlan: commitPlan(tools),
    revisePlan: revisePlan(tools),
    replyToPerson: replyToPerson(tools),
    pushBranch: pushBranch(tools),
    setUp: setUp(tools),
    implement: implement(tools),
    commitCode: commitCode(tools),
    takeFiles: takeFiles(tools),
    checkpoint: checkpoint(tools),
    baseline: baseline(tools),
    check: check(tools),
    review: review(tools),
    report: report(tools),
    integrate: integrate(tools),
    copyRecord: copyRecord(tools),
    merge: merge(tools),
  };
  // Inputs and outputs are JSON by construction; the machine's own types have checked each pair.
  const tidy = Object.entries(activities).map(([name, activity]): [string, Activity] => [
    name,
    tidied(tools, activity as Activity),
  ]);
  return Object.fromEntries(tidy);
}

/** Time that an aborted activity keeps its run's folder and sandbox for itself. */
const GRACE_MS = 30_000;

/** An activity that was ended with its run may have written folders after those of the run were removed. */
function tidied(tools: ActivityTools, activity: Activity): Activity {
  const { find } = activity;
  return {
    ...activity,
    // Activities of one run work on the same folder.
    graceMs: GRACE_MS,
    ...(find && { find: (input, context) => withinGitBounds(context.signal, () => find(input, context)) }),
    async perform(input, context) {
      try {
        return await withinGitBounds(context.signal, () => activity.perform(input, context));
      } finally {
        if (context.signal.aborted && FINAL_STATUSES.has((await tools.view(context.runId)).status))
          await removeRunFolder(tools, context.runId);
      }
    },
  };
}
