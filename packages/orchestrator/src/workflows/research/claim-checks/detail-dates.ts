/**
 * Dates in the words of a claim or a passage. Pure. Month names are those of English, German, French, Spanish, Italian, Portuguese and
 * Dutch.
 */
import type { Word } from './detail-words.ts';

export interface CalendarDate {
  readonly year: number | null;
  readonly month: number | null;
  readonly day: number | null;
}

export interface DateFact {
  readonly text: string;
  /** Dates that it may be: `5/1/2024` is the first of May or the fifth of January. */
  readonly readings: readonly CalendarDate[];
  /**
   * Whether four digits are a number as well: behind a word such as "in" only when a unit follows (`of 1280 metres`), elsewhere perhaps
   * (`1500 people`).
   */
  readonly asNumber: 'never' | 'with_unit' | 'perhaps';
  /** Index of its first word, and that behind its last one. */
  readonly from: number;
  readonly to: number;
}

/** All dates of a text, in order: `2024-05-01`, `1.5.2024`, `May 1, 2024`, `1st of May 2024`, `May 2024`, `1 May`, `2024`, `2019-2023`, `2024年5月1日`. */
export function datesIn(words: readonly Word[]): readonly DateFact[] {
  const found: DateFact[] = [];
  for (let at = 0; at < words.length;) {
    const date = numericDateAt(words, at) ?? markedDateAt(words, at) ?? namedDateAt(words, at);
    const here = date === null ? yearsAt(words, at) : [date];
    found.push(...here);
    at = here[0]?.to ?? at + 1;
  }
  return found;
}

const MONTHS: ReadonlyMap<string, number> = new Map(
  [
    'january jan januar janvier enero gennaio janeiro januari',
    'february feb februar février febrero febbraio fevereiro februari',
    'march mar märz mars marzo março maart',
    'april apr avril abril aprile',
    'may mai mayo maggio maio mei',
    'june jun juni juin junio giugno junho',
    'july jul juli juillet julio luglio julho',
    'august aug août agosto augustus',
    'september sep sept septembre septiembre settembre setembro',
    'october oct oktober octobre octubre ottobre outubro',
    'november nov novembre noviembre novembro',
    'december dec dezember décembre diciembre dicembre dezembro',
  ]
    .join()
    .split(',')
    .flatMap((names, index) => names.split(' ').map((name) => [name, index + 1] as const)),
);

function numericDateAt(words: readonly Word[], at: number): DateFact | null {
  const text = words[at]?.text ?? '';
  const [, year, month, day] = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:T[\d:]+Z?)?$/.exec(text) ?? [];
  const [, first, second, last] = /^(\d{1,2})[./](\d{1,2})[./](\d{4})$/.exec(text) ?? [];
  const readings = [
    { year: Number(year), month: Number(month), day: Number(day) },
    { year: Number(last), month: Number(second), day: Number(first) },
    { year: Number(last), month: Number(first), day: Number(second) },
  ].filter((date) => isMonth(date.month) && isDay(date.day));
  return readings.length === 0 ? null : { text, readings, asNumber: 'never', from: at, to: at + 1 };
}

/** `2024年5月1日`, `2024년 5월`, `5月1日`. */
function markedDateAt(words: readonly Word[], at: number): DateFact | null {
  const marked = (index: number, marks: RegExp): number | null =>
    /^\d{1,4}$/.test(words[index]?.text ?? '') && marks.test(words[index + 1]?.text ?? '')
      ? Number(words[index]?.text)
      : null;
  const year = marked(at, /^[年년]/);
  const monthAt = year === null ? at : at + 2;
  const month = marked(monthAt, /^[月월]/);
  const day = month === null ? null : marked(monthAt + 2, /^[日일]/);
  if ((year === null && day === null) || (month !== null && !isMonth(month))) return null;
  // The word behind the last figure may be the rest of a sentence.
  const to = (day === null ? (month === null ? at : monthAt) : monthAt + 2) + 1;
  return { text: textOf(words, at, to), readings: [{ year, month, day }], asNumber: 'never', from: at, to };
}

