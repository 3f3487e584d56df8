/** Concerns about the tests of a result: what the evidence says beside the baseline. Pure. */
import { createHash } from 'node:crypto';
import type {
  Baseline,
  CommandEvidence,
  Concern,
  ConcernKind,
  Evidence,
  RunView,
  TestCount,
  WorkflowEvent,
} from '@autonomous/shared';
import { stableName } from '../../project-analysis/test-report.ts';

type Checked = Omit<Evidence, 'recordedAt'>;

interface Doubt {
  readonly kind: ConcernKind;
  readonly reason: string;
  /** An acceptance is of the project's way of testing, not of this result. */
  readonly isOfTheProject?: true;
}

const TITLES: Readonly<Record<string, string>> = {
  tests_unknown: 'How many tests ran, and whether they could fail, is not known',
  tests_fell: 'Tests of the base commit are missing, or test less',
  tests_unfinished: 'The checks ended without the summary of their test runner',
  tests_none: 'No test of the base commit vouches for the result',
};

/**
 * Reasons for a person to look at checks that passed. Failed checks are not handled here: they open their own gate.
 * @param baseline absent where the workflow has none. Then, or if it failed, the checks' own baseline counts
 */
export function concernsOfTests(baseline: Baseline | undefined, evidence: readonly Checked[]): readonly Concern[] {
  // The obstacle to a baseline may be gone by the time of the checks; they then determine the baseline themselves.
  const found = evidence.findLast((each) => each.baseline !== undefined)?.baseline;
  const compared = baseline?.failure === undefined ? (baseline ?? found) : (found ?? baseline);
  // If a check failed, a person saw the failure and accepted exactly this result.
  if (evidence.some(({ passed }) => !passed)) return [];
  const doubts = evidence.flatMap((each) => doubtsOf(each, compared));
  const kinds = ['tests_unknown', 'tests_unfinished', 'tests_none', 'tests_fell'] as const;
  return kinds.flatMap((kind) => {
    const ofKind = doubts.filter((doubt) => doubt.kind === kind);
    if (ofKind.length === 0) return [];
    const reasons = [...new Set(ofKind.map(({ reason }) => reason))];
    const tree = ofKind.every(({ isOfTheProject }) => isOfTheProject) ? null : (evidence[0]?.codeTree ?? null);
    return [
      {
        kind,
        title: TITLES[kind] ?? kind,
        items: reasons.map((reason) => ({ reason })),
        hash: digest([kind, tree, reasons]),
      },
    ];
  });
}

/**
 * The concern of a result without checks of this server, in a run whose record has some, or says that a person accepted the result
 * without any: they are no proof, of whatever tree they say that they were made, nor is an acceptance there. The hash is another one
 * after each rebuild.
 * @param evidence all of the run
 * @param events of the run; a fork at the last one before the checks makes them here
 */
export function concernOfRecord(
  { id, parent, evidence, rebuiltUpTo = 0 }: Pick<RunView, 'id' | 'parent' | 'evidence' | 'rebuiltUpTo'>,
  codeTree: string,
  events: readonly Pick<WorkflowEvent, 'type' | 'origin' | 'payload' | 'sequence'>[],
): readonly Concern[] {
  const ofTree = latestEvidence(evidence, codeTree);
  const rebuiltAt = (ofTree.length > 0 ? ofTree : evidence).findLast((each) => each.rebuiltAt !== undefined)?.rebuiltAt;
  const accepted = events.findLast(({ type, payload }) => type === 'FIX_DECIDED' && payload['decision'] === 'accept');
  const isAccepted = ofTree.length === 0 && accepted !== undefined && accepted.sequence <= rebuiltUpTo;
  if (rebuiltAt === undefined && !isAccepted) return [];
  const recorded = events.findLastIndex(
    ({ type, payload }) => type === 'EVIDENCE_RECORDED' && payload['mode'] === 'as_is',
  );
  const checked = events.slice(0, Math.max(recorded, 0)).findLast(({ origin }) => origin === 'input');
  // A child run is its parent's, which waits for it and for no fork of it.
  const way =
    checked === undefined || parent !== undefined
      ? 'Run them by hand before you accept.'
      : `To have this server run them, fork the run from before them: fork ${id} --at ${checked.sequence - 1}. Or run them by hand before you accept.`;
  const said =
    rebuiltAt === undefined
      ? 'A person accepted the result without them, says the record that the run was rebuilt from'
      : 'They stand in the record that the run was rebuilt from';
  const reason = `${said}, and anybody who can push there could have written it. ${way}`;
  const title = 'This server has not run the checks of the result';
  return [
    {
      kind: 'tests_unknown',
      title,
      items: [{ reason }],
      hash: digest(['rebuilt', codeTree, rebuiltAt ?? rebuiltUpTo]),
    },
  ];
}

