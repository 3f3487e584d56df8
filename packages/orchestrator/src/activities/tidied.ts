/** Wraps the activities of a workflow whose runs have work folders. */
import { FINAL_STATUSES } from '@autonomous/shared';
import type { Activity, ActivityRegistry } from '../core/activity.ts';
import { withinGitBounds } from '../repository/git/git-bounds.ts';
import type { ActivityTools } from './tools.ts';
import { removeRunFolder } from './work-folders.ts';

/**
 * A registry whose activities leave no git process and no work folder behind.
 * @param activities inputs and outputs are JSON by construction; the machines' own types have checked each pair
 */
export function tidiedAll(tools: ActivityTools, activities: Readonly<Record<string, unknown>>): ActivityRegistry {
  const tidy = Object.entries(activities).map(([name, activity]): [string, Activity] => [
    name,
    // The caller's own type says that each is an activity, of an input and output of its own.
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
