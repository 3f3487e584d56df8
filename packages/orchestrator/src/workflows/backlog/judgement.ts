/** The meaning of an attempt that came to nothing: the same item again with a hand-over, or blocked. */
import { bothEnds, causeIn } from '../parts/children.ts';
import { afterAttempt, type Attempt as ItemAttempt } from './next-item.ts';
import type { Attempt, BacklogContext, History } from './types.ts';

const NOTHING_TRIED: History = { attempts: [], handOver: '' };

export const historyOf = ({ histories }: Pick<BacklogContext, 'histories'>, item: string): History =>
  (Object.hasOwn(histories, item) ? histories[item] : undefined) ?? NOTHING_TRIED;

/**
 * The same item again with a hand-over, and blocked when it was left unfinished too often.
 * @param hint for the next attempt; absent: what is known of earlier ones
 */
export function unfinished(
  context: BacklogContext,
  ended: Attempt,
  why: string,
  hint = historyOf(context, ended.id).handOver,
): Partial<BacklogContext> {
  const handOver = bothEnds(hint);
  return settled(context, ended, { attempt: { ended: 'in_progress', checks: null, hasCommits: true }, handOver, why });
}

/** Blocked at once: somebody cancelled the attempt, and does not want another one. */
export function unwanted(context: BacklogContext, ended: Attempt, why: string): Partial<BacklogContext> {
  const { handOver } = historyOf(context, ended.id);
  return settled(context, ended, { attempt: { ended: 'cancelled', checks: null, hasCommits: false }, handOver, why });
}

/** The same item again, and blocked when nothing came of it twice. */
export function untouched(context: BacklogContext, ended: Attempt): Partial<BacklogContext> {
  const why = 'the attempt changed nothing';
  const handOver = historyOf(context, ended.id).handOver || 'The attempt changed no file.';
  return settled(context, ended, { attempt: { ended: 'in_progress', checks: null, hasCommits: false }, handOver, why });
}

interface Judgement {
  readonly attempt: ItemAttempt;
  readonly handOver: string;
  readonly why: string;
}

function settled(
  context: BacklogContext,
  { id, specPath, iteration }: Attempt,
  { attempt, handOver, why }: Judgement,
): Partial<BacklogContext> {
  const attempts = [...historyOf(context, id).attempts, attempt];
  const next = afterAttempt(attempts);
  const isBlocked = next.kind === 'blocked';
  // Of attempts that changed nothing all is said.
  const last = attempt.hasCommits ? `\nThe last attempt: ${causeIn(why)}` : '';
  const reason = isBlocked && attempt.ended !== 'cancelled' ? `${next.why}.${last}` : causeIn(why);
  return {
    histories: { ...context.histories, [id]: { attempts, handOver } },
    setting: {
      item: id,
      specPath,
      status: isBlocked ? 'blocked' : 'in_progress',
      reason: reason.slice(0, 2_000).toWellFormed(),
      iteration,
      // A table that the base has refused to take is still that of the launch.
      expected: ['in_progress', 'queued'],
    },
  };
}

/** Another item may be ready now. */
export const goingOn = ({ stopped }: Pick<BacklogContext, 'stopped'>): BacklogContext['stopped'] =>
  stopped?.kind === 'done' ? null : stopped;
