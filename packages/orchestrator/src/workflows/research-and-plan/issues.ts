/** Issues of critics: which are taken, who may withdraw them, and which are open. Pure. */
import type { OpenBlocker } from './output.ts';
import { isFinding } from './plan.ts';
import type { Draft, Fault, Issue, RaisedIssue, Review } from './types.ts';

/** Points of view of the critics, by seat. */
export const CRITICS: readonly string[] = [
  'where the plan contradicts the report, and what it claims without evidence',
  'whether the plan can be carried out, what it does not consider, and where it cannot be defended',
];

/** Open issues of one critic, at most. */
const MOST_OPEN = 20;

/** Name of a critic, the same in every round. */
export const criticOf = (seat: number): string => `critic-${seat}`;
export const architectOf = (seat: number): string => `architect-${seat}`;

const inWords = (text: string): string => text.toLowerCase().replaceAll(/\s+/g, ' ').trim();

const isRepeated = (issue: RaisedIssue, by: string, open: readonly Issue[]): boolean =>
  open.some((each) => each.by === by && inWords(each.text) === inWords(issue.text));

/**
 * Everything in a review that is not taken.
 * @param open issues that nobody has withdrawn
 * @param findings number of findings: F1 up to this one exist
 */
export function reviewFaults(review: Review, by: string, open: readonly Issue[], findings: number): readonly Fault[] {
  const own = open.filter((issue) => issue.by === by);
  const gone = review.withdrawn.filter(({ issue }) => own.some(({ id }) => id === issue)).length;
  return [
    ...review.issues.flatMap((issue, index) =>
      issueReasons(issue, findings, own.length - gone + index).map((reason) => ({ section: 'issues', index, reason })),
    ),
    ...review.withdrawn.flatMap(({ issue: id }, index) => {
      const issue = open.find((each) => each.id === id);
      if (issue?.by === by) return [];
      const reason =
        issue === undefined
          ? `There is no open issue ${id}.`
          : `${id} was raised by ${issue.by}, and only ${issue.by} can withdraw it.`;
      return [{ section: 'withdrawn', index, reason }];
    }),
  ];
}

function issueReasons({ severity, evidence }: RaisedIssue, findings: number, before: number): readonly string[] {
  const unknown = evidence.filter((id) => !isFinding(id, findings));
  return [
    ...unknown.map((id) => `Its evidence names ${id}, which is no finding of the report.`),
    ...(severity !== 'suggestion' && evidence.length === 0
      ? [`A ${severity} names at least one finding of the report as its evidence.`]
      : []),
    ...(before >= MOST_OPEN ? [`This critic has ${MOST_OPEN} open issues; withdraw some first.`] : []),
  ];
}

export interface Reviewed {
  /** Open issues after the review. */
  readonly open: readonly Issue[];
  readonly raised: readonly Issue[];
  readonly withdrawn: readonly { readonly issue: Issue; readonly why: string }[];
}

/**
 * Takes what has no fault. An issue that its critic repeats word for word is not raised twice.
 * @param raised number of issues that were raised before
 */
export function withReview(
  open: readonly Issue[],
  review: Review,
  {
    by,
    round,
    raised: before,
    faults,
  }: {
    readonly by: string;
    readonly round: number;
    readonly raised: number;
    readonly faults: readonly Fault[];
  },
): Reviewed {
  const isRefused = (section: string, index: number): boolean =>
    faults.some((fault) => fault.section === section && fault.index === index);
  const taken = review.withdrawn.filter((_, index) => !isRefused('withdrawn', index));
  const withdrawn = open.flatMap((issue) => {
    const why = taken.find((each) => each.issue === issue.id)?.why;
    return why === undefined ? [] : [{ issue, why }];
  });
  const left = open.filter((issue) => !withdrawn.some((each) => each.issue === issue));
  const raised = review.issues
    .filter((issue, index) => !isRefused('issues', index) && !isRepeated(issue, by, left))
    .map((issue, index): Issue => ({ ...issue, id: `I${before + index + 1}`, by, round, answer: null }));
  return { open: [...left, ...raised], raised, withdrawn };
}

/** Open issues with the answers of an architect. An answer closes nothing: the critic withdraws the issue, or does not. */
export function withAnswers(
  open: readonly Issue[],
  { answers }: Pick<Draft, 'answers'>,
  { by, round }: { readonly by: string; readonly round: number },
): readonly Issue[] {
  return open.map((issue) => {
    const answer = answers.find((each) => each.issue === issue.id);
    return answer === undefined ? issue : { ...issue, answer: { by, text: answer.answer, round } };
  });
}

export function blockersOf(open: readonly Issue[]): readonly Issue[] {
  return open.filter(({ severity }) => severity === 'blocker');
}

export function openBlockersOf(open: readonly Issue[]): OpenBlocker[] {
  return blockersOf(open).map(({ id, by, text, evidence }) => ({ id, by, text, evidence: [...evidence] }));
}
