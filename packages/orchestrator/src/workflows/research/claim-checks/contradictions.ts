/** Finds findings that contradict each other, without a model: the same claim with another number, date or negation. Pure. */
import { normalised } from './normalised-text.ts';
import { oppositeOf } from './opposites.ts';
import { type KnownFinding, prepared } from './novelty.ts';
import type { Conflict, Finding } from '../types.ts';

/** Two findings that say of the same thing what cannot both be so. */
export type Contradiction = readonly [Finding, Finding];

/** Words beside those of details that two claims share at least, as a part of those of the shorter one. */
const SHARED_FROM = 0.75;
/** The same beside a word and its opposite, which are not shared. */
const SHARED_BESIDE_OPPOSITE = 0.6;
const LEAST_WORDS = 2;

/**
 * Pairs of findings that contradict each other, in the order of the first ones. Two claims do where they share most of their words and
 * all their names, and differ either in one kind of detail, numbers or dates, or in a negation or a word and its opposite. Where
 * numbers and dates both differ, each may hold of its own time.
 * @param isSettled true for a pair that needs no look
 */
export function contradictionsIn(
  findings: readonly Finding[],
  isSettled: (one: Finding, other: Finding) => boolean = () => false,
): readonly Contradiction[] {
  const all = findings.map((finding) => ({ finding, claim: comparable(finding) }));
  return all.flatMap(({ finding: one, claim }, index) =>
    all
      .slice(index + 1)
      .filter(({ finding: other, claim: otherClaim }) => contradict(claim, otherClaim) && !isSettled(one, other))
      .map(({ finding: other }): Contradiction => [one, other]),
  );
}

/** Contradictions that no conflict of the report names. */
export function unnamedContradictions(
  findings: readonly Finding[],
  conflicts: readonly Conflict[],
): readonly Contradiction[] {
  const named = conflicts.map(({ positions }) => positions.map(({ findings: ids }) => new Set(ids)));
  return contradictionsIn(findings, (one, other) =>
    named.some((positions) => positions.some((ids) => ids.has(one.id)) && positions.some((ids) => ids.has(other.id))),
  );
}

/** Contradictions that the synthesiser is shown at a time. */
const SHOWN = 8;

/** The newest contradictions that no conflict names, a line each. */
export function shownContradictions(findings: readonly Finding[], conflicts: readonly Conflict[]): string {
  return unnamedContradictions(findings, conflicts)
    .slice(-SHOWN)
    .map((pair) => `- ${pair.map(({ id, claim }) => `[${id}] ${claim}`).join(' | ')}`)
    .join('\n');
}

/** True where two claims say of the same thing what cannot both be so. */
export function areContradictory(one: string, other: string): boolean {
  return contradict(comparable({ claim: one }), comparable({ claim: other }));
}

interface Comparable {
  readonly claim: string;
  readonly words: ReadonlySet<string>;
  readonly names: string;
  readonly numbers: string;
  readonly dates: string;
  readonly negations: number;
}

function comparable({ claim }: Pick<Finding, 'claim'>): Comparable {
  const { words, details, negations }: KnownFinding = prepared({ id: '', claim, sources: [] });
  const of = (kind: string): string =>
    [...details]
      .filter((key) => key.startsWith(`${kind} `))
      .sort()
      .join('\n');
  const named = new Set(nameWords(claim));
  return {
    claim,
    words: new Set([...words].filter((word) => !/\d/.test(word) && !named.has(word))),
    names: of('name'),
    numbers: of('number'),
    dates: of('date'),
    negations,
  };
}

/** Capitalised words: names are compared as a whole. */
function nameWords(claim: string): readonly string[] {
  return (normalised(claim).normalised.match(/(?<= )\p{Lu}[\p{L}\p{N}]*/gu) ?? []).map((word) => word.toLowerCase());
}

function contradict(one: Comparable, other: Comparable): boolean {
  if (one.names !== other.names) return false;
  const [numbersDiffer, datesDiffer] = [one.numbers !== other.numbers, one.dates !== other.dates];
  const isDenied = !numbersDiffer && !datesDiffer && one.negations > 0 !== other.negations > 0;
  const isOther =
    one.negations === other.negations &&
    (numbersDiffer
      ? !datesDiffer && bothHave(one.numbers, other.numbers)
      : datesDiffer && bothHave(one.dates, other.dates));
  if (isDenied || isOther) return areAlike(one.words, other.words);
  if (numbersDiffer || datesDiffer || !areAlike(one.words, other.words, SHARED_BESIDE_OPPOSITE)) return false;
  return oppositeOf(one.claim, [other.claim]) !== null && oppositeOf(other.claim, [one.claim]) !== null;
}

/** A claim that says less does not contradict one that says more. */
function bothHave(one: string, other: string): boolean {
  const [left, right] = [new Set(one.split('\n')), new Set(other.split('\n'))];
  const own = (set: ReadonlySet<string>, rest: ReadonlySet<string>) =>
    [...set].filter((key) => key !== '' && !rest.has(key)).map(measureOf);
  const theirs = own(right, left);
  return own(left, right).some((mine) =>
    theirs.some((each) => mine === each || (mine !== YEAR && each !== YEAR && (mine === '' || each === ''))),
  );
}

const YEAR = 'year';

/** Numbers of different units, and a year and a number, are no other values of the same. */
function measureOf(key: string): string {
  return key.includes('{') ? YEAR : key.slice(key.lastIndexOf(' ') + 1);
}

function areAlike(one: ReadonlySet<string>, other: ReadonlySet<string>, from = SHARED_FROM): boolean {
  const shared = [...one].filter((word) => other.has(word)).length;
  return shared >= LEAST_WORDS && shared >= from * Math.min(one.size, other.size);
}
