/** Checks the sentences of an agent's report: each one that says something of the world has to rest on findings. Pure. */
import { missingDetails } from './claim-details.ts';
import { citedIn } from './report-texts.ts';
import type { Finding, ReportUpdate } from './types.ts';

export interface Supported {
  readonly update: ReportUpdate;
  /** Sentences that were left out. */
  readonly unsupported: readonly string[];
}

/**
 * Leaves out of an update what no finding supports: a sentence that names an unknown finding, and one with a number or date that
 * stands in none of the findings that it names. Positions of conflicts and lists of findings keep known ids only.
 */
export function supported(update: ReportUpdate, findings: readonly Finding[]): Supported {
  const known = new Map(findings.map((finding) => [finding.id, finding]));
  const unsupported: string[] = [];
  const checked = (text: string): string => {
    const { kept, left } = checkedProse(text, known);
    unsupported.push(...left);
    return kept;
  };
  const knownIds = (ids: readonly string[]) => ids.filter((id) => known.has(id));
  const { executiveSummary, background, analysis } = update;
  return {
    update: {
      ...update,
      ...(executiveSummary === undefined ? {} : { executiveSummary: checked(executiveSummary) }),
      ...(background === undefined ? {} : { background: checked(background) }),
      ...(analysis === undefined ? {} : { analysis: checked(analysis) }),
      themes: update.themes.map((theme) => ({
        ...theme,
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
          : [{ ...conflict, positions, resolution: resolution === '' ? null : resolution }];
      }),
    },
    unsupported,
  };
}

function checkedProse(
  text: string,
  known: ReadonlyMap<string, Finding>,
): { readonly kept: string; readonly left: readonly string[] } {
  const left: string[] = [];
  const lines = text.split('\n').map((line) => {
    const mark = /^\s*- /.exec(line)?.[0] ?? '';
    const sentences = sentencesOf(line.slice(mark.length));
    const kept = sentences.filter((sentence) => {
      const ids = citedIn(sentence);
      const stands = ids.every((id) => known.has(id)) && isSupported(sentence, ids, known);
      if (!stands) left.push(sentence.trim());
      return stands;
    });
    if (sentences.length > 0 && kept.length === 0) return null;
    return `${mark}${kept.join('').trimEnd()}`;
  });
  const kept = lines.filter((line) => line !== null).join('\n');
  return { kept: kept.replaceAll(/\n{3,}/g, '\n\n').trim(), left };
}

/** Stand the numbers and dates of a sentence in the findings that it names? */
function isSupported(sentence: string, ids: readonly string[], known: ReadonlyMap<string, Finding>): boolean {
  const passages = ids.flatMap((id) => {
    const finding = known.get(id);
    return finding === undefined ? [] : [finding.claim, ...finding.evidence.map(({ quote }) => quote)];
  });
  const plain = sentence.replaceAll(/\[F\d{1,5}\]/g, ' ');
  // "Two paragraphs" and "one of them" count no things of the world.
  return missingDetails(plain, passages).every(({ kind, text }) => kind === 'name' || !/\d/.test(text));
}

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'sentence' });

/** Sentences with what separates them. Citations behind a full stop belong to the sentence before it. */
function sentencesOf(text: string): readonly string[] {
  const cited = text.replaceAll(/([.!?])[ \t]?((?:\[F\d{1,5}\][ \t]?){0,19}\[F\d{1,5}\])/g, ' $2$1');
  return [...SEGMENTER.segment(cited)].map(({ segment }) => segment);
}
