/** Comments beside the lines of a result: one list per gate, kept as events of its run and sent with the decision that carries words. */
import {
  type Caller,
  Conflict,
  feedbackOf,
  type Gate,
  type GateDecision,
  InvalidRequest,
  MAX_COMMENTS_CHARACTERS,
  type NewComment,
  NotFound,
  type Orchestrator,
  type ReviewComment,
  type RunView,
} from '@autonomous/shared';
import { takesComments } from '@autonomous/shared/presentation';
import type { Engine } from '../../engine/engine.ts';
import { otherGate } from '../../engine/admission/shown-gate.ts';

/** The field in which each decision that sends comments carries words. */
const WORDS = { reject: 'feedback', retry: 'notes', accept: 'reason' } as const;
/** Most characters that the workflow accepts in that field of a decision. */
const MAX_WORDS_CHARACTERS = 20_000;

type Comments = Pick<Orchestrator, 'listComments' | 'addComment' | 'editComment' | 'deleteComment'>;

export function createReviewComments({ engine }: { readonly engine: Engine }): Comments {
  const listComments = async (gateId: string): Promise<readonly ReviewComment[]> => {
    const view = await engine.view(runIdIn(gateId, 'gate'));
    const isKnown = view.gate?.id === gateId || view.gates.some((outcome) => outcome.gateId === gateId);
    if (!isKnown) throw new NotFound(`Run ${view.id} has no gate '${gateId}'; it is ${view.status}.`);
    return (view.comments ?? []).filter((comment) => sequenceIn(comment.gateId) <= sequenceIn(gateId));
  };

  const addComment = (
    { userId: by, request }: Caller,
    gateId: string,
    { path, line, text }: NewComment,
  ): Promise<RunView> => {
    const payload = { by, gateId, path, line, text };
    return engine.note(
      runIdIn(gateId, 'gate'),
      { type: 'REVIEW_COMMENT_ADDED', payload },
      (view) => {
        const other = otherGate(view, gateId);
        if (other) throw other;
        if (!takesComments(view.gate))
          throw new Conflict(
            `Gate ${gateId} ('${view.gate?.kind}') does not accept comments. It accepts ${view.gate?.decisions.join(', ')}.`,
          );
        refuseTooMuch(view, text.length);
      },
      request,
    );
  };

  const editComment = ({ userId: by, request }: Caller, commentId: string, text: string): Promise<RunView> => {
    const payload = { by, comment: sequenceIn(commentId), text };
    return engine.note(
      runIdIn(commentId, 'comment'),
      { type: 'REVIEW_COMMENT_EDITED', payload },
      (view) => refuseTooMuch(view, text.length - unsent(view, commentId).text.length),
      request,
    );
  };

  const deleteComment = ({ userId: by, request }: Caller, commentId: string): Promise<RunView> => {
    const payload = { by, comment: sequenceIn(commentId) };
    return engine.note(
      runIdIn(commentId, 'comment'),
      { type: 'REVIEW_COMMENT_DELETED', payload },
      (view) => void unsent(view, commentId),
      request,
    );
  };

  return { listComments, addComment, editComment, deleteComment };
}

/**
 * Adds all comments of the run that are not sent yet to a decision that carries words. A decision that takes files without
 * a word stays as it is: such files are only checked, and comments do not change that.
 * @throws {InvalidRequest} when there are more words than one decision takes
 */
export function withComments(view: RunView, gate: Gate, decision: GateDecision): GateDecision {
  const comments = view.comments ?? [];
  const field = (WORDS as Partial<Record<GateDecision['decision'], (typeof WORDS)[keyof typeof WORDS]>>)[
    decision.decision
  ];
  if (field === undefined || comments.length === 0) return decision;
  const said = decision[field] ?? '';
  const isBare = said.trim() === '';
  // An acceptance needs a reason in the person's own words: comments are not one.
  if (isBare && (decision.take !== undefined || decision.decision === 'accept')) return decision;
  const words = feedbackOf(said, comments);
  if (words.length <= MAX_WORDS_CHARACTERS) return { ...decision, [field]: words };
  const message = `has ${words.length.toLocaleString('en')} characters with the ${comments.length} comments of gate ${gate.id}; at most ${MAX_WORDS_CHARACTERS.toLocaleString('en')} are accepted`;
  throw new InvalidRequest(`The ${field} ${message}: shorten it, or delete comments.`, {
    faults: [{ path: field, message }],
  });
}

/** @throws {Conflict} when a decision has sent it, or it was deleted */
function unsent(view: RunView, commentId: string): ReviewComment {
  const comment = view.comments?.find(({ id }) => id === commentId);
  if (comment) return comment;
  throw new Conflict(`Run ${view.id} has no comment ${commentId} that is not sent: it was sent or deleted.`);
}

function refuseTooMuch(view: RunView, more: number): void {
  const sum = (view.comments ?? []).reduce((total, { text, path }) => total + text.length + path.length + 12, 0);
  if (sum + more <= MAX_COMMENTS_CHARACTERS) return;
  throw new Conflict(
    `The comments of run ${view.id} have more than ${MAX_COMMENTS_CHARACTERS.toLocaleString('en')} characters: send some with a decision, or delete some.`,
  );
}

/** Gates and comments are named after the run and the event that made them. */
function runIdIn(id: string, what: string): string {
  const runId = id.slice(0, Math.max(0, id.lastIndexOf('.')));
  if (runId !== '' && Number.isSafeInteger(sequenceIn(id))) return runId;
  throw new NotFound(`'${id}' is not the id of a ${what}.`);
}

function sequenceIn(id: string): number {
  const text = id.slice(id.lastIndexOf('.') + 1);
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : Number.NaN;
}
