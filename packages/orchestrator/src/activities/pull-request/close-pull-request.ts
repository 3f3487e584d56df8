/** The end of a run's pull request without a merge, as a person decided it at the gate. */
import { type Activity, FORGE_TRIES } from '../../core/activity.ts';
import { mergeOf, type MergedThere, ownPullRequest, placeOf } from './follow-pull-request.ts';
import type { ActivityTools } from '../tools.ts';
import type { RunHeader } from '../types.ts';

export type ClosePullRequestInput = RunHeader & { readonly number: number };

/** `merged`: somebody merged it before. */
export type ClosedPullRequest = MergedThere | { readonly kind: 'closed' };

export function closePullRequest(tools: ActivityTools): Activity<ClosePullRequestInput, ClosedPullRequest> {
  return {
    retry: FORGE_TRIES,
    async perform(input, context): Promise<ClosedPullRequest> {
      const { repository } = await placeOf(tools, context, input);
      const there = await ownPullRequest(tools, repository, input);
      const merged = mergeOf(there);
      if (merged !== null) return merged;
      if (there.state === 'open') await repository.updatePullRequest(input.number, { state: 'closed' });
      return { kind: 'closed' };
    },
  };
}
