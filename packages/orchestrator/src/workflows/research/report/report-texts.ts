/**
 * The texts of a report that an agent writes: how the update of a round changes them, which sentences no finding supports, and what
 * of them the agent is shown in the next round. Pure.
 */
import type { Conflict, Direction, Finding, ReportTexts, ReportUpdate, ResearchContext, Theme } from '../types.ts';

/** Characters of each text. */
export const LONGEST_TEXTS = { executiveSummary: 6_000, background: 4_000, theme: 3_000, analysis: 6_000 } as const;
export const MOST_THEMES = 12;
export const MOST_OPEN_QUESTIONS = 15;
export const MOST_CONFLICTS = 40;

export const NO_TEXTS: ReportTexts = {
  executiveSummary: '',
  background: '',
  themes: [],
  analysis: '',
  conflicts: [],
  openQuestions: [],
};

/** Title of the theme for findings that the agent gave no place. */
const REST = 'Further findings';

/**
 * Works the update of a round into the texts. Each new finding gets a place: it is in the list of one theme at least.
 * @param fresh ids of the round's new findings
 */
export function updated(texts: ReportTexts, update: ReportUpdate, fresh: readonly string[]): ReportTexts {
  const placed = new Set(update.themes.flatMap(({ findings }) => findings));
  const homeless = fresh.filter((id) => !placed.has(id));
  const themes = update.themes.reduce(withTheme, texts.themes);
  return {
    executiveSummary: update.executiveSummary ?? texts.executiveSummary,
    background: update.background ?? texts.background,
    themes: homeless.length === 0 ? themes : withRest(themes, homeless),
    analysis: update.analysis ?? texts.analysis,
    conflicts: update.conflicts.reduce(withConflict, texts.conflicts),
    openQuestions: update.openQuestions,
  };
}

function withTheme(
  themes: readonly Theme[],
  { id, title, text, findings }: ReportUpdate['themes'][number],
): readonly Theme[] {
  const old = themes.find((theme) => theme.id === id);
  if (old !== undefined)
    return themes.map((theme) =>
      // A text of which nothing was supported leaves the one before it.
      theme === old
        ? { id: old.id, title, text: text === '' ? old.text : text, findings: union(old.findings, findings) }
        : theme,
    );
  const last = themes.at(-1);
  // No room for one more: it goes on in the last one.
  if (themes.length >= MOST_THEMES && last !== undefined)
    return [...themes.slice(0, -1), { ...last, findings: union(last.findings, findings) }];
  return [...themes, { id: nextId('T', themes), title, text, findings: union([], findings) }];
}

function withRest(themes: readonly Theme[], homeless: readonly string[]): readonly Theme[] {
  const rest = themes.find(({ title }) => title === REST);
  return withTheme(themes, { id: rest?.id ?? null, title: REST, text: rest?.text ?? '', findings: homeless });
}

function withConflict(
  conflicts: readonly Conflict[],
  { id, ...conflict }: ReportUpdate['conflicts'][number],
): readonly Conflict[] {
  if (conflicts.some((known) => known.id === id))
    return conflicts.map((known) => (known.id === id ? { ...conflict, id: known.id } : known));
  if (conflicts.length >= MOST_CONFLICTS) return conflicts;
  return [...conflicts, { ...conflict, id: nextId('C', conflicts) }];
}

function nextId(letter: string, known: readonly { readonly id: string }[]): string {
  const numbers = known.map(({ id }) => Number(id.slice(1)));
  return `${letter}${Math.max(0, ...numbers) + 1}`;
}

const union = (one: readonly string[], other: readonly string[]): readonly string[] => [...new Set([...one, ...other])];

/** `[F3]`, `[F3, F7]` and `[F3; F7]`, as the report reads them. */
const CITATION = /\[F\d{1,7}(?: ?[,;] ?F\d{1,7}){0,50}\]/g;

/** Ids of findings that a text names, in their order. */
export function citedIn(text: string): readonly string[] {
  return [...new Set((text.match(CITATION) ?? []).flatMap((citation) => citation.match(/F\d+/g) ?? []))];
}

/** A text of somebody who cannot know the ids of findings, without what looks like a citation of one. */
export function withoutCitations(text: string): string {
  return text
    .replaceAll(CITATION, '')
    .replaceAll(/ {2,}/g, ' ')
    .replaceAll(/ (?=[.,;:!?])/g, '')
    .trim();
}

/** Words by which texts are compared: those of at least five letters, in lower case. */
function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/\p{L}{5,40}/gu) ?? []);
}

/** Themes that a round shows whole. */
const SHOWN_THEMES = 3;

/** Themes that new findings touch, by common words, the nearest first. */
export function touchedBy(themes: readonly Theme[], claims: readonly string[]): readonly Theme[] {
  const asked = wordsOf(claims.join(' '));
  return themes
    .map((theme) => ({
      theme,
      common: [...wordsOf(`${theme.title} ${theme.text}`)].filter((word) => asked.has(word)).length,
    }))
    .filter(({ common }) => common > 1)
    .sort((one, other) => other.common - one.common)
    .slice(0, SHOWN_THEMES)
    .map(({ theme }) => theme);
}

