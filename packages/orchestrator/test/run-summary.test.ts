/** Tests that the summaries behind the figures agree with the run view, at every event of every recorded history. */
import { foldRun, type RunView } from '@autonomous/shared';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../golden/history.ts';
import { shipped } from '../golden/shipped.ts';
import { readHistories } from '../golden/store.ts';
import { NO_SUMMARY, type RunSummary, type Spent, summarize } from '../src/event-store/run-summary.ts';

describe.each(shipped)('The summary of $name version $version', (definition) => {
  it.each(readHistories(definition))('agrees with the read model: $file', ({ history }) => {
    let view: RunView | null = null;
    let summary: RunSummary = NO_SUMMARY;
    /** What a fork has of its source: the view counts it, figures do not. */
    let inherited = { costUsd: 0, inputTokens: 0, outputTokens: 0, calls: 0 };
    for (const event of eventsOf(definition, history)) {
      view = foldRun(view, event);
      summary = summarize(summary, [event]);
      if (view === null) continue;
      if (event.type === 'RUN_FORKED') inherited = { costUsd: 0, ...view.cost };
      const { gate } = view;
      expect(summary.open?.gate, event.id).toBe(gate?.kind);
      expect(summary.open?.reason, event.id).toBe(gate?.reason);
      if (gate !== null && view.forkedFrom === undefined) {
        expect(summary.open?.from, event.id).toBe(Date.parse(gate.openedAt));
      }
      const spent = [...summary.spent, ...Object.values(summary.booked)];
      const total = (name: 'costUsd' | 'inputTokens' | 'outputTokens' | 'calls'): number =>
        spent.reduce((sum, each: Spent) => sum + each[name], 0);
      for (const name of ['inputTokens', 'outputTokens', 'calls'] as const)
        expect(total(name), `${event.id} ${name}`).toBe(view.cost[name] - inherited[name]);
      expect(total('costUsd'), event.id).toBeCloseTo((view.cost.costUsd ?? 0) - inherited.costUsd, 6);
    }
    // Each decision of a person has ended a wait at the gate that it was made at, in that order.
    const decided = (view?.gates ?? []).filter(({ at }) => view?.forkedFrom === undefined || at >= view.createdAt);
    const closed = summary.waits.map((wait) => `${wait.gate} ${new Date(wait.to).toISOString()}`);
    for (const { kind, at } of decided) expect(closed).toContain(`${kind} ${at}`);
  });
});
