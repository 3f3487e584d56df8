/**
 * Decides whether a finding of a round of research is new. Pure and without a model: equal claims first, near-duplicates by shared
 * words and word pairs next. Only a pair that these cannot decide is left to a judge.
 */
import { normalisedAddress } from './addresses.ts';
import { detailKeys } from './claim-details.ts';
import { isNumberWord } from './detail-numbers.ts';
import { normalised } from './normalised-text.ts';

/** A page on which a finding rests. */
export interface FindingSource {
  readonly address: string;
  /** Digest of the page's stored text; `null` when it is not known. */
  readonly hash: string | null;
}

export interface ClaimedFinding {
  readonly id: string;
  readonly claim: string;
  readonly sources: readonly FindingSource[];
}

/** A finding that is prepared for comparison, once. */
export interface KnownFinding extends ClaimedFinding {
  readonly key: string;
  readonly shingles: ReadonlySet<string>;
  readonly words: ReadonlySet<string>;
  readonly details: ReadonlySet<string>;
  readonly negations: number;
}

export type Novelty =
  /** `similarity` to the nearest known finding, from 0 to 1. */
  | { readonly kind: 'new'; readonly similarity: number }
  /** `newSources` are those that the known finding gains; empty when the finding adds nothing. */
  | {
      readonly kind: 'known';
      readonly id: string;
      readonly similarity: number;
      readonly newSources: readonly FindingSource[];
    }
  /** A judge decides whether it is the finding `id`. If so, `newSources` are those that it gains. */
  | {
      readonly kind: 'undecided';
      readonly id: string;
      readonly similarity: number;
      readonly newSources: readonly FindingSource[];
    };

/** Two claims with this similarity and the same details are the same. */
export const KNOWN_FROM = 0.8;
/** Two claims with less than this similarity are different. */
export const UNDECIDED_FROM = 0.35;
/** Two claims are not simply different when this part of the shorter one's words stands in the longer one. */
export const CONTAINED_FROM = 0.6;
/** Claims with fewer words than these are not compared in that way. */
export const SHORTEST_CONTAINED = 4;
/** Words of a claim that are compared. */
export const MOST_WORDS = 150;

/** A finding in the form in which it is compared. */
export function prepared(finding: ClaimedFinding): KnownFinding {
  const words = wordsOf(finding.claim);
  // Numbers are compared by value, among the details.
  const content = words.filter((word) => !STOP_WORDS.has(word) && !NEGATIONS.has(word) && !isNumberWord(word));
  return {
    ...finding,
    key: words.join(' '),
    shingles: new Set([...content, ...content.slice(1).map((word, index) => `${content[index] ?? ''} ${word}`)]),
    words: new Set(content),
    details: detailKeys(finding.claim),
    negations: words.filter((word) => NEGATIONS.has(word)).length,
  };
}

/**
 * Compares a finding with all known ones, in time in proportion to their number.
 *
 * `known`: the claims are equal but for case, punctuation and typography, or at least 0.8 of their words and word pairs are shared
 * and neither numbers, dates, names nor negations differ. A finding with other figures contradicts the known one and is not the same.
 * `new`: less than 0.35 are shared, and less than 0.6 of the shorter claim's words stand in the longer one. Everything between is `undecided`, with the
 * nearest known finding.
 */
export function noveltyOf(finding: ClaimedFinding, known: readonly KnownFinding[]): Novelty {
  const candidate = prepared(finding);
  const equal = known.find(({ key }) => key === candidate.key);
  if (equal !== undefined)
    return { kind: 'known', id: equal.id, similarity: 1, newSources: newSources(finding.sources, equal.sources) };
  let nearest: { readonly finding: KnownFinding; readonly likeness: Likeness } | null = null;
  for (const each of known) {
    const likeness = likenessOf(candidate, each);
    if (nearest === null || rankOf(likeness) > rankOf(nearest.likeness)) nearest = { finding: each, likeness };
  }
  if (nearest === null) return { kind: 'new', similarity: 0 };
  const { similarity, verdict } = nearest.likeness;
  if (verdict === 'new') return { kind: 'new', similarity };
  const { id, sources } = nearest.finding;
  return { kind: verdict, id, similarity, newSources: newSources(finding.sources, sources) };
}

