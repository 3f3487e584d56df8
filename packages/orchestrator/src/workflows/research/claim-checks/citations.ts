/**
 * Checks the citations of findings without a model: only pages that this run fetched count, each quote must stand in the stored text
 * of its page, and each detail of a claim in its quotes. Pure: the stored texts are passed in.
 */
import { seenText, withoutMarks } from '../../../web-pages/unseen-marks.ts';
import { normalisedAddress } from './addresses.ts';
import { type Detail, missingDetails } from './claim-details.ts';
import { type NormalisedText, normalised } from './normalised-text.ts';
import { distinctSources } from './novelty.ts';
import type { Opposite } from './opposite.ts';
import { deniedIn, oppositeOf } from './opposites.ts';
import { findQuote, SHORTEST_PART_WORDS, SHORTEST_QUOTE, type Span, standsIn } from './passages.ts';
import { type Overstated, overstatedIn } from './reservations.ts';
import { blocksOf, sentencesAround } from './sentences-around.ts';
import { unsaidWords } from './unsaid-words.ts';

/** A page that the run fetched. */
export interface FetchEntry {
  /** Address that was asked for. */
  readonly requested: string;
  /** Address that answered, after redirects. */
  readonly address: string;
  /** Digest of the stored text. */
  readonly hash: string;
  /** ISO 8601. */
  readonly at: string;
  /** HTTP status. An answer outside 200 to 299 is a refusal, also when its text is stored. */
  readonly status: number;
}

/** A page that the run asked for and did not get. */
export interface Refusal {
  readonly requested: string;
  /** Address that refused, after redirects; `null` when none answered. */
  readonly address: string | null;
  /** HTTP status; `null` without an answer, as for a page that robots.txt excludes. */
  readonly status: number | null;
  /** Why, in words, as part of a sentence: "robots.txt excludes it". */
  readonly reason: string;
}

export interface FetchLog {
  readonly fetched: readonly FetchEntry[];
  readonly refused: readonly Refusal[];
}

export interface Evidence {
  readonly quote: string;
  readonly address: string;
}

export interface CitedSource {
  readonly address: string;
  readonly credibility: string;
  /** Why the source is that credible. */
  readonly why: string;
}

/** A finding as a researcher returns it. */
export interface Finding {
  readonly id: string;
  readonly claim: string;
  readonly evidence: readonly Evidence[];
  readonly sources: readonly CitedSource[];
  readonly confidence: string;
}

export type Rejection =
  | { readonly kind: 'not_fetched' }
  | { readonly kind: 'refused'; readonly status: number | null; readonly why: string }
  | { readonly kind: 'quote_absent'; readonly part: string }
  | { readonly kind: 'quote_too_short'; readonly part: string }
  /** It stands in a passage of the page that may be invisible, or reaches across one. */
  | { readonly kind: 'quote_unseen'; readonly part: string }
  /** The quotes stand in their pages, and none of them states these details of the claim. */
  | { readonly kind: 'detail_absent'; readonly missing: readonly Detail[] }
  /** The quotes stand in their pages, and the claim says the opposite. `isAround`: of the sentences in which they stand. */
  | ({ readonly kind: 'opposite'; readonly isAround?: true } & Opposite)
  /** The quotes stand in their pages, and say with a reservation what the claim says plainly. `isAround`: so do the sentences in which they stand. */
  | ({ readonly kind: 'overstated'; readonly isAround?: true } & Overstated)
  /** The quotes stand in their pages, and say none of these words of the claim. */
  | { readonly kind: 'unsaid'; readonly words: readonly string[] };

export interface AcceptedEvidence extends Evidence {
  /** The fetched page in which the quote stands. */
  readonly page: FetchEntry;
  /** Places of the quote's parts in the normalised text of the page as its reader sees it. */
  readonly spans: readonly Span[];
}

export interface RejectedEvidence extends Evidence {
  readonly reason: Rejection;
}

/** A page that the report may cite for a finding. */
export interface CheckedSource {
  readonly page: FetchEntry;
  /** As the researcher rates the source; `null` where the finding does not list it. */
  readonly rating: Pick<CitedSource, 'credibility' | 'why'> | null;
}

export interface RejectedSource {
  readonly address: string;
  /** `not_quoted`: it was fetched, and no accepted quote stands in it. */
  readonly reason: Extract<Rejection, { kind: 'not_fetched' | 'refused' }> | { readonly kind: 'not_quoted' };
}

export interface CheckedFinding {
  readonly finding: Finding;
  /** Empty: the finding is left out. */
  readonly accepted: readonly AcceptedEvidence[];
  readonly rejected: readonly RejectedEvidence[];
  /** Pages of the accepted evidence, each once by address and by content. */
  readonly sources: readonly CheckedSource[];
  /** Sources that the finding lists and the report does not cite. */
  readonly rejectedSources: readonly RejectedSource[];
}

