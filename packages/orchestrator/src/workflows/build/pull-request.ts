/** Review comments as the implementer gets them, and its answers to them. */
import { type Asked, askedText } from '../../activities/pull-request/review-remarks.ts';
import type { Note } from '../../activities/types.ts';
import { followingOf, heldText, numberOf, withFollowing } from '../parts/pull-request.ts';
import type { BuildContext, CommittedCode } from './types.ts';

/** Remarks and failed checks, as a note to the implementer, who may mend as often as after a first result. */
export const withAsked = (context: BuildContext, asked: Asked): Partial<BuildContext> => ({
  notes: [...context.notes, feedback(askedText(numberOf(context), asked))],
  fixAttempts: 0,
});

/** The same of what waited for a person. */
export function withHeld(context: BuildContext): Partial<BuildContext> {
  const text = heldText(context);
  return text === '' ? {} : { notes: [...context.notes, feedback(text)] };
}

const feedback = (text: string): Note => ({ kind: 'feedback', text });

/** The commit that answers reviewers, once the implementer has ended; nothing where nobody is to be answered. */
export function answeredBy(context: BuildContext, { commit, codeTree }: CommittedCode): Partial<BuildContext> {
  const { answering } = followingOf(context);
  if (answering === null) return {};
  const [summary = ''] = (context.implemented?.summary ?? '').trim().split('\n');
  const isChanged = codeTree !== context.codeTree;
  return withFollowing(context, {
    answering: { ...answering, summary: summary.slice(0, 300), commit: isChanged ? commit : answering.commit },
  });
}
