/** Rules for the comments beside lines: which decisions of a gate send them, and the texts that name them. */
import type { Decision, Gate, ReviewComment, RunView } from '../run.ts';

/** Decisions whose words go out with the comments of their run. */
const CARRIERS: ReadonlySet<Decision> = new Set(['reject', 'retry', 'accept']);

/** Whether a decision sends the comments that are not sent yet. */
export function carriesComments(decision: Decision): boolean {
  return CARRIERS.has(decision);
}

/** Whether comments can be written at a gate: one of its decisions sends them. */
export function takesComments(gate: Pick<Gate, 'decisions'> | null): boolean {
  return gate?.decisions.some(carriesComments) === true;
}

/** `1 comment beside the lines`, `3 comments beside the lines`. */
export function countedComments(count: number): string {
  return `${count} ${count === 1 ? 'comment' : 'comments'} beside the lines`;
}

/** The comments that were written at an earlier gate, which was decided without them. */
export function leftComments({ comments = [], gate }: Pick<RunView, 'comments' | 'gate'>): readonly ReviewComment[] {
  return comments.filter(({ gateId }) => gateId !== gate?.id);
}
