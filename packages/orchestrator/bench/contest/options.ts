/** Parses the arguments after `npm run bench -- NAME`. */
import { parseArgs } from 'node:util';
import { InvalidRequest } from '@autonomous/shared';
import { ENTRANTS, type Entrant } from './entrants.ts';

export const PARTS = ['throughput', 'restart', 'memory', 'growth'] as const;
export type Part = (typeof PARTS)[number];

export interface PeersOptions {
  readonly entrants: readonly Entrant[];
  readonly parts: ReadonlySet<Part>;
  /** Rounds over all contenders. */
  readonly repeat: number;
  /** Of one measurement of throughput: no run is begun when either is reached. */
  readonly runs: number;
  readonly seconds: number;
}

/** @throws {InvalidRequest} naming what is not understood and what would be */
export function readPeersOptions(args: readonly string[]): PeersOptions {
  const { only, parts, ...numbers } = parse(args, ['only', 'parts', 'repeat', 'runs', 'seconds']);
  const names = ENTRANTS.map(({ name }) => name);
  const wanted = chosen(only, names, 'contender');
  return {
    entrants: ENTRANTS.filter(({ name }) => wanted.includes(name)),
    parts: new Set(chosen(parts, PARTS, 'part')),
    repeat: positive('repeat', numbers.repeat, 3),
    runs: positive('runs', numbers.runs, 5_000),
    seconds: positive('seconds', numbers.seconds, 3),
  };
}

/**
 * Options that are whole numbers, with what they are when they are not given.
 * @throws {InvalidRequest} naming what is not understood and what would be
 */
export function readNumbers<Name extends string>(
  args: readonly string[],
  defaults: Readonly<Record<Name, number>>,
): Readonly<Record<Name, number>> {
  const names = Object.keys(defaults) as Name[]; // Its keys are what its type says.
  const given = parse(args, names);
  const values = names.map((name) => [name, positive(name, given[name], defaults[name])]);
  return Object.fromEntries(values) as Record<Name, number>;
}

/**
 * The same, and `--parts`: those of a bench that are wanted, all of them when it is not given.
 * @throws {InvalidRequest} naming what is not understood and what would be
 */
export function readPartsAndNumbers<Part extends string, Name extends string>(
  args: readonly string[],
  parts: readonly Part[],
  defaults: Readonly<Record<Name, number>>,
): { readonly parts: ReadonlySet<Part>; readonly numbers: Readonly<Record<Name, number>> } {
  const names = Object.keys(defaults) as Name[]; // Its keys are what its type says.
  const given: Readonly<Partial<Record<string, string>>> = parse(args, ['parts', ...names]);
  const wanted = chosen(given['parts'], parts, 'part');
  const values = names.map((name) => [name, positive(name, given[name], defaults[name])]);
  return {
    parts: new Set(parts.filter((part) => wanted.includes(part))),
    numbers: Object.fromEntries(values) as Record<Name, number>,
  };
}

function parse<Name extends string>(
  args: readonly string[],
  names: readonly Name[],
): Readonly<Partial<Record<Name, string>>> {
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' }] as const));
  try {
    return parseArgs({ args: [...args], options, strict: true }).values as Partial<Record<Name, string>>;
  } catch (error) {
    const usage = names.map((name) => `--${name}`).join(' ');
    throw new InvalidRequest(`${error instanceof Error ? error.message : String(error)} The options are ${usage}.`);
  }
}

/** All of them where the list is absent, in their own order. */
function chosen<Name extends string>(list: string | undefined, all: readonly Name[], kind: string): readonly Name[] {
  if (list === undefined) return all;
  const wanted = list.split(',').map((name) => name.trim());
  for (const name of wanted) {
    if (!all.some((known) => known === name)) {
      throw new InvalidRequest(`There is no ${kind} '${name}'; there are ${all.join(', ')}.`);
    }
  }
  return all.filter((name) => wanted.includes(name));
}

function positive(name: string, given: string | undefined, otherwise: number): number {
  const value = given === undefined ? otherwise : Number(given);
  if (value > 0 && Number.isInteger(value)) return value;
  throw new InvalidRequest(`--${name} is '${given}'; it has to be a whole number above 0.`);
}
