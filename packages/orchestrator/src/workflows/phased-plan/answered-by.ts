/** The answer to reviewers of the pull request that a merged phase gives. */
import { followingOf, withFollowing } from '../parts/pull-request.ts';
import type { PlanContext } from './types.ts';

/** The answer to reviewers once a phase is merged; nothing where nobody is to be answered. */
export function answeredBy(
  context: PlanContext,
  { phase, commit, codeTree }: { readonly phase: number; readonly commit: string; readonly codeTree: string },
): Partial<PlanContext> {
  const { answering } = followingOf(context);
  if (answering === null) return {};
  const isChanged = codeTree !== context.codeTree;
  if (phase === context.askedPhase) {
    const summary = context.finished[phase]?.summary ?? '';
    return withFollowing(context, {
      answering: { ...answering, summary, commit: isChanged ? commit : answering.commit },
    });
  }
  // Another phase does not answer them; it may also take back what they got.
  if (!isChanged || context.conflicts?.[phase] !== undefined) return {};
  const summary = `${answering.summary} A person then asked for a change, which is in ${commit.slice(0, 10)}.`.trim();
  return withFollowing(context, { answering: { ...answering, summary } });
}
