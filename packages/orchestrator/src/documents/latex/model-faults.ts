/** Faults of the models of reports and plans, in words. Pure. */
import { findingsCitedIn } from './prose.ts';
import type { ReportModel } from './report-model.ts';

export type Rendered<Value> =
  | ({ readonly ok: true } & Value)
  /** A sentence each. */
  | { readonly ok: false; readonly faults: readonly string[] };

const FINDING_ID = /^F\d{1,7}$/;

/** Everything that a report refers to and does not have, or has twice. */
export function reportFaults(model: ReportModel): readonly string[] {
  const ids = new Set(model.findings.map(({ id }) => id));
  const addresses = new Set(model.sources.map(({ address }) => address));
  return [
    ...repeated(model.findings.map(({ id }) => id)).map((id) => `Finding ${id} is in the report twice.`),
    ...repeated(model.sources.map(({ address }) => address)).map(
      (address) => `Source ${address} is in the report twice.`,
    ),
    ...[...ids].filter((id) => !FINDING_ID.test(id)).map((id) => `'${id}' is no id of a finding: use F and a number.`),
    ...model.findings.flatMap((finding) =>
      [...new Set([...finding.sources, ...finding.evidence.map(({ source }) => source)])]
        .filter((address) => !addresses.has(address))
        .map((address) => `Finding ${finding.id} cites ${address}, which is not among the sources.`),
    ),
    ...model.findings
      .filter(({ sources, evidence }) => sources.length + evidence.length === 0)
      .map(({ id }) => `Finding ${id} has no source.`),
    ...model.conflicts
      .filter(({ positions }) => positions.length < 2)
      .map(({ question }) => `The conflict '${question}' has fewer than two positions.`),
    ...unknownFindings(proseOf(model), ids),
  ];
}

/**
 * Findings that prose cites and that do not exist, by place and name.
 * @param prose texts, or lists of ids, by the place in which they stand
 */
export function unknownFindings(
  prose: readonly (readonly [place: string, cited: string | readonly string[]])[],
  ids: ReadonlySet<string>,
): readonly string[] {
  return prose.flatMap(([place, cited]) =>
    (typeof cited === 'string' ? findingsCitedIn(cited) : cited)
      .filter((id) => !ids.has(id))
      .map((id) => `${place} cites finding ${id}, which does not exist.`),
  );
}

function proseOf(model: ReportModel): readonly (readonly [string, string | readonly string[]])[] {
  return [
    ['The executive summary', model.executiveSummary],
    ['The background', model.background],
    ...model.findings.map(({ id, claim }) => [`The claim of finding ${id}`, claim] as const),
    ['The analysis', model.analysis],
    ...model.conflicts.flatMap(({ question, positions, resolution }) => [
      [`The resolution of '${question}'`, resolution ?? ''] as const,
      ...positions.flatMap(({ statement, findings }) => [
        [`A position on '${question}'`, statement] as const,
        [`A position on '${question}'`, findings] as const,
      ]),
    ]),
    ...model.openQuestions.map(({ question, detail }) => [`The open question '${question}'`, detail] as const),
    ['The methodology', model.methodology],
    ['The criteria of credibility', model.credibilityCriteria],
  ];
}

export function repeated(values: readonly string[]): readonly string[] {
  return [...Map.groupBy(values, (value) => value)].filter(([, all]) => all.length > 1).map(([value]) => value);
}
