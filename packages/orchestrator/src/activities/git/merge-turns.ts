/**
 * Turns of runs that merge into one base branch: one takes the base in, is checked and merged while the others wait, so that
 * each is checked once against the newest base. Turns save work and guard nothing: the merge itself compares and swaps.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunView } from '@autonomous/shared';
import type { ActivityContext } from '../../core/activity.ts';
import type { Repository } from '../../repository/repository.ts';
import type { ActivityTools } from '../tools.ts';

/** Between two looks at the run whose turn it is. */
const LOOK_EVERY_MS = 500;
/** A turn that takes longer is passed on. */
const LONGEST_TURN_MS = 60 * 60_000;

interface Turn {
  readonly runId: string;
  readonly fixAttempts: number;
  readonly takenAt: number;
}

class MergeTurns {
  readonly #turns = new Map<string, Turn>();
  readonly #waiting = new Map<string, string[]>();

  async take(key: string, view: (runId: string) => Promise<RunView>, context: ActivityContext): Promise<void> {
    const { runId, signal, progress } = context;
    const line = this.#waiting.get(key) ?? [];
    this.#waiting.set(key, line);
    line.push(runId);
    try {
      for (;;) {
        const turn = this.#turns.get(key);
        // The base moved by somebody else's push: it goes on with its turn, for which the others wait.
        if (turn?.runId === runId) break;
        const isFree = turn === undefined || !(await this.#isUnderWay(turn, view));
        if (isFree && line[0] === runId && this.#turns.get(key) === turn) break;
        const ahead = [...(isFree ? [] : [turn.runId]), ...line.slice(0, line.indexOf(runId))];
        progress({ kind: 'pulse', text: waitingText(ahead) });
        await sleep(LOOK_EVERY_MS, undefined, { signal });
      }
      const { fixAttempts } = await view(runId);
      this.#turns.set(key, { runId, fixAttempts, takenAt: Date.now() });
    } finally {
      line.splice(line.indexOf(runId), 1);
      if (line.length === 0) this.#waiting.delete(key);
    }
  }

  /** A run that waits for a person, has ended, or goes back to its agent has lost its turn. */
  async #isUnderWay(
    { runId, fixAttempts, takenAt }: Turn,
    view: (runId: string) => Promise<RunView>,
  ): Promise<boolean> {
    if (Date.now() - takenAt > LONGEST_TURN_MS) return false;
    const now = await view(runId).catch(() => null);
    return now?.status === 'running' && now.merged === undefined && now.fixAttempts === fixAttempts;
  }
}

/** @param ahead runs that merge before this one, in their order; empty while the turn passes on */
function waitingText(ahead: readonly string[]): string {
  const [next] = ahead;
  if (next === undefined) return 'waiting to merge';
  return `waiting to merge behind run ${next}${ahead.length === 1 ? '' : `, ${ahead.length} runs before this one`}`;
}

/** One process owns the mirrors, and with them the turns. */
const turnsOf = new WeakMap<Repository, MergeTurns>();

/**
 * Waits until no other run is about to merge into the branch. The turn ends by itself.
 * @throws the signal's reason
 */
export async function takeMergeTurn(
  tools: Pick<ActivityTools, 'repository' | 'view'>,
  context: ActivityContext,
  { projectId, baseBranch }: { readonly projectId: string; readonly baseBranch: string },
): Promise<void> {
  const turns = turnsOf.get(tools.repository) ?? new MergeTurns();
  turnsOf.set(tools.repository, turns);
  await turns.take(`${projectId} ${baseBranch}`, (runId) => tools.view(runId), context);
}