/** `May 1, 2024`, `May 2024`, `May 1`, `1 May 2024`, `1st of May`. A month alone is a name. */
function namedDateAt(words: readonly Word[], at: number): DateFact | null {
  const dayBefore = dayOf(words[at]);
  const monthAt = dayBefore === null ? at : at + (/^(?:of|de)$/.test(words[at + 1]?.text ?? '') ? 2 : 1);
  const month = monthOf(words[monthAt], dayBefore !== null);
  if (month === null || (monthAt > at && !isClose(words[monthAt]))) return null;
  const next = words[monthAt + 1];
  const dayBehind = dayBefore === null && isClose(next) ? dayOf(next) : null;
  const day = dayBefore ?? dayBehind;
  const behind = dayBehind === null ? monthAt + 1 : monthAt + 2;
  const yearAt = words[behind]?.text === 'de' ? behind + 1 : behind;
  const year = isClose(words[yearAt]) ? yearOf(words[yearAt]?.text ?? '') : null;
  if (day === null && year === null) return null;
  const to = year === null ? behind : yearAt + 1;
  return { text: textOf(words, at, to), readings: [{ year, month, day }], asNumber: 'never', from: at, to };
}

/** Words before a year. */
const BEFORE_YEAR: ReadonlySet<string> = new Set(
  'in since by until till of from during before after late early mid around circa year to and between seit bis von um im ab en depuis desde'.split(
    ' ',
  ),
);

/** One year, or the two of a range: `2019-2023`, `2019-23`. */
function yearsAt(words: readonly Word[], at: number): readonly DateFact[] {
  const word = words[at];
  const text = word?.text ?? '';
  const [, first = '', second = ''] = /^(?:mid-)?(\d{4})(?:[-/](\d{4}|\d{2}))?$/.exec(text) ?? [];
  const years = [yearOf(first), second === '' ? null : yearOf(first.slice(0, 4 - second.length) + second)];
  if (years[0] === null || (second !== '' && years[1] === null)) return [];
  if (/[$€£¥₹] ?$/u.test(word?.gap ?? '') || /^ ?[%‰°€$£]/u.test(word?.after ?? '')) return [];
  const behindWord = BEFORE_YEAR.has(words[at - 1]?.text.toLowerCase() ?? '') ? 'with_unit' : 'perhaps';
  const asNumber = second === '' ? behindWord : 'never';
  return years.flatMap((year) =>
    year === null ? [] : [{ text, readings: [{ year, month: null, day: null }], asNumber, from: at, to: at + 1 }],
  );
}

/** Years from 1000 to 2199. */
function yearOf(text: string): number | null {
  return /^(?:1\d|2[01])\d\d$/.test(text) ? Number(text) : null;
}

/** @param isBehindDay then it may be written small, as French and Spanish do: `5 mars` */
function monthOf(word: Word | undefined, isBehindDay: boolean): number | null {
  const text = word?.text ?? '';
  return isBehindDay || /^\p{Lu}/u.test(text) ? (MONTHS.get(text.toLowerCase()) ?? null) : null;
}

function dayOf(word: Word | undefined): number | null {
  const [, day] = /^(\d{1,2})(?:st|nd|rd|th)?$/.exec(word?.text ?? '') ?? [];
  return isDay(Number(day)) ? Number(day) : null;
}

function isMonth(month: number): boolean {
  return month >= 1 && month <= 12;
}

function isDay(day: number): boolean {
  return day >= 1 && day <= 31;
}

function isClose(word: Word | undefined): boolean {
  return word !== undefined && /^[.,]? $/.test(word.gap);
}

function textOf(words: readonly Word[], from: number, to: number): string {
  return words
    .slice(from, to)
    .map((word, index) => (index === 0 ? '' : word.gap) + word.text)
    .join('');
}
