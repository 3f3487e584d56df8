/** Finds findings that contradict each other, without a model: the same claim with another number, date or negation. Pure. */
import { normalised } from './normalised-text.ts';
import { type KnownFinding, prepared } from './novelty.ts';
import type { Conflict, Finding } from './types.ts';

/** Two findings that say of the same thing what cannot both be so. */
export type Contradiction = readonly [Finding, Finding];

/** Words beside those of details that two claims share at least, as a part of those of the shorter one. */
const SHARED_FROM = 0.75;
const LEAST_WORDS = 2;

/**
 * Pairs of findings that contradict each other, in the order of the first ones. Two claims do where they share most of their words and
 * all their names, and differ either in one kind of detail, numbers or dates, or in a negation. Where numbers and dates both differ,
 * each may hold of its own time.
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

interface Comparable {
  readonly words: ReadonlySet<string>;
  readonly names: string;
  readonly numbers: string;
  readonly dates: string;
  readonly negations: number;
}

function comparable({ claim }: Finding): Comparable {
  const { words, details, negations }: KnownFinding = prepared({ id: '', claim, sources: [] });
  const of = (kind: string): string =>
    [...details]
      .filter((key) => key.startsWith(`${kind} `))
      .sort()
      .join('\n');
  const named = new Set(nameWords(claim));
  return {
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
  return (isDenied || isOther) && areAlike(one.words, other.words);
}

/** A claim that says less does not contradict one that says more. */
function bothHave(one: string, other: string): boolean {
  const [left, right] = [new Set(one.split('\n')), new Set(other.split('\n'))];
  const has = (set: ReadonlySet<string>, rest: ReadonlySet<string>) =>
    [...set].some((key) => key !== '' && !rest.has(key));
  return has(left, right) && has(right, left);
}

function areAlike(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  const shared = [...one].filter((word) => other.has(word)).length;
  return shared >= LEAST_WORDS && shared >= SHARED_FROM * Math.min(one.size, other.size);
}