/**
 * Checks the evidence of each finding. Addresses are compared in the form of `normalisedAddress`; the one that was asked for and the one
 * that answered both name a page. A page that was fetched several times counts with each of its texts, the newest first, and a
 * page that was fetched once is not refused because of another attempt. A quote of a passage that may be invisible is rejected with
 * `quote_unseen`. The details of a claim are looked for in all its accepted
 * quotes together: if one is missing, all of them are rejected with `detail_absent`, with `opposite` if the claim says the opposite of them, with `overstated` if it leaves out their reservation, and with `unsaid` if they say hardly a word of it.
 * @param log both lists oldest first
 * @param texts stored texts by digest; a page whose text is not among them counts as not fetched
 */
export function checkCitations(
  findings: readonly Finding[],
  log: FetchLog,
  texts: ReadonlyMap<string, string>,
): readonly CheckedFinding[] {
  const pages = pagesOf(log, texts);
  return findings.map((finding) => checkFinding(finding, pages));
}

/** True when no evidence of the finding was accepted, so that the report must not contain it. */
export function isLeftOut({ accepted }: CheckedFinding): boolean {
  return accepted.length === 0;
}

/**
 * The text with which a researcher is asked, once, to correct rejected evidence; `null` when none was rejected. It contains
 * text of the findings, which the researcher wrote, and none of the pages.
 */
export function correctionText(checked: readonly CheckedFinding[]): string | null {
  const lines = checked.flatMap(({ finding, rejected }) => {
    const faults = rejected.map(
      ({ quote, address, reason }) => `- "${shown(quote)}": ${rejectionText(reason, address)}`,
    );
    if (finding.evidence.length === 0) faults.push(`- ${NO_EVIDENCE} Quote a passage of a page that you fetched.`);
    return faults.length === 0 ? [] : [`Finding ${shown(finding.id)}: ${shown(finding.claim)}`, ...faults, ''];
  });
  if (lines.length === 0) return null;
  return [
    'The server compared your quotes with the pages that this run fetched and rejected these. Return the findings named here once more, corrected. Evidence that is rejected again is left out of the report.',
    '',
    ...lines,
  ]
    .join('\n')
    .trimEnd();
}

/** An entry of the list of what the report leaves out. */
export interface LeftOut {
  readonly finding: string;
  readonly claim: string;
  /** False when the finding is in the report and rests on other evidence. */
  readonly wholeFinding: boolean;
  readonly items: readonly {
    /** `null` for a source without a quote, and for a finding without evidence. */
    readonly quote: string | null;
    /** `null` for a finding without evidence. */
    readonly address: string | null;
    readonly kind: Rejection['kind'] | 'not_quoted' | 'no_evidence';
    /** Whole sentences. */
    readonly why: string;
  }[];
}

/** Everything that was rejected, by finding, for the appendix of the report. Texts are plain; the renderer escapes them. */
export function leftOutOf(checked: readonly CheckedFinding[]): readonly LeftOut[] {
  return checked.flatMap((each) => {
    const { finding, rejected, rejectedSources } = each;
    const items: LeftOut['items'] = [
      ...rejected.map(({ quote, address, reason }) => ({
        quote: shown(quote),
        address: shown(address),
        kind: reason.kind,
        why: reasonText(reason, address),
      })),
      ...rejectedSources.map(({ address, reason }) => ({
        quote: null,
        address: shown(address),
        kind: reason.kind,
        why: reasonText(reason, address),
      })),
      ...(finding.evidence.length > 0
        ? []
        : [{ quote: null, address: null, kind: 'no_evidence' as const, why: NO_EVIDENCE }]),
    ];
    if (items.length === 0) return [];
    return [{ finding: finding.id, claim: shown(finding.claim), wholeFinding: isLeftOut(each), items }];
  });
}

type Unfetched = Extract<Rejection, { kind: 'not_fetched' | 'refused' }>;

interface Pages {
  /** Fetched versions of the page at an address, the newest first. */
  readonly fetched: (address: string) => readonly FetchEntry[];
  readonly unfetched: (address: string) => Unfetched;
  readonly textOf: (page: FetchEntry) => PageText;
  /** The sentences of the page in which a quote stands, in the normalised form. */
  readonly around: (evidence: AcceptedEvidence) => readonly string[];
}

interface PageText {
  /** Without the passages that may be invisible. */
  readonly seen: NormalisedText;
  readonly whole: NormalisedText;
  readonly blocks: () => ReturnType<typeof blocksOf>;
}

