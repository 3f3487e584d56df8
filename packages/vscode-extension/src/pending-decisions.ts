/**
 * Decisions that a person made and the server has not confirmed yet: shown at once, taken back when they are refused or
 * late.
 */

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

export interface PendingOptions {
  readonly onChange: () => void;
  /** The server has not answered for so long that the run can be decided again. */
  readonly onLate: (runId: string, label: string) => void;
  /** 20 s when absent. */
  readonly lateAfterMs?: number;
  /** An outcome whose news do not arrive is taken for granted after this time; 5 s when absent. */
  readonly newsWithinMs?: number;
}

export function createPendingDecisions(options: PendingOptions): PendingDecisions {
  const { onChange, onLate, lateAfterMs = 20_000, newsWithinMs = 5_000 } = options;
  const labels = new Map<string, string>();
  const arrivals = new Map<string, () => boolean>();
  /** The newest decision under way at each run: another one may have been made since. */
  const newest = new Map<string, symbol>();
  const remove = (runId: string, own: symbol): void => {
    if (newest.get(runId) !== own) return;
    newest.delete(runId);
    arrivals.delete(runId);
    labels.delete(runId);
    onChange();
  };
  return {
    labels,
    async during(runId, label, work, isShown) {
      const own = Symbol(label);
      newest.set(runId, own);
      arrivals.delete(runId);
      labels.set(runId, label);
      onChange();
      const late = setTimeout(() => {
        if (newest.get(runId) !== own) return;
        remove(runId, own);
        onLate(runId, label);
      }, lateAfterMs);
      late.unref();
      try {
        const result = await work();
        if (isShown(result)) remove(runId, own);
        else if (newest.get(runId) === own) {
          arrivals.set(runId, () => isShown(result));
          setTimeout(() => remove(runId, own), newsWithinMs).unref();
        }
        return result;
      } catch (error) {
        remove(runId, own);
        throw error;
      } finally {
        clearTimeout(late);
      }
    },
    settle() {
      for (const [runId, hasArrived] of arrivals) {
        const own = newest.get(runId);
        if (own !== undefined && hasArrived()) remove(runId, own);
      }
    },
  };
}
