import { commonTitles, type MetricsFigures, type MetricsPart } from '@autonomous/shared';
import { aWorkflow } from '@autonomous/shared/a-run.fixture';
import { describe, expect, it } from 'vitest';
import { seriesOf as seriesWith } from './metrics.tsx';

const seriesOf = (figures: Parameters<typeof seriesWith>[0]) => seriesWith(figures, commonTitles([aWorkflow()]));

const SPENDING = { costUsd: 0, inputTokens: 20, outputTokens: 1, calls: 1, unpricedCalls: 0 };

function figures(given: Partial<MetricsFigures> = {}): MetricsFigures {
  return {
    started: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    closed: 0,
    childRuns: { started: 0, completed: 0, failed: 0, cancelled: 0 },
    successRate: null,
    timeToCompletion: null,
    costPerRun: null,
    spending: SPENDING,
    stages: [],
    models: [],
    waiting: [],
    ...given,
  };
}

const part = (from: string, given: Partial<MetricsFigures> = {}): MetricsPart => ({
  from,
  to: from,
  ...figures(given),
});
const model = (name: string, costUsd: number) => ({ ...SPENDING, model: name, costUsd });
const waited = { gate: 'plan', count: 1, medianMs: 5, p90Ms: 5, totalMs: 5 };

describe('What the plots of metrics draw', () => {
  it('has a gap where nothing ended, and nothing spent where nothing was', () => {
    const { success, time, cost, ended } = seriesOf({
      total: figures(),
      parts: [
        part('2026-03-01', {
          completed: 1,
          failed: 1,
          successRate: 0.5,
          timeToCompletion: { count: 1, medianMs: 7, p90Ms: 9, totalMs: 7 },
          costPerRun: { runs: 2, meanUsd: 3, medianUsd: 2 },
        }),
        part('2026-03-02'),
      ],
    });
    expect(success.map(({ values }) => values)).toEqual([[0.5, null]]);
    expect(time.map(({ values }) => values)).toEqual([
      [7, null],
      [9, null],
    ]);
    expect(cost.map(({ values }) => values)).toEqual([
      [2, null],
      [3, null],
    ]);
    expect(ended.map(({ label, values }) => [label, values])).toEqual([
      ['Completed', [1, 0]],
      ['Failed', [1, 0]],
      ['Cancelled', [0, 0]],
    ]);
  });

  it('titles gates and stages as their workflows do', () => {
    const own = aWorkflow({
      stages: [{ name: 'drafting', title: 'Writing the draft' }],
      gates: { proof: { title: 'Proof of the author', presents: 'changes' } },
    });
    const total = figures({
      stages: [{ ...SPENDING, stage: 'drafting' }],
      waiting: [{ ...waited, gate: 'proof' }],
    });
    const labels = (titles: Parameters<typeof seriesWith>[1]) => {
      const { stages, waiting } = seriesWith({ total, parts: [] }, titles);
      return [...stages, ...waiting].map(({ label }) => label);
    };
    expect(labels(commonTitles([own]))).toEqual(['Writing the draft', 'Proof of the author']);
    expect(labels(commonTitles([]))).toEqual(['Drafting', 'Proof']);
  });

  it('tells pauses apart by their reason', () => {
    const pause = { ...waited, gate: 'pause', reason: 'budget' as const, medianMs: 8 };
    const { waiting } = seriesOf({
      total: figures({ waiting: [waited, pause] }),
      parts: [part('2026-03-01', { waiting: [pause] }), part('2026-03-02', { waiting: [waited] })],
    });
    expect(waiting).toEqual([
      { label: 'Plan', values: [null, 5] },
      { label: 'Pause: budget used up', values: [8, null] },
    ]);
  });

  it('sums up the cheap ones of many models', () => {
    const all = [9, 8, 7, 6, 5, 4, 3].map((cost) => model(`a:${cost}`, cost));
    const { models } = seriesOf({
      total: figures({ models: all }),
      parts: [part('2026-03-01', { models: all }), part('2026-03-02', { models: [model('a:3', 1), model('a:9', 2)] })],
    });
    expect(models.map(({ label, values }) => [label, values])).toEqual([
      ['a:9', [9, 2]],
      ['a:8', [8, 0]],
      ['a:7', [7, 0]],
      ['a:6', [6, 0]],
      ['a:5', [5, 0]],
      ['2 others', [7, 1]],
    ]);
  });

  it('has tokens in place of dollars where no price is known', () => {
    const spending = { ...SPENDING, calls: 2, unpricedCalls: 2 };
    const { models } = seriesOf({
      total: figures({ spending, models: [model('local:x', 0)] }),
      parts: [part('2026-03-01', { models: [model('local:x', 0)] })],
    });
    expect(models).toEqual([{ label: 'local:x', values: [21] }]);
  });

  it('names the variants that were closed only where there are some', () => {
    expect(seriesOf({ total: figures({ closed: 1 }), parts: [] }).ended.at(-1)?.label).toBe(
      'Closed for another approach',
    );
  });
});
