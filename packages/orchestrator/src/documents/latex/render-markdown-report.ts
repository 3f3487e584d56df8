/** A research report as Markdown, for where TeX is absent and for reading in an editor. Pure. */
import { code, table } from '../quoted-markdown.ts';
import {
  markdownAddress,
  markdownCitation,
  markdownPlainAddress,
  markdownProse,
  markdownText,
  type Numbers,
} from './markdown-text.ts';
import { type Rendered, reportFaults } from './model-faults.ts';
import { figuresOf, longDate, sourcesOf } from './render-report.ts';
import type { ReportFinding, ReportModel, SourceConflict } from './report-model.ts';

const SHOWN_HASH = 12;

/** The sections of the LaTeX report, with the numbers of sources instead of their authors. Same faults. */
export function renderMarkdownReport(model: ReportModel): Rendered<{ readonly markdown: string }> {
  const faults = reportFaults(model);
  if (faults.length > 0) return { ok: false, faults };
  const numbers = numbersOf(model);
  const prose = (text: string): string => markdownProse(text, numbers);
  const resolved = model.conflicts.filter(({ resolution }) => resolution !== null);
  const unresolved = model.conflicts.filter(({ resolution }) => resolution === null);
  const questions = [
    ...unresolved.map((conflict) => conflictMarkdown(conflict, numbers)),
    ...model.openQuestions.map(({ question, detail }) => `**${markdownText(question)}** ${prose(detail)}`),
  ];
  const sections = [
    `# ${markdownText(model.topic)}`,
    `Research Report — Generated via Autonomous Workflow · ${markdownText(longDate(model.date))}`,
    '## Executive Summary',
    prose(model.executiveSummary),
    '## Background & Context',
    prose(model.background),
    '## Key Findings',
    ...(model.findings.length === 0 ? ['No finding.'] : []),
    ...model.findings.flatMap((finding, index) => findingMarkdown(finding, index + 1, model, numbers)),
    '## Analysis & Synthesis',
    prose(model.analysis),
    ...(resolved.length === 0 ? [] : ['### Conflicts between sources']),
    ...resolved.map((conflict) => conflictMarkdown(conflict, numbers)),
    '## Open Questions',
    ...(questions.length === 0 ? ['None.'] : questions),
    '## Methodology',
    prose(model.methodology),
    figuresOf(model)
      .map(({ name, value }) => `- ${name}: ${value}`)
      .join('\n'),
    `**Credibility of sources.** ${prose(model.credibilityCriteria)}`,
    '## Sources',
    sourcesTable(model),
    '## Left out',
    leftOutTable(model),
  ];
  return { ok: true, markdown: `${sections.filter((section) => section.trim() !== '').join('\n\n')}\n` };
}

function numbersOf({ findings, sources }: ReportModel): Numbers {
  const byAddress = new Map(sources.map(({ address }, index) => [address, index + 1]));
  const byId = new Map(findings.map((finding) => [finding.id, finding]));
  return {
    of(id) {
      const finding = byId.get(id);
      return finding === undefined ? null : sourcesOf(finding).map((address) => byAddress.get(address) ?? 0);
    },
    isSource: (address) => byAddress.has(address),
  };
}

function findingMarkdown(
  finding: ReportFinding,
  number: number,
  { sources }: ReportModel,
  numbers: Numbers,
): readonly string[] {
  const numberOf = (address: string): number => 1 + sources.findIndex((source) => source.address === address);
  const cited = sourcesOf(finding).flatMap((address) => sources.find((source) => source.address === address) ?? []);
  return [
    // In sight, since viewers of Markdown show comments as text or not at all.
    `### Finding ${number}: ${markdownText(finding.title)} (${markdownText(finding.id)})`,
    `**Claim.** ${markdownProse(finding.claim, numbers)} ${markdownCitation([finding.id], numbers)}`,
    ...(finding.evidence.length === 0 ? [] : ['**Evidence.**']),
    finding.evidence.map(({ quote, source }) => `- “${markdownText(quote)}” \\[${numberOf(source)}\\]`).join('\n'),
    '**Sources.**',
    cited
      .map(
        (source) =>
          `- \\[${numberOf(source.address)}\\] ${markdownText(source.title) || 'untitled'}, ${markdownAddress(source.address)}. Credibility ${source.credibility}: ${markdownText(source.credibilityReason)}`,
      )
      .join('\n'),
    `**Confidence.** ${finding.confidence}: ${markdownText(finding.confidenceReason)}`,
    ...(finding.caveats.length === 0 ? [] : ['**Caveats.**']),
    finding.caveats.map((caveat) => `- ${markdownText(caveat)}`).join('\n'),
  ];
}

function conflictMarkdown({ question, positions, resolution }: SourceConflict, numbers: Numbers): string {
  const lines = positions.map(
    ({ statement, findings }) =>
      `- ${markdownProse(statement, numbers).replaceAll('\n', '\n  ')} ${markdownCitation(findings, numbers)}`,
  );
  return [
    `**${markdownText(question)}** The sources contradict each other${resolution === null ? ', and what is known does not decide between them' : ''}:`,
    lines.join('\n'),
    ...(resolution === null ? [] : [`*Resolution.* ${markdownProse(resolution, numbers)}`]),
  ].join('\n\n');
}

function sourcesTable({ sources }: ReportModel): string {
  if (sources.length === 0) return 'None.';
  return table(
    ['#', 'Address', 'Hash', 'Fetched', 'Credibility'],
    sources.map(({ address, hash, fetchedAt, credibility }, index) => [
      String(index + 1),
      markdownAddress(address),
      code(hash.slice(0, SHOWN_HASH)),
      markdownText(fetchedAt.slice(0, 10)),
      credibility,
    ]),
  );
}

function leftOutTable({ leftOut }: ReportModel): string {
  if (leftOut.length === 0) return 'None.';
  const rows = leftOut.map(({ claim, address, reason }) => [cell(claim), markdownPlainAddress(address), cell(reason)]);
  return `These citations were rejected. Nothing in this report rests on them.\n\n${table(['Claim', 'Address', 'Reason'], rows)}`;
}

/** `table` escapes bars itself. */
function cell(text: string): string {
  return markdownText(text).replaceAll('\\|', '|');
}
