/** What a person has decided and the server has not confirmed yet: shown at once, taken back when it is refused. */

export interface PendingDecisions {
  /** By run, in words: `Approving…`. */
  readonly labels: ReadonlyMap<string, string>;
  /** Shows `label` at the run while `work` goes on, and afterwards until `isShown` says that its outcome has arrived. */
  during<Result>(
    runId: string,
    label: string,
    work: () => Promise<Result>,
    isShown: (result: Result) => boolean,
  ): Promise<Result>;
  /** Looks again whether outcomes have arrived. */
  settle(): void;
}

/** An outcome whose news do not arrive is taken for granted after this time. */
const NEWS_WITHIN_MS = 5_000;

export function createPendingDecisions(onChange: () => void): PendingDecisions {
  const labels = new Map<string, string>();
  const arrivals = new Map<string, () => boolean>();
  const remove = (runId: string): void => {
    arrivals.delete(runId);
    if (labels.delete(runId)) onChange();
  };
  return {
    labels,
    async during(runId, label, work, isShown) {
      labels.set(runId, label);
      onChange();
      try {
        const result = await work();
        if (isShown(result)) remove(runId);
        else {
          arrivals.set(runId, () => isShown(result));
          setTimeout(() => remove(runId), NEWS_WITHIN_MS).unref();
        }
        return result;
      } catch (error) {
        remove(runId);
        throw error;
      }
    },
    settle() {
      for (const [runId, hasArrived] of arrivals) if (hasArrived()) remove(runId);
    },
  };
}
