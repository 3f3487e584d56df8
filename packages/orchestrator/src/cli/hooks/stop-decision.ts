/** Decides whether an agent may stop while an item of the roadmap is in progress. Pure. */
import { WORK_PHASES } from '../../workflows/roadmap-item/roadmap-file.ts';

/** An item as the hook needs it: an id or, where it has none, its title. */
export interface ItemInPhase {
  readonly id: string;
  readonly title: string;
  /** A phase of the workflow, or any other word that a person wrote there. */
  readonly phase: string;
}

/** The last answer to a session that concerned an item. */
export interface LastAnswer {
  readonly itemId: string;
  readonly phase: string;
  /** Names the prompt of a person that the agent was working on; `null`: not known. */
  readonly promptId: string | null;
  /** Refusals in a row: for the same prompt, item and phase. 0: an earlier phase was complete, and the stop was allowed. */
  readonly refusals: number;
}

export interface StopRequest {
  readonly items: readonly ItemInPhase[];
  /** Last message of the agent. */
  readonly said: string;
  readonly promptId: string | null;
  /** Does the agent work because an earlier stop was refused? `null`: not known. */
  readonly isContinuation: boolean | null;
  /** `null`: none, or the session is not known. */
  readonly earlier: LastAnswer | null;
  /** Refusals in a row, at most. */
  readonly maxBlocks: number;
}

/** `answer` is what the session's next request needs as `earlier`. */
export type StopDecision =
  | { readonly allows: true; readonly because: 'aborted' | 'nothing-in-progress' }
  | { readonly allows: true; readonly because: 'phase-completed'; readonly answer: LastAnswer }
  | { readonly allows: true; readonly because: 'limit'; readonly item: ItemInPhase }
  | { readonly allows: false; readonly item: ItemInPhase; readonly answer: LastAnswer };

const ABORT = '<promise>ABORT</promise>';
const PHASE_COMPLETE = /<promise>PHASE_COMPLETE:([a-z-]{1,40})<\/promise>/g;
const NOT_IN_PROGRESS: ReadonlySet<string> = new Set(['not-started', 'completed']);

/**
 * Refuses the stop while an item is in progress. `PHASE_COMPLETE` of a phase allows it only if the roadmap has the item in a later phase.
 * The item is the one that the last answer concerned, else the first one in progress. A phase before the one of that answer does not
 * count: it was complete already.
 */
export function decideStop(request: StopRequest): StopDecision {
  const { items, said, earlier, promptId } = request;
  if (said.includes(ABORT)) return { allows: true, because: 'aborted' };
  const inProgress = items.filter(({ phase }) => !NOT_IN_PROGRESS.has(phase));
  const [first] = inProgress;
  if (first === undefined) return { allows: true, because: 'nothing-in-progress' };
  const known = items.find(({ id }) => id === earlier?.itemId) ?? first;
  if (hasCompletedPhase(known, request))
    return { allows: true, because: 'phase-completed', answer: answerFor(known, promptId, 0) };
  const item = inProgress.includes(known) ? known : first;
  const refusals = refusalsBefore(item, request) + 1;
  if (refusals > request.maxBlocks) return { allows: true, because: 'limit', item };
  return { allows: false, item, answer: answerFor(item, promptId, refusals) };
}

function hasCompletedPhase({ id, phase }: ItemInPhase, request: StopRequest): boolean {
  const reached = placeOf(phase);
  const begun = request.earlier?.itemId === id ? begunAt(request.earlier, request) : 0;
  return [...request.said.matchAll(PHASE_COMPLETE)].some(([, claimed = '']) => {
    const place = placeOf(claimed);
    return place > 0 && place >= begun && place < reached;
  });
}

/** A claim that was accepted stays so until the next prompt: another hook may have kept the agent at work. */
function begunAt(earlier: LastAnswer, request: StopRequest): number {
  return earlier.refusals === 0 && isSamePrompt(earlier, request) ? 0 : placeOf(earlier.phase);
}

function refusalsBefore(item: ItemInPhase, request: StopRequest): number {
  const { earlier } = request;
  const isInARow = earlier?.itemId === item.id && earlier.phase === item.phase && isSamePrompt(earlier, request);
  return isInARow ? earlier.refusals : 0;
}

function isSamePrompt(earlier: LastAnswer, { promptId, isContinuation }: StopRequest): boolean {
  return promptId === null ? isContinuation !== false : promptId === earlier.promptId;
}

function answerFor({ id, phase }: ItemInPhase, promptId: string | null, refusals: number): LastAnswer {
  return { itemId: id, phase, promptId, refusals };
}

/** Place of a phase in the workflow; -1 for other words. */
function placeOf(phase: string): number {
  return (WORK_PHASES as readonly string[]).indexOf(phase); // any word may be looked for
}
