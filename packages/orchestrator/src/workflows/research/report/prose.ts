/** Checks the sentences of an agent's report: each one that says something of the world has to rest on findings. Pure. */
import { type Detail, missingDetails, missingIn } from '../claim-checks/claim-details.ts';
import { readable } from '../claim-checks/normalised-text.ts';
import { turnedIn } from '../claim-checks/opposites.ts';
import { standsIn } from '../claim-checks/passages.ts';
import { overstatedIn } from '../claim-checks/reservations.ts';
import { isForeignTo } from '../claim-checks/unsaid-words.ts';
import { citedIn, withoutCitations } from './report-texts.ts';
import { addressesIn } from '../../../documents/latex/prose.ts';
import { normalisedAddress } from '../claim-checks/addresses.ts';
import type { Finding, ReportUpdate } from '../types.ts';

export interface Supported {
  readonly update: ReportUpdate;
  /** Sentences that were left out. */
  readonly unsupported: readonly string[];
}

/**
 * Leaves out of an update what no finding supports: a sentence that names an unknown finding, one with a number or date that stands
 * in none of the findings that it names, one that says the opposite of them, leaves out their reservation or has no word of them, one
 * with a quotation or a name that stands in no finding at all, and one with an address that no finding rests on. Positions of
 * conflicts and lists of findings keep known ids only. A text of which nothing is left is no change.
 * @param about the topic and the request, of which names may be taken as well
 */
export function supported(update: ReportUpdate, findings: readonly Finding[], about: string): Supported {
  const known: Known = {
    findings: new Map(findings.map((finding) => [finding.id, finding])),
    missingNames: missingIn([about, ...findings.flatMap(passagesOf)]),
    addresses: new Set(findings.flatMap(({ evidence }) => evidence.map(({ address }) => normalisedAddress(address)))),
  };
  const unsupported: string[] = [];
  const all = findings.flatMap(passagesOf);
  const titled = (title: string, otherwise: string): string => {
    const text = withoutUnknownAddresses(title, known);
    if (text !== '' && hasDetails(text, all, known)) return text;
    unsupported.push(title);
    return otherwise;
  };
  const rewritten = (text: string | undefined): string | undefined => {
    const kept = text === undefined ? undefined : checked(text);
    return kept === '' && text !== '' ? undefined : kept;
  };
  const checked = (text: string): string => {
    const { kept, left } = checkedProse(text, known);
    unsupported.push(...left);
    return kept;
  };
  const knownIds = (ids: readonly string[]) => ids.filter((id) => known.findings.has(id));
  const { executiveSummary, background, analysis } = update;
  return {
    update: {
      ...update,
      executiveSummary: rewritten(executiveSummary),
      background: rewritten(background),
      analysis: rewritten(analysis),
      themes: update.themes.map((theme) => ({
        ...theme,
        title: titled(theme.title, 'Findings'),
        text: checked(theme.text),
        findings: knownIds(theme.findings),
      })),
      conflicts: update.conflicts.flatMap((conflict) => {
        const positions = conflict.positions.flatMap(({ text, findings: ids }) => {
          const named = knownIds(ids);
          if (named.length > 0 && isSupported(text, named, known)) return [{ text, findings: named }];
          unsupported.push(text);
          return [];
        });
        const resolution = conflict.resolution === null ? null : checked(conflict.resolution);
        return positions.length < 2
          ? []
          : [
              {
                ...conflict,
                about: titled(conflict.about, 'The sources differ'),
                positions,
                resolution: resolution === '' ? null : resolution,
              },
            ];
      }),
      openQuestions: update.openQuestions.filter((question) => {
        if (unknownAddresses(question, known).length === 0) return true;
        unsupported.push(question);
        return false;
      }),
    },
    unsupported,
  };
}

/**
 * Sentences of a text that name findings for a number, date or quotation that those do not have. What a sentence says beside that may
 * follow from them, and is its author's.
 */
export function miscitedIn(text: string, findings: readonly Finding[]): readonly string[] {
  const byId = new Map(findings.map((finding) => [finding.id, finding]));
  return text.split('\n').flatMap((line) =>
    sentencesOf(line).filter((sentence) => {
      const cited = citedIn(sentence).flatMap((id) => byId.get(id) ?? []);
      const plain = withoutCitations(sentence);
      const passages = cited.flatMap(passagesOf);
      return (
        cited.length > 0 &&
        (missingDetails(plain, passages).some(({ kind, text }) => kind !== 'name' && isFigure(text)) ||
          quotationsIn(plain).some((quote) => !isQuoted(quote, passages)))
      );
    }),
  );
}

interface Known {
  readonly findings: ReadonlyMap<string, Finding>;
  /** Names of a sentence that stand in no finding. */
  readonly missingNames: (sentence: string) => readonly Detail[];
  /** Of the passages, in the form in which addresses are compared. */
  readonly addresses: ReadonlySet<string>;
}

function passagesOf({ claim, evidence }: Finding): readonly string[] {
  return [claim, ...evidence.map(({ quote }) => quote)];
}