/**
 * The findings of a round, each compared with the known ones and with those before it in the round that are not known. Same order.
 */
export function noveltiesOf(
  findings: readonly ClaimedFinding[],
  known: readonly KnownFinding[],
): readonly { readonly id: string; readonly novelty: Novelty }[] {
  const all = [...known];
  return findings.map((finding) => {
    const novelty = noveltyOf(finding, all);
    if (novelty.kind !== 'known') all.push(prepared(finding));
    return { id: finding.id, novelty };
  });
}

/** One source for each page: of several with the same address or the same content, the first. */
export function distinctSources<Source extends FindingSource>(sources: readonly Source[]): readonly Source[] {
  return newSources(sources, []);
}

/** Sources that are independent of `known` and of each other: another address and another content. */
export function newSources<Source extends FindingSource>(
  sources: readonly Source[],
  known: readonly FindingSource[],
): readonly Source[] {
  const addresses = new Set(known.map(({ address }) => normalisedAddress(address)));
  const hashes = new Set(known.flatMap(({ hash }) => (hash === null ? [] : [hash])));
  return sources.filter(({ address, hash }) => {
    const key = normalisedAddress(address);
    const isKnown = addresses.has(key) || (hash !== null && hashes.has(hash));
    addresses.add(key);
    if (hash !== null) hashes.add(hash);
    return !isKnown;
  });
}

const STOP_WORDS: ReadonlySet<string> = new Set(
  'a about also an and are as at be been being by can could did do does for from had has have he her his how however in into is it its may might more most of on one or our over said say says she should so some such than that the their them then there these they this those to up was we were what when where which who will with would you your'.split(
    ' ',
  ),
);
const NEGATIONS: ReadonlySet<string> = new Set(
  'no not never none nor neither without cannot fails failed lacks unable hardly'.split(' '),
);

/** The words of a claim in small letters, without punctuation and plural `s`. `n't` counts as "not". */
function wordsOf(claim: string): readonly string[] {
  const text = normalised(claim).normalised.toLowerCase().replaceAll("can't", 'can not').replaceAll("n't", ' not');
  const words = text.match(/[\p{L}\p{N}]+(?:[.,][\p{L}\p{N}]+)*/gu) ?? [];
  return words.slice(0, MOST_WORDS).map((word) => (/\p{L}{3}[^s\P{L}]s$/u.test(word) ? word.slice(0, -1) : word));
}

interface Likeness {
  readonly similarity: number;
  readonly verdict: Novelty['kind'];
}

function likenessOf(one: KnownFinding, other: KnownFinding): Likeness {
  const shared = sharedBy(one.shingles, other.shingles);
  const all = one.shingles.size + other.shingles.size - shared;
  const similarity = all === 0 ? 0 : shared / all;
  const isSame = similarity >= KNOWN_FROM && one.negations === other.negations && areEqual(one.details, other.details);
  if (isSame) return { similarity, verdict: 'known' };
  const smaller = Math.min(one.words.size, other.words.size);
  const isContained = smaller >= SHORTEST_CONTAINED && sharedBy(one.words, other.words) >= CONTAINED_FROM * smaller;
  return { similarity, verdict: similarity >= UNDECIDED_FROM || isContained ? 'undecided' : 'new' };
}

const RANKS: Readonly<Record<Novelty['kind'], number>> = { new: 0, undecided: 1, known: 2 };

function rankOf({ verdict, similarity }: Likeness): number {
  return RANKS[verdict] * 2 + similarity;
}

function sharedBy(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const each of one) if (other.has(each)) shared += 1;
  return shared;
}

function areEqual(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && sharedBy(one, other) === one.size;
}