/** Texts are normalised when they are first needed, each once. */
function pagesOf({ fetched, refused }: FetchLog, texts: ReadonlyMap<string, string>): Pages {
  const versions = new Map<string, FetchEntry[]>();
  for (const entry of fetched.toReversed()) {
    if (!isSuccess(entry) || !texts.has(entry.hash)) continue;
    for (const key of keysOf(entry)) versions.set(key, versions.get(key) ?? []);
    for (const key of keysOf(entry)) versions.get(key)?.push(entry);
  }
  const failures = fetched.filter((entry) => !isSuccess(entry));
  const refusals = new Map<string, Unfetched>();
  for (const { status, ...entry } of failures)
    for (const key of keysOf(entry))
      refusals.set(key, { kind: 'refused', status, why: `the server answered ${status}` });
  for (const { status, reason, ...entry } of refused)
    for (const key of keysOf(entry)) refusals.set(key, { kind: 'refused', status, why: reason });
  const prepared = new Map<string, PageText>();
  const textOf: Pages['textOf'] = ({ hash, address }) => {
    const key = `${isFile(address)} ${hash}`;
    const text = prepared.get(key) ?? pageText(texts.get(hash) ?? '', isFile(address));
    prepared.set(key, text);
    return text;
  };
  return {
    fetched: (address) => versions.get(normalisedAddress(address)) ?? [],
    unfetched: (address) => refusals.get(normalisedAddress(address)) ?? { kind: 'not_fetched' },
    textOf,
    around: ({ page, spans }) => {
      const { seen, blocks } = textOf(page);
      return sentencesAround(spans, seen, blocks());
    },
  };
}

/** Files of the project may use the marks of web pages for something else. */
function isFile(address: string): boolean {
  return address.startsWith('file:');
}

function pageText(text: string, ofFile: boolean): PageText {
  const seenWords = ofFile ? text : seenText(text);
  const whole = normalised(ofFile ? text : withoutMarks(text));
  const seen = seenWords === text ? whole : normalised(seenWords);
  let blocks: ReturnType<PageText['blocks']> | null = null;
  return { whole, seen, blocks: () => (blocks ??= blocksOf(seenWords, seen)) };
}

function isSuccess({ status }: FetchEntry): boolean {
  return status >= 200 && status < 300;
}

function keysOf({
  requested,
  address,
}: {
  readonly requested: string;
  readonly address: string | null;
}): ReadonlySet<string> {
  return new Set([requested, ...(address === null ? [] : [address])].map(normalisedAddress));
}

function checkFinding(finding: Finding, pages: Pages): CheckedFinding {
  const checked = finding.evidence.map((evidence) => checkEvidence(evidence, pages));
  const standing = checked.filter((each) => 'page' in each);
  const rejected = checked.filter((each) => 'reason' in each);
  const fault =
    standing.length === 0
      ? null
      : (faultOf(
          finding.claim,
          standing.map(({ quote }) => quote),
        ) ?? faultAround(finding.claim, standing.flatMap(pages.around)));
  const accepted = fault === null ? standing : [];
  return {
    finding,
    accepted,
    rejected:
      fault === null
        ? rejected
        : [...rejected, ...standing.map(({ quote, address }) => ({ quote, address, reason: fault }))],
    sources: sourcesOf(finding, accepted),
    rejectedSources: rejectedSourcesOf(finding, accepted, pages),
  };
}

/** True when nothing speaks against it that the quotes say the claim. */
export function sayClaim(quotes: readonly string[], claim: string): boolean {
  return faultOf(claim, quotes) === null;
}

/** Why quotes that stand in their pages do not say the claim; `null` when nothing speaks against it. */
function faultOf(claim: string, quotes: readonly string[]): Rejection | null {
  const missing = missingDetails(claim, quotes);
  if (missing.length > 0) return { kind: 'detail_absent', missing };
  const opposite = oppositeOf(claim, quotes);
  if (opposite !== null) return { kind: 'opposite', ...opposite };
  const overstated = overstatedIn(claim, quotes);
  if (overstated !== null) return { kind: 'overstated', ...overstated };
  const words = unsaidWords(claim, quotes);
  return words === null ? null : { kind: 'unsaid', words };
}

/** A denial or a reservation in the sentences around the quotes that the claim leaves out, such as `no evidence that` before a quote. */
function faultAround(claim: string, sentences: readonly string[]): Rejection | null {
  const compared = normalised(claim).normalised;
  const opposite = deniedIn(compared, sentences);
  if (opposite !== null) return { kind: 'opposite', isAround: true, ...opposite };
  const overstated = overstatedIn(compared, sentences);
  return overstated === null ? null : { kind: 'overstated', isAround: true, ...overstated };
}