/** The latest evidence of each mode for a code tree. */
export function latestEvidence(evidence: RunView['evidence'], codeTree: string | undefined): RunView['evidence'] {
  const ofTree = evidence.filter((each) => each.codeTree === codeTree);
  return (['as_is', 'base_tests'] as const).flatMap((mode) => ofTree.findLast((each) => each.mode === mode) ?? []);
}

function doubtsOf(checked: Checked, baseline: Baseline | undefined): readonly Doubt[] {
  const { tests } = checked;
  const what = checked.mode === 'as_is' ? 'With the result as it is' : "With the base commit's tests";
  if (tests === undefined)
    return [...changedScripts(checked), ...weaker(checked), unknown(checked.commands[0], what, baseline)];
  return [
    ...changedScripts(checked),
    ...replacedIn(what, tests, baseline),
    ...rewrittenIn(what, tests, baseline),
    ...unfinished(what, tests, baseline),
    ...(tests.executed === 0
      ? [{ kind: 'tests_none' as const, reason: `${what}, ${tests.runner || 'the runner'} ran no test.` }]
      : []),
    ...failedAllTheSame(what, tests, baseline),
    ...fewer(checked.mode, what, tests, baseline),
    ...weaker(checked),
  ];
}

/** Files that the run changed decide about its checks, and whether they are the product or a part of its tests is not known. */
function changedScripts({ doubtful = [] }: Checked): readonly Doubt[] {
  if (doubtful.length === 0) return [];
  const more = doubtful.length > 3 ? ` and ${doubtful.length - 3} more` : '';
  return [
    {
      kind: 'tests_unknown',
      reason: `Checks depend on files that the run changed, and that may be the product or a part of its tests: ${doubtful.slice(0, 3).join(', ')}${more}.`,
    },
  ];
}

function unknown(ran: CommandEvidence | undefined, what: string, baseline: Baseline | undefined): Doubt {
  if (baseline?.tests !== undefined) {
    const { runner, executed } = baseline.tests;
    return {
      kind: 'tests_unknown',
      reason: `${what}, no test runner reported anything, and on the base commit ${runner} ran ${tests(executed)}.`,
    };
  }
  return {
    kind: 'tests_unknown',
    reason: `\`${ran?.command ?? ''}\` runs no test runner that the server knows: nothing but its exit code says that tests ran.${setsVariable(ran)}`,
    isOfTheProject: true,
  };
}

/** npm, make and their like print what they run. */
function setsVariable(ran: CommandEvidence | undefined): string {
  const name = /\b(NODE_OPTIONS|PYTHONPATH)=/.exec(`${ran?.command}\n${ran?.output}`)?.[1];
  if (name === undefined) return '';
  return ` It sets ${name} itself, which may keep the server's reporter from being loaded: add to the variable instead (\`${name}="$${name}…"\`).`;
}

/**
 * Doubts about judges that the code under test replaced. A replacement that the base commit makes as well is the
 * project's way to test, such as an extended assertion library.
 */
function replacedIn(what: string, { replaced = [] }: TestCount, baseline: Baseline | undefined): readonly Doubt[] {
  const names = replaced.filter((name) => !baseline?.tests?.replaced?.includes(name));
  if (names.length === 0) return [];
  const more = names.length > 3 ? ` and ${names.length - 3} more` : '';
  return [
    {
      kind: 'tests_unknown',
      reason: `${what}, the code under test changed what judges it: ${names.slice(0, 3).join(', ')}${more}.`,
    },
  ];
}

/** Doubts about rewritten tests. A command that rewrites them on the base commit too, such as a formatter, is fine. */
function rewrittenIn(what: string, { rewritten = [] }: TestCount, baseline: Baseline | undefined): readonly Doubt[] {
  const files = rewritten.filter((file) => !baseline?.tests?.rewritten?.includes(file));
  if (files.length === 0) return [];
  const more = files.length > 3 ? ` and ${files.length - 3} more` : '';
  return [
    {
      kind: 'tests_unknown',
      reason: `${what}, tests were changed while they ran: ${files.slice(0, 3).join(', ')}${more}.`,
    },
  ];
}

/**
 * A test that starts a runner and stops it leaves one without an end: where the same was so on the base commit, with as many tests,
 * it is the project's way.
 */
