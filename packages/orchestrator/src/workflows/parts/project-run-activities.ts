/** The activities of a run of a project, as the server performs them. */
import type { RunConfig } from '@autonomous/shared';
import type { ConfiguredRole } from '../../activities/agents/project-guidance.ts';
import { check } from '../../activities/evidence/check.ts';
import { findConcerns } from '../../activities/evidence/find-concerns.ts';
import { integrate, takeIn } from '../../activities/git/integrate-base.ts';
import { integrateChild, mergeChild } from '../../activities/git/merge-child.ts';
import { merge } from '../../activities/git/merge-into-base.ts';
import { pushBranch } from '../../activities/git/push-branch.ts';
import { recordRun } from '../../activities/git/record-run.ts';
import { prepare } from '../../activities/prepare.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import type { Implementations } from './declared-activities.ts';
import type {
  CheckedRunActivities,
  CheckedRunConfig,
  ChildMergeActivities,
  ProjectRunActivities,
} from './project-run.ts';

/** @param roles of the workflow, whose role files in the project count */
export function projectRunActivities<Config extends RunConfig>(
  tools: ActivityTools,
  roles: readonly ConfiguredRole[],
): Implementations<ProjectRunActivities<Config>> {
  return {
    prepare: prepare<Config>(tools, roles),
    findConcerns: findConcerns(tools),
    integrate: integrate(tools),
    recordRun: recordRun(tools),
    pushBranch: pushBranch(tools),
    merge: merge(tools),
  };
}

export function checkedRunActivities<Config extends CheckedRunConfig>(
  tools: ActivityTools,
  roles: readonly ConfiguredRole[],
): Implementations<CheckedRunActivities<Config>> {
  return {
    ...projectRunActivities<Config>(tools, roles),
    check: check(tools),
    takeIn: takeIn(tools),
  };
}

export function childMergeActivities(tools: ActivityTools): Implementations<ChildMergeActivities> {
  return { integrateChild: integrateChild(tools), mergeChild: mergeChild(tools) };
}
