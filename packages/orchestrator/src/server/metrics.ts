/** The figures of many runs over a time, from what each of them spent and where it waited. Pure. */
import {
  type DurationFigures,
  type Fault,
  type GateWaiting,
  InvalidRequest,
  MAX_METRICS_DAYS,
  type Metrics,
  type MetricsBucket,
  type MetricsFigures,
  type MetricsQuery,
  type SpendingFigures,
  type WorkflowFigures,
} from '@autonomous/shared';
import type { SummarizedRun } from '../event-store/event-store.ts';
import type { Spent, Wait } from '../event-store/run-summary.ts';
import { addDays, type Calendar, calendarOf, daysBetween, type DateRange, dateRangesOf } from './date-ranges.ts';

const DEFAULT_DAYS = 30;

/** A request for metrics, with defaults filled in. */
export interface MetricsRange {
  readonly timeZone: string;
  readonly bucket: MetricsBucket;
  /** The whole of it. */
  readonly range: DateRange;
  readonly parts: readonly DateRange[];
}

/** @throws {InvalidRequest} for a time zone or range that is none */
export function metricsRange({ from, to, bucket = 'day', timeZone = 'UTC' }: MetricsQuery, now: Date): MetricsRange {
  const calendar = calendarFor(timeZone);
  const last = to ?? calendar.dateAt(now.getTime());
  const first = from ?? addDays(last, 1 - DEFAULT_DAYS);
  if (first > last) throw fault('from', `must not be after ${last}, the last day of the range`);
  const days = daysBetween(first, last);
  if (days > MAX_METRICS_DAYS)
    throw fault('from', `is ${days} days back; at most ${MAX_METRICS_DAYS} are given at once`);
  const range = { from: first, to: last, begin: calendar.beginOf(first), end: calendar.beginOf(addDays(last, 1)) };
  return { timeZone, bucket, range, parts: dateRangesOf(calendar, first, last, bucket) };
}

/** @param runs all that were open or ended in the range; others may be among them */
export function metricsOf(runs: readonly SummarizedRun[], { timeZone, bucket, range, parts }: MetricsRange): Metrics {
  const facts = factsOf(runs);
  const all = gather(facts, parts);
  return {
    from: range.from,
    to: range.to,
    timeZone,
    bucket,
    total: figuresOf(together(all)),
    parts: all.map(({ part: { from, to }, ...gathered }) => ({ from, to, ...figuresOf(gathered) })),
    workflows: workflowsOf(facts, parts),
    now: nowOf(runs),
  };
}

/** Figures of each workflow of which something happened in the range, that with the most runs started first. */
function workflowsOf(facts: readonly RunFacts[], parts: readonly DateRange[]): readonly WorkflowFigures[] {
  return [...Map.groupBy(facts, ({ run }) => run.workflow)]
    .flatMap(([workflow, group]): WorkflowFigures[] => {
      const gathered = together(gather(group, parts));
      const { started, startedBelow, ended, calls, waits } = gathered;
      const isEmpty = started + startedBelow + ended.length + calls.length + waits.length === 0;
      return isEmpty ? [] : [{ workflow, ...figuresOf(gathered) }];
    })
    .toSorted((one, other) => other.started - one.started || (one.workflow < other.workflow ? -1 : 1));
}

function together(all: readonly Gathered[]): Gathered {
  return {
    started: sumOf(all, ({ started }) => started),
    startedBelow: sumOf(all, ({ startedBelow }) => startedBelow),
    ended: all.flatMap(({ ended }) => ended),
    calls: all.flatMap(({ calls }) => calls),
    waits: all.flatMap(({ waits }) => waits),
  };
}

interface RunFacts {
  readonly run: SummarizedRun;
  readonly madeAt: number;
  readonly endedAt: number | null;
  /** Of the run and of all runs below it. */
  readonly costUsd: number;
  readonly calls: readonly Spent[];
}

