/** The activities of the build workflow, by the names that its machine gives them. */
import type { ActivityRegistry } from '../workflow/activity.ts';
import type { BuildActivities } from '../workflow/definitions/build.ts';
import type { Activity } from '../workflow/activity.ts';
import type { BuildTools } from './build-tools.ts';
import { checkpoint, commitCode, implement, setUp } from './implementing.ts';
import { commitPlan, plan, prepare, replyToPerson, revisePlan } from './planning.ts';
import { copyRecord, integrate, merge, pushBranch } from './publishing.ts';
import { check, report, review } from './validating.ts';

type Implementations = { readonly [Name in keyof BuildActivities]: Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']> };

export function createBuildActivities(tools: BuildTools): ActivityRegistry {
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
    checkpoint: checkpoint(tools),
    check: check(tools),
    review: review(tools),
    report: report(tools),
    integrate: integrate(tools),
    copyRecord: copyRecord(tools),
    merge: merge(tools),
  };
  // Inputs and outputs are JSON by construction; the machine's own types have checked each pair.
  return activities as unknown as ActivityRegistry;
}
