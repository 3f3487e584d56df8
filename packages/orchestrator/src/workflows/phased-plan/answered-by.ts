/** The answer to reviewers of the pull request that a merged phase gives. */
import { followingOf, withFollowing } from '../parts/pull-request.ts';
import type { PlanContext } from './types.ts';

/** The answer to reviewers once a phase is merged; nothing where nobody is to be answered. */
export function answeredBy(
  context: PlanContext,
  merged: { readonly phase: number; readonly commit: string; readonly codeTree: string; readonly summary: string },
): Partial<PlanContext> {
  const { phase, commit, codeTree, summary } = merged;
  const { answering } = followingOf(context);
  if (answering === null) return {};
  const isChanged = codeTree !== context.codeTree;
  if (phase === context.askedPhase)
    return withFollowing(context, {
      answering: { ...answering, summary, commit: isChanged ? commit : answering.commit },
    });
  // Another phase does not answer them; it may also take back what they got.
  if (!isChanged || context.conflicts?.[phase] !== undefined) return {};
  const after = `${answering.summary} A person then asked for a change, which is in ${commit.slice(0, 10)}.`.trim();
  return withFollowing(context, { answering: { ...answering, summary: after } });
}