/** Facts of the runs that were asked for; the others are part of the costs of the runs above them. */
function factsOf(runs: readonly SummarizedRun[]): readonly RunFacts[] {
  const callsOf = ({ summary: { spent, booked } }: SummarizedRun): readonly Spent[] => [
    ...spent,
    ...Object.values(booked),
  ];
  const below = Map.groupBy(runs, ({ parentId }) => parentId);
  const costOf = (run: SummarizedRun): number =>
    sumOf(callsOf(run), ({ costUsd }) => costUsd) + sumOf(below.get(run.id) ?? [], costOf);
  return runs
    .filter(({ isBelow }) => !isBelow)
    .map((run) => ({
      run,
      madeAt: Date.parse(run.createdAt),
      endedAt: run.completedAt === null ? null : Date.parse(run.completedAt),
      costUsd: run.parentId === null ? costOf(run) : 0,
      calls: callsOf(run),
    }));
}

interface Gathered {
  started: number;
  startedBelow: number;
  readonly ended: RunFacts[];
  readonly calls: Spent[];
  readonly waits: Wait[];
}

/** Everything in the part of the range in which it happened; what did so at other times is left out. */
function gather(
  facts: readonly RunFacts[],
  parts: readonly DateRange[],
): readonly (Gathered & { readonly part: DateRange })[] {
  const all = parts.map((part) => ({ part, started: 0, startedBelow: 0, ended: [], calls: [], waits: [] }));
  const at = (ms: number): Gathered | undefined => {
    // Parts follow each other without a gap.
    let low = 0;
    let high = all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((all[middle]?.part.end ?? 0) <= ms) low = middle + 1;
      else high = middle;
    }
    const found = all[low];
    return found !== undefined && found.part.begin <= ms ? found : undefined;
  };
  for (const fact of facts) {
    const made = at(fact.madeAt);
    if (made !== undefined) made[fact.run.parentId === null ? 'started' : 'startedBelow'] += 1;
    if (fact.endedAt !== null) at(fact.endedAt)?.ended.push(fact);
    for (const call of fact.calls) at(call.at)?.calls.push(call);
    for (const wait of fact.run.summary.waits) at(wait.to)?.waits.push(wait);
  }
  return all;
}

function figuresOf({ started, startedBelow, ended, calls, waits }: Gathered): MetricsFigures {
  const tops = ended.filter(({ run }) => run.parentId === null);
  const { completed, failed, cancelled } = endsOf(tops);
  const below = endsOf(ended.filter(({ run }) => run.parentId !== null));
  const decided = completed.length + failed + cancelled;
  const costs = tops.map(({ costUsd }) => costUsd);
  return {
    started,
    completed: completed.length,
    failed,
    cancelled,
    closed: ended.filter(({ run }) => run.isSuperseded).length,
    childRuns: { ...below, started: startedBelow, completed: below.completed.length },
    successRate: decided === 0 ? null : completed.length / decided,
    timeToCompletion: durations(completed.map(({ madeAt, endedAt }) => (endedAt ?? madeAt) - madeAt)),
    costPerRun:
      costs.length === 0
        ? null
        : {
            runs: costs.length,
            meanUsd: dollars(sumOf(costs, Number) / costs.length),
            medianUsd: dollars(medianOf(costs.toSorted(ascending))),
          },
    spending: spendingOf(calls),
    stages: spendingBy(calls, ({ stage }) => stage).map(([stage, figures]) => ({ stage, ...figures })),
    models: spendingBy(calls, ({ model }) => model).map(([model, figures]) => ({ model, ...figures })),
    waiting: waitingOf(waits),
  };
}

/** A run that completed with failures is no success, and an attempt that its parent gave up has failed. */
function endsOf(ended: readonly RunFacts[]) {
  const counted = (status: string): readonly RunFacts[] =>
    ended.filter(({ run }) => run.status === status && !run.isSuperseded);
  const completed = counted('completed').filter(({ run }) => run.summary.withFailures !== true);
  const cancelled = counted('cancelled').filter(({ run }) => run.summary.givenUp !== true).length;
  const all = ended.filter(({ run }) => !run.isSuperseded).length;
  return { completed, failed: all - completed.length - cancelled, cancelled };
}

