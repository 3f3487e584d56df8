/** Summarises the samples of all contenders: medians, the comparison, and a table. */
import type { BenchTable, Figures } from '../bench.ts';
import type { Entrant } from './entrants.ts';
import type { Report } from './orders.ts';
import type { Probe } from './processes.ts';
import { median, ratio, rounded } from './statistics.ts';

/** What a contender reported in one of its processes. */
export type Sample = Report & { readonly contender: string };

export const CONCURRENCIES = [1, 50, 500] as const;
export const WAITING_RUNS = [0, 1_000, 10_000] as const;
export const GROWTH_STEPS = [10, 100, 1_000, 10_000] as const;

type Concurrency = (typeof CONCURRENCIES)[number];
type Column = readonly (number | null)[];

/** Medians of one contender; `null` what was not measured. */
class Medians {
  readonly entrant: Entrant;
  readonly #samples: readonly Sample[];

  constructor(entrant: Entrant, samples: readonly Sample[]) {
    this.entrant = entrant;
    this.#samples = samples.filter(({ contender }) => contender === entrant.name);
  }

  throughput(
    concurrency: Concurrency,
    figure: 'runsPerS' | 'approveP50Ms' | 'approveP99Ms' | 'bytesPerRun',
  ): number | null {
    return this.#median((sample) =>
      sample.part === 'throughput' && sample.concurrency === concurrency ? sample[figure] : null,
    );
  }

  memory(waiting: number, figure: 'rssMb' | 'enginePssMb'): number | null {
    return this.#median((sample) => (sample.part === 'waiting' && sample.waiting === waiting ? sample[figure] : null));
  }

  get restartS(): number | null {
    return this.#median((sample) => (sample.part === 'restart' ? sample.seconds : null));
  }

  stepMs(steps: number): number | null {
    return this.#median((sample) => (sample.part === 'growth' && sample.steps === steps ? sample.stepMs : null));
  }

  /** What went wrong, each thing once. */
  get failures(): readonly string[] {
    return [...new Set(this.#samples.flatMap((sample) => (sample.part === 'failed' ? [sample.message] : [])))];
  }

  #median(figure: (sample: Sample) => number | null): number | null {
    return median(this.#samples.map(figure).filter((value) => value !== null));
  }
}

export function figuresOf(entrants: readonly Entrant[], samples: readonly Sample[], probes: readonly Probe[]): Figures {
  const all = entrants.map((entrant) => new Medians(entrant, samples));
  const ours = all.find(({ entrant }) => entrant.role === 'ours');
  return {
    ...Object.fromEntries(CONCURRENCIES.flatMap((concurrency) => comparisonsAt(concurrency, all))),
    approveP50MsAt1: shown(ours?.throughput(1, 'approveP50Ms')),
    approveP50MsAt50: shown(ours?.throughput(50, 'approveP50Ms')),
    restart1000S: shown(ours?.restartS),
    rss10kMb: shown(ours?.memory(10_000, 'rssMb')),
    stepGrowth10000: shown(ratio(ours?.stepMs(10_000) ?? null, ours?.stepMs(10) ?? null)),
    bytesPerRun: shown(ours?.throughput(50, 'bytesPerRun')),
    ...Object.fromEntries(all.map((medians) => [medians.entrant.name, ownFigures(medians)])),
    probe: probeFigures(probes),
  };
}

/** Ours as a multiple of the best peer that syncs, of the best that does not, and of the limit. */
function comparisonsAt(concurrency: Concurrency, all: readonly Medians[]): (readonly [string, number | null])[] {
  const best = (chosen: (entrant: Entrant) => boolean): number | null => {
    const rates = all
      .filter(({ entrant }) => chosen(entrant))
      .map((medians) => medians.throughput(concurrency, 'runsPerS'))
      .filter((rate) => rate !== null);
    return rates.length === 0 ? null : Math.max(...rates);
  };
  const ours = best(({ role }) => role === 'ours');
  const against = (name: string, chosen: (entrant: Entrant) => boolean) =>
    [`${name}${concurrency}`, shown(ratio(ours, best(chosen)))] as const;
  return [
    against('vsBestSynced', ({ role, synced }) => role === 'peer' && synced),
    against('vsBestUnsynced', ({ role, synced }) => role === 'peer' && !synced),
    against('vsRaw', ({ role }) => role === 'limit'),
  ];
}

function ownFigures(medians: Medians): Figures {
  const figures = <Key extends number>(
    keys: readonly Key[],
    name: (key: Key) => string,
    of: (key: Key) => number | null,
  ) => Object.fromEntries(keys.map((key) => [name(key), shown(of(key))] as const));
  const at = (name: string, figure: 'runsPerS' | 'approveP50Ms' | 'approveP99Ms') =>
    figures(
      CONCURRENCIES,
      (concurrency) => `${name}${concurrency}`,
      (concurrency) => medians.throughput(concurrency, figure),
    );
  return {
    synced: medians.entrant.synced ? 1 : 0,
    ...at('runsPerS', 'runsPerS'),
    ...at('approveP50MsAt', 'approveP50Ms'),
    ...at('approveP99MsAt', 'approveP99Ms'),
    ...figures(
      WAITING_RUNS,
      (waiting) => `rss${brief(waiting)}Mb`,
      (waiting) => medians.memory(waiting, 'rssMb'),
    ),
    ...figures(
      WAITING_RUNS,
      (waiting) => `enginePss${brief(waiting)}Mb`,
      (waiting) => medians.memory(waiting, 'enginePssMb'),
    ),
    ...figures(
      GROWTH_STEPS,
      (steps) => `stepMsAt${steps}`,
      (steps) => medians.stepMs(steps),
    ),
    restart1000S: shown(medians.restartS),
    bytesPerRun: shown(medians.throughput(50, 'bytesPerRun')),
  };
}

function probeFigures(probes: readonly Probe[]): Figures {
  const of = (figure: keyof Probe) => probes.map((probe) => probe[figure]);
  return {
    fsyncMs: shown(median(of('fsyncMs'))),
    fsyncP90Ms: shown(median(of('fsyncP90Ms'))),
    spinMs: shown(median(of('spinMs'))),
    slowestSpinMs: shown(probes.length === 0 ? null : Math.max(...of('spinMs'))),
    load: shown(median(of('load'))),
  };
}

export function tableOf(entrants: readonly Entrant[], samples: readonly Sample[]): BenchTable {
  return {
    columns: [
      'engine',
      'fsync',
      'durability',
      `runs/s at ${CONCURRENCIES.join(' / ')}`,
      'approve p50/p99 ms at 1',
      'at 50',
      'at 500',
      'restart s',
      'MB at 0 / 1k / 10k waiting',
      `ms a step of ${GROWTH_STEPS.join(' / ')}`,
      'KB a run',
    ],
    rows: entrants.map((entrant) => rowOf(new Medians(entrant, samples))),
  };
}

function rowOf(medians: Medians): readonly string[] {
  const latency = (concurrency: Concurrency) =>
    cells([medians.throughput(concurrency, 'approveP50Ms'), medians.throughput(concurrency, 'approveP99Ms')]);
  const memory = (waiting: number) => {
    const [own, beside] = [medians.memory(waiting, 'rssMb'), medians.memory(waiting, 'enginePssMb')].map(whole);
    return beside === '–' ? own : `${own}+${beside}`;
  };
  const bytes = medians.throughput(50, 'bytesPerRun');
  return [
    medians.entrant.title,
    medians.entrant.synced ? 'yes' : 'no',
    medians.entrant.durability,
    cells(CONCURRENCIES.map((concurrency) => medians.throughput(concurrency, 'runsPerS'))),
    latency(1),
    latency(50),
    latency(500),
    cells([medians.restartS]),
    WAITING_RUNS.map(memory).join(' / '),
    cells(GROWTH_STEPS.map((steps) => medians.stepMs(steps))),
    cells([bytes === null ? null : bytes / 1_024]),
  ];
}

/** What could not be measured, and why. */
export function failuresOf(entrants: readonly Entrant[], samples: readonly Sample[]): readonly string[] {
  return entrants.flatMap((entrant) =>
    new Medians(entrant, samples).failures.map((message) => `${entrant.title}: ${message}`),
  );
}

function cells(values: Column): string {
  return values.map((value) => (value === null ? '–' : String(rounded(value)))).join(' / ');
}

function whole(value: number | null): string {
  return value === null ? '–' : String(Math.round(value));
}

function shown(value: number | null | undefined): number | null {
  return value === null || value === undefined ? null : rounded(value);
}

function brief(count: number): string {
  return count >= 1_000 ? `${count / 1_000}k` : String(count);
}