/**
 * What the synthesiser is shown of the report: the outline, the open questions and the executive summary, then the themes that the
 * findings touch and the other texts as far as there is room. At most `LONGEST_SHOWN` characters, however long the report is.
 * @param wanted texts that are to be worked on in any case: `analysis` where sources contradict each other, `all` in the last round
 */
export function shownReport(
  texts: ReportTexts,
  fresh: readonly Finding[],
  wanted: 'touched' | 'analysis' | 'all' = 'touched',
): string {
  const claims = fresh.map(({ claim }) => claim);
  const outline = texts.themes.map(
    ({ id, title, text, findings }) =>
      `${id} ${title} (findings: ${findings.length}): ${firstOf(text, FIRST_OF_THEME)}`,
  );
  const conflicts = texts.conflicts.map(
    ({ id, about, resolution }) => `${id} ${about}: ${resolution === null ? 'open' : 'resolved'}`,
  );
  const analysis = { place: 4, title: 'Analysis', whole: texts.analysis, short: firstOf(texts.analysis) };
  const background = { place: 3, title: 'Background', whole: texts.background, short: firstOf(texts.background) };
  const isWhole = { analysis: wanted !== 'touched', background: wanted === 'all' };
  const touched = touchedBy(texts.themes, claims).map(({ id, title, text }) => ({
    place: 5,
    title: `${id} ${title}`,
    whole: text,
  }));
  const parts: readonly ShownPart[] = [
    { place: 1, title: 'Outline of the themes', whole: outline.join('\n') },
    { place: 7, title: 'Open questions', whole: texts.openQuestions.map((question) => `- ${question}`).join('\n') },
    { place: 2, title: 'Executive summary', whole: texts.executiveSummary },
    {
      place: 6,
      title: 'Conflicts',
      whole: conflicts.slice(-SHOWN_CONFLICTS).join('\n'),
      short: conflicts.slice(-SHOWN_CONFLICTS / 3).join('\n'),
    },
    ...(isWhole.analysis ? [] : [shortened(analysis)]),
    ...(isWhole.background ? [analysis, background] : [shortened(background)]),
    ...touched,
    ...(isWhole.analysis && !isWhole.background ? [analysis] : []),
  ];
  return withinRoom(parts)
    .sort((one, other) => one.place - other.place)
    .map(({ title, whole }) => `${title}:\n${whole}`)
    .join('\n\n');
}

interface ShownPart {
  /** Parts are shown in the order of their places, and get room in the order in which they are given. */
  readonly place: number;
  readonly title: string;
  readonly whole: string;
  /** Shown where there is no room for the whole. Absent: the part is left out then. */
  readonly short?: string;
}

const shortened = (part: Required<ShownPart>): ShownPart => ({ ...part, whole: part.short });

/** Characters of the report that the synthesiser is shown at most. */
export const LONGEST_SHOWN = 16_000;
const SHOWN_CONFLICTS = 12;
const FIRST = 240;
const FIRST_OF_THEME = 120;

function withinRoom(parts: readonly ShownPart[]): ShownPart[] {
  let room = LONGEST_SHOWN;
  return parts.flatMap((part) => {
    const { title, whole, short = '' } = part;
    const text = [whole, short].find((each) => each.length + title.length + 4 <= room) ?? '';
    if (text === '') return [];
    room -= text.length + title.length + 4;
    return [{ ...part, whole: text }];
  });
}

const firstOf = (text: string, most: number = FIRST): string =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()} […]`;

/** New findings as the synthesiser sees them. */
export function shownFindings(fresh: readonly Finding[]): string {
  return fresh
    .map(({ id, claim, confidence, evidence, sources }) =>
      [
        `[${id}] ${claim} (confidence: ${confidence})`,
        ...evidence.map(({ quote, address }) => `  "${quote.slice(0, 400).toWellFormed()}" (${address})`),
        ...sources.map(({ address, credibility, why }) => `  Source, credibility ${credibility}: ${address}: ${why}`),
      ].join('\n'),
    )
    .join('\n');
}

/** The questions of the next round, one for each agent; the request itself where the synthesiser named too few. */
export function directionsOf(
  { input, hasCode, request }: Pick<ResearchContext, 'input' | 'hasCode' | 'request'>,
  proposed: readonly Direction[],
): readonly Direction[] {
  const wanted = { web: input.researchers, repository: hasCode ? input.analysts : 0 } as const;
  return (['web', 'repository'] as const).flatMap((kind) => {
    const found = proposed.filter((direction) => direction.kind === kind).slice(0, wanted[kind]);
    if (found.length > 0 || wanted[kind] === 0) return found;
    return [{ kind, question: request.slice(0, 600).toWellFormed() }];
  });
}
