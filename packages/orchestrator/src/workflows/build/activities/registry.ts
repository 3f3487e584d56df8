/** The activities of the build workflow, by the names that its machine gives them. */
import type { Activity, ActivityRegistry } from '../../../core/activity.ts';
import type { BuildActivities } from '../types.ts';
import { answerReviewers } from '../../../activities/pull-request/answer-reviewers.ts';
import { baseline } from '../../../activities/evidence/baseline.ts';
import { check } from '../../../activities/evidence/check.ts';
import { checkpoint, commitCode, setUp } from '../../../activities/git/code-commits.ts';
import { followPullRequest } from '../../../activities/pull-request/follow-pull-request.ts';
import { integrate, takeIn } from '../../../activities/git/integrate-base.ts';
import { merge } from '../../../activities/git/merge-into-base.ts';
import { closePullRequest } from '../../../activities/pull-request/close-pull-request.ts';
import { mergePullRequest } from '../../../activities/pull-request/merge-pull-request.ts';
import { prepare } from '../../../activities/prepare.ts';
import { pushBranch } from '../../../activities/git/push-branch.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { roles } from '../roles/index.ts';
import { implement, takeFiles } from './implementing.ts';
import { commitPlan, plan, replyToPerson, revisePlan } from './planning.ts';
import { copyRecord } from './publishing.ts';
import { report, review } from './validating.ts';
import { tidiedAll } from '../../../activities/tidied.ts';

type Implementations = {
  readonly [Name in keyof BuildActivities]: Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;
};

export function buildActivities(tools: ActivityTools): ActivityRegistry {
  const activities: Implementations = {
    prepare: prepare(tools, roles),
    plan: plan(tools),
    commitPlan: commitPlan(tools),
    revisePlan: revisePlan(tools),
    replyToPerson: replyToPerson(tools),
    pushBranch: pushBranch(tools),
    setUp: setUp(tools),
    implement: implement(tools),
    commitCode: commitCode(tools),
    takeFiles: takeFiles(tools),
    checkpoint: checkpoint(tools, 'implementation'),
    baseline: baseline(tools),
    check: check(tools),
    review: review(tools),
    report: report(tools),
    integrate: integrate(tools),
    takeIn: takeIn(tools),
    copyRecord: copyRecord(tools),
    merge: merge(tools),
    followPullRequest: followPullRequest(tools),
    mergePullRequest: mergePullRequest(tools),
    closePullRequest: closePullRequest(tools),
    answerReviewers: answerReviewers(tools),
  };
  return tidiedAll(tools, activities);
}
