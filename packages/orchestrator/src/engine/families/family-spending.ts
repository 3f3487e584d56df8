/**
 * Spending in run families: reservations are checked against the sums and budgets of the whole family and of each run above, and
 * runs that wait for such a budget resume when it has changed.
 */
import {
  type BoundedSpending,
  Conflict,
  isTreeBudget,
  type JsonObject,
  missingBudgetOf,
  type RunFamily,
  type RunView,
  usedUpBudget,
  usedUpTreeBudget,
} from '@autonomous/shared';
import type { Logger } from 'pino';
import type { SpendingWriter } from '../../core/activity.ts';
import { isFinal } from '../../core/advance.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import { jsonCopy } from '../json-copy.ts';
import type { LiveRun } from '../live/live-run.ts';
import type { LiveRuns } from '../live/live-runs.ts';
import type { NewInput } from '../run-commit.ts';
import { type KeptFamily, RunFamilies } from './run-families.ts';
import { stopping } from '../stopping.ts';

export interface FamilySpendingOptions {
  readonly store: Pick<EventStore, 'listRuns'>;
  readonly live: LiveRuns;
  readonly log: Logger;
  readonly scrub: <Value>(value: Value) => Value;
  readonly view: (runId: string) => Promise<RunView>;
  /** Takes the step of an input and stores it. */
  readonly apply: (runId: string, run: LiveRun, input: NewInput) => Promise<unknown>;
  /** Says to the run at its open gate that a budget has changed. */
  readonly budgetChanged: (runId: string, by: string, gateId: string) => Promise<unknown>;
  readonly isStopped: () => boolean;
}

/** The activation that spends. */
export interface Spender {
  readonly runId: string;
  readonly activity: string;
  readonly key: string;
}

export class FamilySpending {
  readonly #options: FamilySpendingOptions;
  readonly #families: RunFamilies;
  /** Reservations and settlements that have not come to their end, by activation key. */
  readonly #writes = new Map<string, Promise<void>[]>();

