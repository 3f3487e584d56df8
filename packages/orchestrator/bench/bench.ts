/**
 * Finds, lists and runs benches. A bench is a file `NAME.bench.ts` that exports `name` (the same NAME), `description` and `run`.
 */
import { globSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { InvalidRequest } from '@autonomous/shared';

export interface BenchTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** Names carry their units, such as `appendP99Ms`; `null` is what could not be measured. */
export interface Figures {
  readonly [name: string]: number | null | Figures;
}

export interface BenchResult {
  /** For people. */
  readonly table: BenchTable;
  /** What a person has to know beside the table, a line each. */
  readonly notes?: readonly string[];
  /** For comparing runs. */
  readonly figures: Figures;
}

export interface Bench {
  readonly name: string;
  /** One line: what is measured. */
  readonly description: string;
  /**
   * @param options what stood behind the bench's name on the command line
   * @throws {InvalidRequest} for options that it does not take
   */
  run(options: readonly string[]): Promise<BenchResult>;
}

/** What a figure means depends on it, so it travels with the figures. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
  readonly platform: string;
}

/**
 * Runs the bench that `args` names, or lists all when it names none.
 * @param print gets what belongs on stdout, line by line; the last line of a bench is one JSON object `{bench, machine, figures}`
 * @param complain gets what belongs on stderr
 * @returns the exit code: 0, or 64 when no bench has that name or takes these options
 */
export async function runBench(
  args: readonly string[],
  folder: string,
  print: (line: string) => void,
  complain: (line: string) => void,
): Promise<number> {
  const benches = await findBenches(folder);
  const [name, ...options] = args;
  const bench = benches.find((candidate) => candidate.name === name);
  if (bench) return carryOut(bench, options, print, complain);
  const say = name === undefined ? print : complain;
  if (name !== undefined) say(`There is no bench '${name}'.`);
  for (const line of list(benches)) say(line);
  return name === undefined ? 0 : 64;
}

async function carryOut(
  bench: Bench,
  options: readonly string[],
  print: (line: string) => void,
  complain: (line: string) => void,
): Promise<number> {
  try {
    const { table, notes = [], figures } = await bench.run(options);
    for (const line of [...formatTable(table), ...notes]) print(line);
    print(JSON.stringify({ bench: bench.name, machine: describeMachine(), figures }));
    return 0;
  } catch (error) {
    if (!(error instanceof InvalidRequest)) throw error;
    complain(error.message);
    return 64;
  }
}

async function findBenches(folder: string): Promise<readonly Bench[]> {
  const files = globSync('*.bench.ts', { cwd: folder }).toSorted();
  return Promise.all(
    files.map(async (file) => {
      const bench: unknown = await import(pathToFileURL(path.join(folder, file)).href);
      if (isBench(bench) && `${bench.name}.bench.ts` === file) return bench;
      throw new Error(`${file} must export its name '${file.replace('.bench.ts', '')}', a description and run().`);
    }),
  );
}

function isBench(module: unknown): module is Bench {
  const { name, description, run } = module as Partial<Record<keyof Bench, unknown>>;
  return typeof name === 'string' && typeof description === 'string' && typeof run === 'function';
}

function list(benches: readonly Bench[]): readonly string[] {
  if (benches.length === 0) return ['There are no benches yet.'];
  const rows = benches.map(({ name, description }) => [name, description]);
  return ['Usage: npm run bench -- NAME [OPTION ...]', '', ...formatTable({ columns: ['name', 'measures'], rows })];
}

/** Columns under their heads, numbers to the right. */
function formatTable({ columns, rows }: BenchTable): readonly string[] {
  const widths = columns.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => String(row[column] ?? '').length)),
  );
  const line = (cells: readonly (string | number)[]) =>
    columns
      .map((_, column) => {
        const cell = cells[column] ?? '';
        const width = widths[column] ?? 0;
        return typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [line(columns), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}

function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  };
}