function unfinished(what: string, count: TestCount, baseline: Baseline | undefined): readonly Doubt[] {
  const { runner, executed } = count;
  const before = baseline?.tests;
  const isAsBefore =
    before?.unfinished !== undefined &&
    before.runner === runner &&
    before.executed === executed &&
    before.failed === count.failed &&
    (count.unfinished ?? ['']).every((each) => before.unfinished?.includes(each));
  if (count.finished || isAsBefore) return [];
  return [
    {
      kind: 'tests_unfinished',
      reason: `${what}, ${runner || 'a test file'} ended before its end, after ${tests(executed)}: something in the tested code may have ended the process.`,
    },
  ];
}

/** Commands such as `node --test || true` end well whatever happened. */
function failedAllTheSame(what: string, count: TestCount, baseline: Baseline | undefined): readonly Doubt[] {
  const { failed, failedAnew, failedNames = [] } = count;
  const isAsBefore = failedAnew === undefined ? failedBefore(count, baseline?.tests) : failedAnew.length === 0;
  if (failed === 0 || (baseline?.passed === true && isAsBefore)) return [];
  return [
    {
      kind: 'tests_unknown',
      reason: `${what}, ${tests(failed)} failed${failedNames.length === 0 ? '' : ` (${quoted(failedNames)})`}, and the command ended with exit code 0.`,
    },
  ];
}

/** The same tests failed on the base commit, where they were not compared by all their names. Older evidence has no names: as many did. */
function failedBefore(now: TestCount, before: TestCount | undefined): boolean {
  if (before === undefined) return false;
  if (now.failedNames === undefined && before.failedNames === undefined) return now.failed === before.failed;
  const { failedNames = [] } = now;
  const known = new Set(before.failedNames?.map(stableName));
  return failedNames.length === now.failed && failedNames.every((name) => known.has(stableName(name)));
}

/** Tests of the base commit that have other text now and assert less, as far as other tests do not make up for it. */
function weaker({ changedTests = [] }: Checked): readonly Doubt[] {
  const net = changedTests.reduce((sum, { assertions, assertionsBefore }) => sum + assertions - assertionsBefore, 0);
  const less = changedTests.filter(
    ({ assertions, assertionsBefore, isDeleted }) =>
      assertions < assertionsBefore && (net < 0 || (assertions === 0 && !isDeleted)),
  );
  if (less.length === 0) return [];
  const named = less
    .slice(0, 3)
    .map(({ path, assertions, assertionsBefore, isDeleted }) => {
      return `${path} (${isDeleted ? 'deleted, ' : ''}${assertionsBefore} ${assertionsBefore === 1 ? 'assertion' : 'assertions'} before, ${assertions} now)`;
    })
    .join(', ');
  const more = less.length > 3 ? ` and ${less.length - 3} more` : '';
  return [{ kind: 'tests_fell', reason: `Tests of the base commit assert less than they did: ${named}${more}.` }];
}

function fewer(
  mode: Checked['mode'],
  what: string,
  count: TestCount,
  baseline: Baseline | undefined,
): readonly Doubt[] {
  if (count.notRun !== undefined) {
    return [
      {
        kind: 'tests_fell',
        reason: `${what}, tests that ran on the base commit did not run: ${quoted(count.notRun)}.`,
      },
    ];
  }
  if (baseline === undefined || baseline.failure !== undefined || baseline.command.exitCode === null) {
    const why = baseline?.failure ?? (baseline === undefined ? 'they were not run there' : 'they came to no end there');
    return [
      {
        kind: 'tests_unknown',
        reason: `${tests(count.executed)} ran, and how many the base commit has is not known: ${why}`,
      },
    ];
  }
  const before = baseline.tests;
  if (before === undefined || before.executed === 0) {
    if (mode === 'as_is') return [];
    return [
      { kind: 'tests_none', reason: `On the base commit no test ran: the result's own tests alone vouch for it.` },
    ];
  }
  if (count.executed >= before.executed) return [];
  return [
    {
      kind: 'tests_fell',
      reason: `${what}, ${tests(count.executed)} ran; on the base commit it was ${before.executed}.`,
    },
  ];
}

/** The first three, and whether there are more. */
function quoted(names: readonly string[]): string {
  const named = names.slice(0, 3).map((name) => `'${name}'`);
  return `${named.join(', ')}${names.length > 3 ? ' and more' : ''}`;
}

function tests(count: number): string {
  return `${count} ${count === 1 ? 'test' : 'tests'}`;
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