  constructor(options: FamilySpendingOptions) {
    this.#options = options;
    this.#families = new RunFamilies({
      stored: (treeId) => this.runsOf(treeId),
      live: (runId) => options.live.inUse(runId)?.view,
    });
  }

  /** Spending of all runs of a run's family. */
  async of(run: RunView): Promise<RunFamily> {
    return (await this.#families.of(run)).all;
  }

  /** Spending that the budgets of the run and of the runs above it limit, the nearest first. */
  async boundsOf(run: RunView): Promise<readonly BoundedSpending[]> {
    return (await this.#families.of(run)).bounds(run.id);
  }

  /** All runs of a family, newest first. */
  async runsOf(treeId: string): Promise<readonly RunView[]> {
    const views: RunView[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#options.store.listRuns({ treeId, limit: 200, cursor });
      views.push(...page.items);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return views;
  }

  /**
   * A run was made, has spent something, has other budgets, or is what it was again as a step of it could not be stored.
   * @param by who did that
   */
  note(run: RunView, by?: string): void {
    this.#families.note(run, by);
  }

  /**
   * An activity has ended, told to or by itself: what it said of its calls before is waited for.
   * @param key its activation key
   */
  async endActivity(treeId: string, key: string): Promise<void> {
    const family = this.#families.knownTree(treeId);
    const calls = family?.callsOf(key) ?? [];
    if (calls.length === 0) return;
    // A reservation of its own that waits for others learns that it is too late.
    family?.moved();
    await Promise.allSettled(this.#writes.get(key) ?? []);
    family?.endCalls(calls);
  }

  /** Waits until what was said of spending is stored or refused. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#writes.values()].flat());
  }

  /** Reservations of the run's family that wait for others look again. */
  wake(run: RunView): void {
    this.#families.known(run)?.moved();
  }

  /** All reservations that wait for others look again. */
  wakeAll(): void {
    this.#families.wakeAll();
  }

  /**
   * Writes a reservation or its settlement. A reservation is accepted only while its activity is open; a settlement also after
   * the end of the run, and while the engine stops.
   */
  async spend(spender: Spender, write: SpendingWriter): Promise<void> {
    const { key } = spender;
    const written = this.#write(spender, write);
    this.#writes.set(key, [...(this.#writes.get(key) ?? []), written]);
    try {
      await written;
    } finally {
      const others = this.#writes.get(key)?.filter((other) => other !== written) ?? [];
      if (others.length > 0) this.#writes.set(key, others);
      else this.#writes.delete(key);
    }
  }

  async #write({ runId, activity, key }: Spender, write: SpendingWriter): Promise<void> {
    const { live, view: present, isStopped } = this.#options;
    // A run never changes its family.
    const member = live.inUse(runId)?.view ?? (await present(runId));
    for (;;) {
      const family = await this.#families.of(member);
      const moved = family.nextMove();
      const isWritten = await live.withRun(runId, async (run) => {
        const { state, view } = run;
        // The family has left memory meanwhile and must be read again.
        if (this.#families.known(view) !== family) return false;
        const fact = write(view, family.look(runId));
        // The real cost of a call is written even if its run has paused or ended meanwhile.
        const isSettlement = fact !== null && fact !== 'later' && fact.type === 'CALL_SETTLED';
        if (!isSettlement && (isFinal(view.status) || state.parked !== null))
          throw new Conflict(`Run ${runId} is ${view.status}: no more spending is accepted for it.`);
        if (fact === null) return true;
        if ((fact === 'later' || fact.type === 'CALL_BOOKED') && state.activities[activity] !== key)
          throw new Conflict(`Run ${runId} has left the activity ${activity}: no more spending is accepted for it.`);
        if (fact === 'later') return false;
        family.noteCall(runId, fact);
        try {
          await this.#options.apply(runId, run, { type: fact.type, payload: this.#payloadOf(fact.payload) });
        } catch (error) {
          family.forgetCall(fact.payload.call);
          throw error;
        }
        return true;
      });
      if (isWritten) return;
      if (isStopped()) throw stopping();
      if (this.#families.known(member) === family) await moved;
    }
  }

  #payloadOf(payload: object): JsonObject {
    return jsonCopy(this.#options.scrub(payload)) as JsonObject; // The copy has nothing that is not JSON.
  }

  /** Budgets have changed at a run: those of its family that wait for its budgets, or for those of the family, resume. */
  async resumeOthers(changed: RunView): Promise<void> {
    try {
      const family = await this.#families.of(changed);
      for (const view of await this.runsOf(family.id)) {
        if (view.id !== changed.id && waitsForOthers(view)) await this.#resume(view, family);
      }
    } catch (error) {
      this.#options.log.error({ err: error, runId: changed.id }, 'the runs of its run family could not be read');
    }
  }

  /** Resumes a run that waits for a budget of others which has changed since the run last looked at it. */
  resumeIfChanged(view: RunView): void {
    if (!waitsForOthers(view)) return;
    const family = this.#families.known(view);
    if (family?.isNewTo(view.id)) void this.#resume(view, family);
  }

  /** Resumes a run that waits for a budget of others, where it may spend again. */
  async #resume({ id, gate }: RunView, family: KeptFamily): Promise<void> {
    const { isStopped, budgetChanged, log } = this.#options;
    if (isStopped() || gate === null) return;
    if (family.bounds(id).some((bound) => usedUpBudget(bound) !== null) || usedUpTreeBudget(family.all) !== null)
      return;
    try {
      const by = family.changedBy === '' ? 'local' : family.changedBy;
      await budgetChanged(id, by, gate.id);
    } catch (error) {
      // After a decision by somebody else there is nothing to say.
      if (!(error instanceof Conflict))
        log.warn({ err: error, runId: id }, 'a run was not resumed with the new budget');
    }
  }
}

/** It stopped at a budget of its family or of a run above it. */
function waitsForOthers({ gate }: RunView): boolean {
  const budget = gate && missingBudgetOf(gate);
  return budget !== null && (gate?.budgetOf !== undefined || isTreeBudget(budget));
}