function spendingOf(calls: readonly Spent[]): SpendingFigures {
  return {
    costUsd: dollars(sumOf(calls, ({ costUsd }) => costUsd)),
    inputTokens: sumOf(calls, ({ inputTokens }) => inputTokens),
    outputTokens: sumOf(calls, ({ outputTokens }) => outputTokens),
    calls: sumOf(calls, (call) => call.calls),
    unpricedCalls: sumOf(calls, ({ unpricedCalls }) => unpricedCalls),
  };
}

function spendingBy<Key extends string | null>(
  calls: readonly Spent[],
  keyOf: (call: Spent) => Key,
): readonly (readonly [Key, SpendingFigures])[] {
  const all = [...Map.groupBy(calls, keyOf)].map(([key, group]) => [key, spendingOf(group)] as const);
  const tokens = (figures: SpendingFigures): number => figures.inputTokens + figures.outputTokens;
  return all.toSorted(([, one], [, other]) => other.costUsd - one.costUsd || tokens(other) - tokens(one));
}

function waitingOf(waits: readonly Wait[]): readonly GateWaiting[] {
  return [...Map.groupBy(waits, gateKey).values()]
    .flatMap((group): GateWaiting[] => {
      const [first] = group;
      const figures = durations(group.map(({ from, to }) => to - from));
      return first === undefined || figures === null ? [] : [{ ...nameOf(first), ...figures }];
    })
    .toSorted((one, other) => other.totalMs - one.totalMs);
}

function nowOf(runs: readonly SummarizedRun[]): Metrics['now'] {
  const open = runs.filter(({ completedAt, isBelow }) => completedAt === null && !isBelow);
  const gates = open.flatMap(({ summary }) => summary.open ?? []);
  const waiting = [...Map.groupBy(gates, gateKey).values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const since = new Date(Math.min(...group.map(({ from }) => from))).toISOString();
    return [{ ...nameOf(first), runs: group.length, since }];
  });
  return { openRuns: open.length, waiting: waiting.toSorted((one, other) => (one.since < other.since ? -1 : 1)) };
}

type Gate = Pick<Wait, 'gate' | 'reason'>;

function gateKey({ gate, reason }: Gate): string {
  return `${gate} ${reason ?? ''}`;
}

function nameOf({ gate, reason }: Gate): Gate {
  return reason === undefined ? { gate } : { gate, reason };
}

/** `null` for none. */
function durations(all: readonly number[]): DurationFigures | null {
  if (all.length === 0) return null;
  const sorted = all.map((ms) => Math.max(0, ms)).toSorted(ascending);
  return {
    count: sorted.length,
    medianMs: Math.round(medianOf(sorted)),
    p90Ms: sorted[Math.ceil(sorted.length * 0.9) - 1] ?? 0,
    totalMs: sumOf(sorted, Number),
  };
}

/** The middle one of a sorted list, or halfway between the two in the middle. */
function medianOf(sorted: readonly number[]): number {
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? 0;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? 0) + upper) / 2 : upper;
}

function sumOf<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + valueOf(item), 0);
}

/** Sums of dollars must not show the errors of binary fractions. */
function dollars(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}

const ascending = (one: number, other: number): number => one - other;

function calendarFor(timeZone: string): Calendar {
  try {
    return calendarOf(timeZone);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw fault('timeZone', `'${timeZone}' is not a time zone; use a name such as UTC or Europe/Berlin`);
  }
}

function fault(path: keyof MetricsQuery, message: string): InvalidRequest {
  const faults: readonly Fault[] = [{ path, message }];
  return new InvalidRequest(`The request's query cannot be taken: ${path}: ${message}.`, { faults });
}
