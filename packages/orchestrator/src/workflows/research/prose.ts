/** Checks the sentences of an agent's report: each one that says something of the world has to rest on findings. Pure. */
import { type Detail, missingDetails, missingIn } from './claim-details.ts';
import { citedIn, withoutCitations } from './report-texts.ts';
import { addressesIn } from '../../artifacts/latex/prose.ts';
import { normalisedAddress } from './addresses.ts';
import type { Finding, ReportUpdate } from './types.ts';

export interface Supported {
  readonly update: ReportUpdate;
  /** Sentences that were left out. */
  readonly unsupported: readonly string[];
}

/**
 * Leaves out of an update what no finding supports: a sentence that names an unknown finding, one with a number or date that stands
 * in none of the findings that it names, one with a name that stands in no finding at all, and one with an address that no finding
 * rests on. Positions of conflicts and lists of findings keep known ids only.
 * @param about the topic and the request, of which names may be taken as well
 */
export function supported(update: ReportUpdate, findings: readonly Finding[], about: string): Supported {
  const known: Known = {
    findings: new Map(findings.map((finding) => [finding.id, finding])),
    missingNames: missingIn([about, ...findings.flatMap(passagesOf)]),
    addresses: new Set(findings.flatMap(({ evidence }) => evidence.map(({ address }) => normalisedAddress(address)))),
  };
  const unsupported: string[] = [];
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
      ...(executiveSummary === undefined ? {} : { executiveSummary: checked(executiveSummary) }),
      ...(background === undefined ? {} : { background: checked(background) }),
      ...(analysis === undefined ? {} : { analysis: checked(analysis) }),
      themes: update.themes.map((theme) => ({
        ...theme,
        title: withoutUnknownAddresses(theme.title, known),
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
                about: withoutUnknownAddresses(conflict.about, known),
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
  return (
    missingDetails(plain, passages).every(({ kind, text }) => kind === 'name' || !isFigure(text)) &&
    known.missingNames(plain).every(({ kind }) => kind !== 'name')
  );
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
  return /\d|hundred|thousand|[mbr]illion|dozen/i.test(text);
}

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'sentence' });

/** Sentences with what separates them. Citations behind a full stop belong to the sentence before it. */
function sentencesOf(text: string): readonly string[] {
  const cited = text.replaceAll(/([.!?])[ \t]?((?:\[F[\dF,; ]{1,400}\][ \t]?){0,19}\[F[\dF,; ]{1,400}\])/g, ' $2$1');
  return [...SEGMENTER.segment(cited)].map(({ segment }) => segment);
}
