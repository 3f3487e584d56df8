/** From what happened in the server and what a screen showed, how long each step was on its way. */

/** A run has come to a step: so the server says, or a screen shows. */
export interface Step {
  readonly runId: string;
  /** From 0; it comes round again. */
  readonly step: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface Shown {
  /** Milliseconds from each step to the first screen that showed it or a later one of its run. */
  readonly latenciesMs: readonly number[];
  /** Steps that no screen showed although there was time. */
  readonly unseen: number;
}

/**
 * @param made what the server did, in its order
 * @param painted what a screen showed, in its order; runs that it never showed do not count
 * @param until steps that were made later need not be shown
 */
export function matchSteps(made: readonly Step[], painted: readonly Step[], until: number): Shown {
  const latenciesMs: number[] = [];
  let unseen = 0;
  const shown = Map.groupBy(painted, ({ runId }) => runId);
  for (const [runId, steps] of Map.groupBy(made, ({ runId }) => runId)) {
    const paints = shown.get(runId);
    const first = paints?.[0];
    if (paints === undefined || first === undefined) continue;
    // What was made before the screen's first change was on its way before anybody looked.
    let waiting = steps.slice(Math.max(0, lastStepAt(steps, first)));
    for (const paint of paints) {
      const last = waiting.findIndex(({ step, at }) => step === paint.step && at <= paint.at);
      for (const { at } of waiting.slice(0, last + 1)) latenciesMs.push(paint.at - at);
      waiting = waiting.slice(last + 1);
    }
    unseen += waiting.filter(({ at }) => at < until).length;
  }
  return { latenciesMs, unseen };
}

/** Where the step is that a paint shows: the newest one of that name at the time. */
function lastStepAt(steps: readonly Step[], { step, at }: Step): number {
  return steps.findLastIndex((made) => made.step === step && made.at <= at);
}
