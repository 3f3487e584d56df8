/** A research report as LaTeX with its bibliography. */
import { bibliographyOf } from './bibliography.ts';
import { tex, texAddress, texText, texUrl } from './escape.ts';
import { type Rendered, reportFaults } from './model-faults.ts';
import type { ReportFinding, ReportModel, ReportSource, SourceConflict } from './report-model.ts';
import { REPORT_TEMPLATE } from './report-template.ts';
import { renderTemplate, type TemplateValue } from './template.ts';
import { Tex } from './tex.ts';
import { type Citations, citationOf, findingComments, proseTex, wrapped } from './tex-prose.ts';

/** Characters of a hash that are shown. */
const SHOWN_HASH = 12;

/**
 * @returns `tex` and `bib`, which belong into the same folder, the latter as `sources.bib`; or every reference in the model to
 *   something that it does not have
 */
export async function renderReport(
  model: ReportModel,
): Promise<Rendered<{ readonly tex: string; readonly bib: string }>> {
  const faults = reportFaults(model);
  if (faults.length > 0) return { ok: false, faults };
  const { bib, keys } = bibliographyOf(model.sources);
  const citations = citationsOf(model, keys);
  const rendered = await renderTemplate(REPORT_TEMPLATE, valuesOf(model, keys, citations));
  return { ok: true, tex: tidy(rendered), bib };
}

/** @param keys keys of the bibliography by address */
export function citationsOf(
  { findings, sources }: Pick<ReportModel, 'findings' | 'sources'>,
  keys: ReadonlyMap<string, string>,
): Citations {
  const byId = new Map(findings.map((finding) => [finding.id, finding]));
  const addresses = new Set(sources.map(({ address }) => address));
  return {
    keysOf(id) {
      const finding = byId.get(id);
      return finding === undefined ? null : sourcesOf(finding).map((address) => keys.get(address) ?? '');
    },
    isSource: (address) => addresses.has(address),
  };
}

/** Addresses of all sources of a finding, each once. */
export function sourcesOf({ sources, evidence }: ReportFinding): readonly string[] {
  return [...new Set([...sources, ...evidence.map(({ source }) => source)])];
}

/** The day as people of any country read it. */
export function longDate(date: string): string {
  const day = new Date(`${date.slice(0, 10)}T00:00:00Z`);
  if (Number.isNaN(day.getTime())) return date;
  return new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' }).format(day);
}

/** At most one empty line in a row. */
export function tidy(source: string): string {
  return `${source.replace(/\n{3,}/g, '\n\n').trim()}\n`;
}

/** Figures of the section Methodology. */
export function figuresOf(model: ReportModel): readonly { readonly name: string; readonly value: number }[] {
  return [
    { name: 'Rounds of research', value: model.rounds },
    { name: 'Sources consulted', value: model.sourcesConsulted },
    { name: 'Sources cited', value: model.sources.length },
    { name: 'Findings', value: model.findings.length },
    { name: 'Citations left out', value: model.leftOut.length },
  ];
}

function valuesOf(
  model: ReportModel,
  keys: ReadonlyMap<string, string>,
  citations: Citations,
): Readonly<Record<string, TemplateValue>> {
  const prose = (text: string): Tex => proseTex(text, citations);
  const conflict = (given: SourceConflict): TemplateValue => conflictValues(given, citations);
  const sources = new Map(model.sources.map((source) => [source.address, source]));
  return {
    title: model.topic,
    date: longDate(model.date),
    executiveSummary: prose(model.executiveSummary),
    background: prose(model.background),
    findings: model.findings.map((finding) => findingValues(finding, sources, keys, citations)),
    analysis: prose(model.analysis),
    resolved: model.conflicts.filter(({ resolution }) => resolution !== null).map(conflict),
    unresolved: model.conflicts.filter(({ resolution }) => resolution === null).map(conflict),
    openQuestions: model.openQuestions.map(({ question, detail }) => ({ question, detail: prose(detail) })),
    methodology: prose(model.methodology),
    credibilityCriteria: prose(model.credibilityCriteria),
    figures: figuresOf(model).map(({ name, value }) => ({ name, value })),
    sources: model.sources.map((source) => ({
      address: texUrl(source.address),
      hash: tex`\texttt{${source.hash.slice(0, SHOWN_HASH)}}`,
      fetchedOn: tex`\mbox{${source.fetchedAt.slice(0, 10)}}`,
      credibility: source.credibility,
    })),
    leftOut: model.leftOut.map(({ claim, address, reason }) => ({ claim, address: texAddress(address), reason })),
  };
}

function findingValues(
  finding: ReportFinding,
  sources: ReadonlyMap<string, ReportSource>,
  keys: ReadonlyMap<string, string>,
  citations: Citations,
): TemplateValue {
  const prose = (text: string): Tex => proseTex(text, citations);
  return {
    id: finding.id,
    comment: findingComments([finding.id]),
    title: finding.title,
    claim: cited(prose(finding.claim), citationOf([finding.id], citations)),
    evidence: finding.evidence.map(({ quote, source }) => ({
      quote: wrapped(texText(quote)),
      citation: tex`\citep{${new Tex(keys.get(source) ?? '')}}`,
    })),
    sources: sourcesOf(finding).map((address) => ({
      citation: tex`\citet{${new Tex(keys.get(address) ?? '')}}`,
      title: shortTitle(sources.get(address)),
      credibility: sources.get(address)?.credibility ?? 'low',
      reason: sources.get(address)?.credibilityReason ?? '',
    })),
    confidence: capitalised(finding.confidence),
    confidenceReason: finding.confidenceReason,
    caveats: finding.caveats,
  };
}

function conflictValues({ question, positions, resolution }: SourceConflict, citations: Citations): TemplateValue {
  return {
    question,
    positions: positions.map(({ statement, findings }) => ({
      comment: findingComments(findings),
      statement: cited(proseTex(statement, citations), citationOf(findings, citations)),
    })),
    resolution: resolution === null ? '' : proseTex(resolution, citations),
  };
}

/** The citation stands before the full stop. */
function cited({ source }: Tex, citation: Tex): Tex {
  if (citation.source === '') return new Tex(source);
  return source.endsWith('.') ? tex`${new Tex(source.slice(0, -1))} ${citation}.` : tex`${new Tex(source)} ${citation}`;
}

const LONGEST_TITLE = 120;

/** The title, cut where it is long, with a full stop. */
function shortTitle(source: ReportSource | undefined): Tex {
  const title = source?.title.trim() ?? '';
  if (title === '') return tex`untitled.`;
  const characters = Array.from(title);
  if (characters.length <= LONGEST_TITLE) return tex`\emph{${title}}.`;
  return tex`\emph{${characters
    .slice(0, LONGEST_TITLE)
    .join('')
    .replace(/ [^ ]*$/, '')}}\,\ldots{}`;
}

function capitalised(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
}