function checkedProse(text: string, known: Known): { readonly kept: string; readonly left: readonly string[] } {
  const left: string[] = [];
  const lines = text.split('\n').map((line) => {
    const mark = /^\s*- /.exec(line)?.[0] ?? '';
    const sentences = sentencesOf(line.slice(mark.length));
    const kept = sentences.filter((sentence) => {
      const ids = citedIn(sentence);
      const stands = ids.every((id) => known.findings.has(id)) && isSupported(sentence, ids, known);
      if (!stands) left.push(sentence.trim());
      return stands;
    });
    if (sentences.length > 0 && kept.length === 0) return null;
    return `${mark}${kept.join('').trimEnd()}`;
  });
  const kept = lines.filter((line) => line !== null).join('\n');
  return { kept: kept.replaceAll(/\n{3,}/g, '\n\n').trim(), left };
}

/** Does everything of a sentence that can be looked up stand in findings? */
function isSupported(sentence: string, ids: readonly string[], known: Known): boolean {
  const passages = ids.flatMap((id) => {
    const finding = known.findings.get(id);
    return finding === undefined ? [] : passagesOf(finding);
  });
  if (unknownAddresses(sentence, known).length > 0) return false;
  const plain = addressesIn(sentence).reduce(
    (text, address) => text.replaceAll(address, ' '),
    withoutCitations(sentence),
  );
  const quotable = ids.length > 0 ? passages : [...known.findings.values()].flatMap(passagesOf);
  if (!hasDetails(plain, passages, known) || !quotationsIn(plain).every((quote) => isQuoted(quote, quotable)))
    return false;
  if (ids.length === 0) return true;
  // A quote may leave out the reservation that its claim has.
  const claims = ids.flatMap((id) => known.findings.get(id)?.claim ?? []);
  return !(
    turnedIn(plain, passages) ??
    overstatedIn(plain, passages) ??
    overstatedIn(plain, claims) ??
    isForeignTo(plain, passages)
  );
}

function hasDetails(plain: string, passages: readonly string[], known: Known): boolean {
  return (
    missingDetails(plain, passages).every(({ kind, text }) => kind === 'name' || !isFigure(text)) &&
    known.missingNames(plain).every(({ kind }) => kind !== 'name')
  );
}

/** Quotations of so many words that they are no mere term. */
function quotationsIn(sentence: string): readonly string[] {
  return [...readable(sentence).matchAll(/"([^"]{1,2000})"/g)]
    .map(([, quote = '']) => quote.trim())
    .filter((quote) => quote.split(' ').length >= LEAST_QUOTED);
}

const LEAST_QUOTED = 4;

function isQuoted(quote: string, passages: readonly string[]): boolean {
  return passages.some((passage) => standsIn(quote, passage) || readable(passage).includes(quote));
}

/** Addresses of the web that no finding rests on. */
function unknownAddresses(text: string, { addresses }: Known): readonly string[] {
  return addressesIn(text).filter((address) => !addresses.has(normalisedAddress(address)));
}

function withoutUnknownAddresses(title: string, known: Known): string {
  const text = unknownAddresses(title, known).reduce((rest, address) => rest.replaceAll(address, ''), title);
  return text.replaceAll(/ {2,}/g, ' ').trim();
}

/** "Two paragraphs" and "one of them" count no things of the world. */
function isFigure(text: string): boolean {
  return /\d|hundred|thousand|[mbr]illion|dozen|eleven|twelve|teen\b|[nrxf]ty\b|ghty\b|(?<!zwei|drei|vier|fünf)zehn|elf\b|zwölf/i.test(
    text,
  );
}

/** Behind a sentence that names no finding. */
export const OWN_WORDS = '†';

/** A text of the report with a mark behind each sentence that names no finding: it is what the agent says, and no source. */
export function withOwnWordsMarked(text: string): string {
  let isCode = false;
  return text
    .split('\n')
    .map((line) => {
      if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
      if (isCode || /^\s*(?:```|~~~|#|\|)/.test(line)) return line;
      const mark = /^\s*- /.exec(line)?.[0] ?? '';
      return mark + sentencesOf(line.slice(mark.length)).map(marked).join('');
    })
    .join('\n');
}

function marked(sentence: string): string {
  const text = sentence.trimEnd();
  if (citedIn(text).length > 0 || !/\p{L}{2}/u.test(text) || text.endsWith(':') || text.endsWith(OWN_WORDS))
    return sentence;
  return `${text}${OWN_WORDS}${sentence.slice(text.length)}`;
}

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'sentence' });

/** Sentences with what separates them. Citations behind a full stop belong to the sentence before it. */
function sentencesOf(text: string): readonly string[] {
  const cited = text.replaceAll(/([.!?])[ \t]?((?:\[F[\dF,; ]{1,400}\][ \t]?){0,19}\[F[\dF,; ]{1,400}\])/g, ' $2$1');
  return [...SEGMENTER.segment(cited)].map(({ segment }) => segment);
}
