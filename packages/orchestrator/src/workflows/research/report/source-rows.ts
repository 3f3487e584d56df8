/** Rows of a run's table of sources: pages that were read, files that findings quote, and what could not be read. Pure. */
import type { ProjectedText, WorkflowEvent } from '@autonomous/shared';
import { normalisedAddress } from '../claim-checks/addresses.ts';
import { findingsOf, sourcesOf, unreadSourcesOf } from '../kept-findings.ts';
import { leadsTo, shortened } from '../../parts/projected-text.ts';
import type { Finding, Source } from '../types.ts';

const LONGEST_ADDRESS = 300;
/** As many as tell stored texts apart. */
const HASH_CHARACTERS = 8;
const NOTHING: ProjectedText = { text: '–', tone: 'quiet' };

/** Most quoted first, then in the order in which they were read; what could not be read is last. */
export function sourceRows(events: readonly WorkflowEvent[]): readonly (readonly ProjectedText[])[] {
  const findings = findingsOf(events);
  const cited = citationsIn(findings);
  const read = new Map(
    sourcesOf(events).map((source) => [`${normalisedAddress(source.address)} ${source.hash}`, source]),
  );
  const known = new Set(
    [...read.values()].flatMap(({ requested, address }) => [requested, address].map(normalisedAddress)),
  );
  const refused = new Map(unreadSourcesOf(events).map((source) => [normalisedAddress(source.address), source]));
  const files = [...cited.values()].filter(({ address }) => !known.has(normalisedAddress(address)));
  const rows = [
    ...[...read.values()].map(({ title, address, requested, at, hash, author, published }) => ({
      quoted: cited.get(normalisedAddress(address)) ?? cited.get(normalisedAddress(requested)),
      cells: (quoted: Citation | undefined): readonly ProjectedText[] => [
        named(title, address, [author, published]),
        { text: 'Read', tone: 'good' },
        quotedBy(quoted),
        credibilityOf(quoted),
        { text: '', at },
        hash === null ? NOTHING : { text: hash.slice(0, HASH_CHARACTERS) },
      ],
    })),
    ...files.map((citation) => ({
      quoted: citation,
      cells: (): readonly ProjectedText[] => [
        named('', citation.address, []),
        { text: 'File of the project' },
        quotedBy(citation),
        credibilityOf(citation),
        NOTHING,
        { text: citation.hash.slice(0, HASH_CHARACTERS) },
      ],
    })),
  ].toSorted((one, other) => (other.quoted?.findings.size ?? 0) - (one.quoted?.findings.size ?? 0));
  return [
    ...rows.map(({ quoted, cells }) => cells(quoted)),
    ...[...refused.values()].map(({ address, at, reason }): readonly ProjectedText[] => [
      named('', address, []),
      { text: 'Not read', note: shortened(reason), tone: 'bad' },
      NOTHING,
      NOTHING,
      { text: '', at },
      NOTHING,
    ]),
  ];
}

interface Citation {
  readonly address: string;
  readonly hash: string;
  readonly findings: Set<string>;
  readonly ratings: Source[];
}

/** By normalised address. */
function citationsIn(findings: readonly Finding[]): ReadonlyMap<string, Citation> {
  const cited = new Map<string, Citation>();
  for (const { id, evidence, sources } of findings) {
    for (const { address, hash } of evidence) {
      const key = normalisedAddress(address);
      const citation = cited.get(key) ?? { address, hash, findings: new Set(), ratings: [] };
      cited.set(key, citation);
      citation.findings.add(id);
    }
    for (const source of sources) cited.get(normalisedAddress(source.address))?.ratings.push(source);
  }
  return cited;
}

function named(title: string, address: string, more: readonly (string | null)[]): ProjectedText {
  const shown = shortened(address, LONGEST_ADDRESS);
  const details = more.filter((text) => text !== null).map((text) => shortened(text));
  if (title.trim() === '') return { text: shown, ...leadsTo(address) };
  return { text: shortened(title), note: [shown, ...details].join(' · '), ...leadsTo(address) };
}

function quotedBy(citation: Citation | undefined): ProjectedText {
  if (citation === undefined) return { text: 'no finding', tone: 'quiet' };
  const ids = [...citation.findings];
  return { text: ids.length === 1 ? '1 finding' : `${ids.length} findings`, note: shortened(ids.join(', '), 80) };
}

/** The last rating stands: agents of later rounds know more. */
function credibilityOf(citation: Citation | undefined): ProjectedText {
  const rating = citation?.ratings.at(-1);
  return rating === undefined ? NOTHING : { text: rating.credibility, note: shortened(rating.why) };
}