function checkEvidence({ quote, address }: Evidence, pages: Pages): AcceptedEvidence | RejectedEvidence {
  const versions = pages.fetched(address);
  // The newest version tells why.
  let reason: Rejection | null = null;
  for (const page of versions) {
    const { seen, whole } = pages.textOf(page);
    const words = isFile(page.address) ? quote : withoutMarks(quote).trim();
    const found = findQuote(words, seen);
    if (found.stands) return { quote: words, address, page, spans: found.spans };
    if (seen !== whole && standsIn(words, whole)) reason ??= { kind: 'quote_unseen', part: quote };
    reason ??= { kind: found.why === 'too_short' ? 'quote_too_short' : 'quote_absent', part: found.part };
  }
  return { quote, address, reason: reason ?? pages.unfetched(address) };
}

function sourcesOf(finding: Finding, accepted: readonly AcceptedEvidence[]): readonly CheckedSource[] {
  return distinctSources(accepted.map(({ page }) => page)).map((page) => {
    const listed = finding.sources.find(({ address }) => keysOf(page).has(normalisedAddress(address)));
    return { page, rating: listed === undefined ? null : { credibility: listed.credibility, why: listed.why } };
  });
}

function rejectedSourcesOf(
  finding: Finding,
  accepted: readonly AcceptedEvidence[],
  pages: Pages,
): readonly RejectedSource[] {
  const quoted = new Set(accepted.flatMap(({ page }) => [...keysOf(page)]));
  return finding.sources.flatMap(({ address }): readonly RejectedSource[] => {
    if (quoted.has(normalisedAddress(address))) return [];
    const isFetched = pages.fetched(address).length > 0;
    return [{ address, reason: isFetched ? { kind: 'not_quoted' } : pages.unfetched(address) }];
  });
}

const NO_EVIDENCE = 'The finding has no evidence.';

/** The reason, and the way out. */
function rejectionText(reason: Rejection, address: string): string {
  const wayOut = {
    not_fetched: 'Fetch it and quote it, or quote a page that this run fetched.',
    refused: 'Quote another page.',
    quote_absent: 'Copy a passage of the page word for word.',
    quote_too_short: 'Quote a longer passage.',
    quote_unseen: 'Quote a passage that stands outside such marks, or another page.',
    detail_absent: 'Quote a passage that states this as well, or leave it out of the claim.',
    opposite: 'Say in the claim what the passage says.',
    overstated: 'Say it in the claim with the same reservation, or quote a passage that says it plainly.',
    unsaid: 'Quote a passage that says the claim, or say the claim in the words of the passage.',
  } satisfies Record<Rejection['kind'], string>;
  return `${reasonText(reason, address)} ${wayOut[reason.kind]}`;
}

function reasonText(reason: Rejection | RejectedSource['reason'], address: string): string {
  const page = `The page ${shown(address)}`;
  switch (reason.kind) {
    case 'not_fetched':
      return `${page} was not fetched in this run.`;
    case 'refused':
      return `${page} was refused (${reason.status === null ? 'no status' : `status ${reason.status}`}): ${shown(reason.why)}.`;
    case 'quote_absent':
      return `${page} does not contain "${shown(reason.part)}".`;
    case 'quote_too_short':
      return `"${shown(reason.part)}" is too short: a quote has at least ${SHORTEST_QUOTE.words} words and ${SHORTEST_QUOTE.characters} characters, and ${SHORTEST_PART_WORDS} words in each part between ellipses.`;
    case 'quote_unseen':
      return `"${shown(reason.part)}" stands in a passage that a reader of the page ${shown(address)} may not see (⸨ … ⸩).`;
    case 'detail_absent':
      return `The quotes do not state ${reason.missing.map(({ kind, text }) => `the ${kind} "${shown(text)}"`).join(', ')}.`;
    case 'opposite':
      return `The claim says "${shown(reason.claim)}", and ${reason.isAround ? 'the sentences of the page in which the quotes stand' : 'the quotes'} ${reason.passages === '' ? 'deny nothing' : `say "${shown(reason.passages)}"`}.`;
    case 'overstated':
      return reason.isAround
        ? `The sentence of the page in which a quote stands denies it or says it with a reservation: "${shown(reason.passages)}".`
        : `The quotes say it with a reservation: "${shown(reason.passages)}".`;
    case 'unsaid':
      return `The quotes do not say what the claim says: ${reason.words.map((word) => `"${shown(word)}"`).join(', ')}.`;
    case 'not_quoted':
      return `${page} was fetched, and no accepted quote stands in it.`;
    default:
      return reason satisfies never;
  }
}

/** Characters of a foreign text in a message. */
const LONGEST_SHOWN = 300;

/** One line of a foreign text, shortened. */
function shown(text: string): string {
  const line = text
    .slice(0, LONGEST_SHOWN * 4)
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return line.length <= LONGEST_SHOWN ? line : `${line.slice(0, LONGEST_SHOWN)}…`;
}
