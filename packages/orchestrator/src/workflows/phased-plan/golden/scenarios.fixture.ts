/** Ways through the workflow of a plan, driven by hand: together they take every state, every transition and every signal. */
import type { JsonObject, JsonValue } from '@autonomous/shared';
import { DrivenRun } from '../../driven-run.ts';
import { newestOf } from '../../workflow.ts';
import { phasedPlan } from '../index.ts';

/** A run by the ways that it goes, in order of their recording. */
type Scenarios = Readonly<Record<string, () => DrivenRun>>;

const by = 'me';
const config = {
  trustMode: { implementation: 'auto' },
  maxClarifications: 3,
  maxConcurrency: 4,
  maxFixAttempts: 3,
  modelRouting: { 'phase-implementer': 'scripted:demo', 'phase-reviewer': 'scripted:demo' },
  timeoutMinutes: { implementation: 60, validation: 5 },
  git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
  commands: {},
};
const merging = { git: { ...config.git, autoMerge: true } };
const manual = { trustMode: { implementation: 'manual' } };

const phase = (number: number, dependsOn: readonly number[]): JsonObject => ({
  number,
  title: `Part ${number}`,
  text: `Write part ${number}.`,
  criteria: ['It is there.'],
  dependsOn: [...dependsOn],
});
/** One phase, then two at the same time. */
const threePhases: JsonObject = {
  title: 'Parts',
  phases: [phase(1, []), phase(2, [1]), phase(3, [1])],
  planFile: 'plans/parts.md',
  faults: [],
};
const onePhase: JsonObject = { ...threePhases, phases: [phase(1, [])], planFile: null };
const test = { command: 'npm test', source: 'package.json' };

const started = (change: object = {}, input: JsonObject = {}): DrivenRun =>
  new DrivenRun(newestOf(phasedPlan)).begin({
    request: 'Carry out plans/parts.md',
    config: { ...config, ...change },
    branch: 'autonomous/r-parts',
    input: {
      planPath: 'plans/parts.md',
      ...input,
    },
  });
const prepared = (change: object = {}, input: JsonObject = {}, more: JsonObject = {}): DrivenRun =>
  started(change, input).ended('prepare', {
    baseCommit: 'base',
    config: { ...config, ...change },
    notices: [],
    excludePaths: [],
    setup: null,
    test,
    autoRetry: true,
    ...more,
  });
const ready = (plan: JsonObject, change: object = {}, input: JsonObject = {}, more: JsonObject = {}): DrivenRun =>
  prepared(change, input, more).ended('readPlan', plan).ended('findCommands', { test: null, lint: null });

const child = (number: number, iterations = 1): JsonObject => ({
  runId: `child-${number}`,
  status: 'completed',
  branch: `autonomous/child-${number}`,
  baseCommit: 'base',
  headCommit: `c-${number}`,
  codeTree: `t-${number}`,
  output: { phase: number, iterations, message: `Phase ${number}` },
});
const checked = (mode: 'as_is' | 'base_tests', passed = true): JsonValue => ({
  mode,
  codeTree: 't-merged',
  commit: 'c-merged',
  passed,
  restored: [],
  sandbox: 'bubblewrap',
  commands: [
    {
      command: 'npm test',
      exitCode: passed ? 0 : 1,
      durationMs: 10,
      output: passed ? 'ok' : 'not ok',
      isTruncated: false,
    },
  ],
});
const integrated = (fastForward: boolean): JsonObject => ({ commit: 'c-merge', codeTree: 't-merged', fastForward });
const moved: JsonObject = { commit: 'c-moved', codeTree: 't-merged' };
const merged = (run: DrivenRun, fastForward = true): DrivenRun => {
  run.ended('integrateChild', integrated(fastForward));
  if (!fastForward) run.ended('checkMerge', checked('as_is'));
  return run.ended('mergeChild', moved);
};
/** One phase that is merged: the whole is to be verified. */
const done = (change: object = {}, input: JsonObject = {}, more: JsonObject = {}): DrivenRun =>
  merged(ready(onePhase, change, input, more).ended('phase-1-1', child(1)));
const verified = (run: DrivenRun): DrivenRun =>
  run
    .ended('checkAsIs', checked('as_is'))
    .ended('checkBaseTests', checked('base_tests'))
    .ended('findConcerns', { concerns: [] });
const recorded = (run: DrivenRun): DrivenRun =>
  run.ended('recordRun', { commit: 'c-record', codeTree: 't-merged', notices: ['The memory is long.'] });
const published = (run: DrivenRun): DrivenRun =>
  recorded(run).ended('pushBranch', { commit: 'c-record', pushed: true });
const retried = (run: DrivenRun, notes?: string): DrivenRun =>
  run.send('RETRY_REQUESTED', { by, ...(notes === undefined ? {} : { notes }) });
/** Pauses with one way on, which a person chooses. */
const way = (run: DrivenRun, activity: string, reason: string, chosen: string): DrivenRun =>
  run
    .fail(activity, reason, 'Stopped.', { ways: [{ way: chosen, text: `Choose ${chosen}`, note: 'As chosen.' }] })
    .send('CLARIFICATION_ANSWERED', { by, response: `Choose ${chosen}`, choices: [`Choose ${chosen}`] });
const takenIn = { commit: 'c-taken', codeTree: 't-taken', baseCommit: 'base2', planPath: '', conflicts: [] };
const toMerge = (): DrivenRun => published(verified(done(merging)).ended('integrate', { moved: false }));
const approved = (run: DrivenRun): DrivenRun =>
  run.send('APPROVAL_GRANTED', { by, gateId: run.view?.gate?.id, codeTree: 't-merged' });
const concern = { kind: 'no_change', title: 'Nothing was changed', items: [{ reason: 'It is the base.' }], hash: 'h' };

const createPR = { git: { ...config.git, createPR: true } };
const pushed = { commit: 'c-record', pushed: true, pullRequest: { number: 7, url: 'https://forge.test/pull/7' } };
const mergedThere = { kind: 'merged', commit: 'c-merge', by: 'anna', baseBranch: 'main', head: 'c-record' };
const nothingSeen: JsonObject = { remarks: [], since: null, checksOf: null, head: null };
const asked: JsonObject = {
  kind: 'asked',
  asked: {
    remarks: [{ login: 'anna', text: 'Rename it.', threadId: 't1', path: 'part.js', line: 3 }],
    unheard: 0,
    checks: [],
  },
  seen: { ...nothingSeen, remarks: [{ id: 'r1', at: '2026-03-01T10:00:00Z' }] },
};
const withPullRequest = (run: DrivenRun): DrivenRun => recorded(verified(run)).ended('pushBranch', pushed);
const opened = (change: object = createPR): DrivenRun => withPullRequest(done(change));
const closing = (): DrivenRun => opened().send('FIX_DECIDED', { by, decision: 'close', reason: 'Not now.' });
/** One more phase does what was asked. */
const inOneMorePhase = (run: DrivenRun): DrivenRun =>
  withPullRequest(merged(run.ended('phase-2-1', child(2)))).ended('answerReviewers', { answered: 1 });

/** The second wave, both of whose phases have ended. */
const bothEnded = (): DrivenRun =>
  merged(ready(threePhases).ended('phase-1-1', child(1)))
    .ended('phase-3-1', child(3))
    .ended('phase-2-1', child(2));

/** Every activity that a person can be asked to retry, on the way to where it runs. */
const failing: Readonly<Record<string, () => DrivenRun>> = {
  prepare: () => started(),
  readPlan: () => prepared(),
  findCommands: () => prepared().ended('readPlan', onePhase),
  integrateChild: () => ready(onePhase).ended('phase-1-1', child(1)),
  checkMerge: () => merged(bothEnded()).ended('integrateChild', integrated(false)),
  mergeChild: () => ready(onePhase).ended('phase-1-1', child(1)).ended('integrateChild', integrated(true)),
  checkAsIs: () => done(),
  checkBaseTests: () => done().ended('checkAsIs', checked('as_is')),
  findConcerns: () => done().ended('checkAsIs', checked('as_is')).ended('checkBaseTests', checked('base_tests')),
  integrate: () => verified(done(merging)),
  recordRun: () => verified(done()),
  pushBranch: () => recorded(verified(done())),
  merge: () => toMerge(),
  takeIn: () => way(recorded(verified(done())), 'pushBranch', 'push_rejected', 'take_in'),
  takeInBase: () => way(verified(done(merging)), 'integrate', 'merge_conflict', 'resolve_base'),
  followPullRequest: () => opened(),
  mergePullRequest: () => approved(opened()),
  closePullRequest: () => closing(),
  answerReviewers: () =>
    withPullRequest(merged(opened().ended('followPullRequest', asked).ended('phase-2-1', child(2)))),
  pushBeside: () => way(recorded(verified(done())), 'pushBranch', 'push_rejected', 'push_beside'),
};

export const scenarios: Scenarios = {
  'three-phases-two-at-once-merged': () =>
    published(
      verified(
        merged(
          merged(ready(threePhases, merging).ended('phase-1-1', child(1)))
            .ended('phase-2-1', child(2))
            .ended('phase-3-1', child(3)),
        )
          .ended('integrateChild', integrated(false))
          .ended('checkMerge', checked('as_is'))
          .ended('mergeChild', moved),
      ).ended('integrate', { moved: false }),
    ).ended('merge', { merged: true, commit: 'c-final', strategy: 'merge' }),
  'one-phase-pushed': () =>
    published(verified(done({}, { plan: '## Phase 1', commits: 'squash', test: 'make test', lint: 'make lint' }))),
  'result-approved-by-a-person': () => published(approved(verified(done(manual)))),
  'result-rejected-changed-in-one-more-phase': () =>
    approved(
      verified(
        merged(
          verified(done(manual))
            .send('APPROVAL_REJECTED', { by, feedback: 'Name it otherwise.' })
            .ended('phase-2-1', child(2)),
        ),
      ),
    ),
  'concerns-approved-by-a-person': () =>
    approved(
      done()
        .ended('checkAsIs', checked('as_is'))
        .ended('checkBaseTests', checked('base_tests'))
        .ended('findConcerns', { concerns: [concern] }),
    ),
  'tests-of-the-base-fail': () =>
    approved(
      done()
        .ended('checkAsIs', checked('as_is'))
        .ended('checkBaseTests', checked('base_tests', false))
        .ended('findConcerns', { concerns: [] }),
    ),
  'checks-of-the-whole-fail': () =>
    approved(done().ended('checkAsIs', checked('as_is', false)).ended('findConcerns', { concerns: [] })),
  'commands-answered-none': () =>
    approved(
      merged(
        ready(onePhase, {}, {}, { test: null })
          .send('CLARIFICATION_ANSWERED', { by, response: 'none' })
          .ended('phase-1-1', child(1)),
        true,
      ).ended('findConcerns', { concerns: [] }),
    ),
  'plan-that-cannot-be-read': () =>
    prepared().ended('readPlan', {
      title: null,
      phases: [],
      planFile: null,
      faults: ['The plan has no phases.'],
    }),
  'phases-do-not-fit-together': () =>
    merged(
      retried(
        merged(bothEnded()).fail('integrateChild', 'merge_conflict', 'Both changed notes.md.'),
        'Leave notes.md alone.',
      ).ended('phase-2-2', child(2)),
    ),
  'checks-fail-on-the-merged-tree': () =>
    retried(
      merged(bothEnded()).ended('integrateChild', integrated(false)).ended('checkMerge', checked('as_is', false)),
    ),
  'a-phase-fails-the-other-is-merged': () =>
    retried(
      merged(
        merged(ready(threePhases).ended('phase-1-1', child(1)))
          .fail('phase-2-1', 'agent_failed', 'Run child-2 was cancelled.')
          .ended('phase-3-1', child(3)),
      ),
    ),
  'iterations-are-used-up': () =>
    retried(merged(ready(threePhases, {}, { maxIterations: 2 }).ended('phase-1-1', child(1, 2)))),
  'base-moved-verified-again': () =>
    verified(
      verified(done(merging)).ended('integrate', {
        moved: true,
        baseCommit: 'base2',
        commit: 'c-with-base',
        codeTree: 't-merged',
        planPath: '',
      }),
    ),
  'base-moved-between-integrating-and-merging': () =>
    published(verified(done(merging)).ended('integrate', { moved: false })).ended('merge', { merged: false }),
  'base-refuses-the-push-left-as-pushed-branch': () => way(toMerge(), 'merge', 'push_rejected', 'leave_pushed'),
  'base-refuses-the-push-pull-request': () => way(toMerge(), 'merge', 'push_rejected', 'pull_request'),
  'conflict-with-the-base-left-as-a-branch': () =>
    published(way(verified(done(merging)), 'integrate', 'merge_conflict', 'leave_branch')),
  'conflict-with-the-base-resolved-in-one-more-phase': () =>
    published(
      verified(
        merged(
          way(verified(done(merging)), 'integrate', 'merge_conflict', 'resolve_base')
            .ended('takeInBase', { ...takenIn, conflicts: ['notes.md'] })
            .ended('phase-2-1', child(2)),
        ),
      ).ended('integrate', { moved: false }),
    ),
  'base-taken-in-without-a-conflict': () =>
    verified(way(verified(done(merging)), 'integrate', 'merge_conflict', 'resolve_base').ended('takeInBase', takenIn)),
  'commits-of-others-taken-in': () =>
    verified(way(recorded(verified(done())), 'pushBranch', 'push_rejected', 'take_in').ended('takeIn', takenIn)),
  'commits-of-others-taken-in-with-a-conflict': () =>
    way(recorded(verified(done())), 'pushBranch', 'push_rejected', 'take_in').ended('takeIn', {
      ...takenIn,
      conflicts: ['notes.md'],
    }),
  'commits-of-others-pushed-beside': () =>
    way(recorded(verified(done())), 'pushBranch', 'push_rejected', 'push_beside').ended('pushBeside', {
      commit: 'c-record',
      pushed: true,
      branch: 'autonomous/r-parts-beside',
    }),
  'pull-request-merged-at-the-forge': () => opened().ended('followPullRequest', mergedThere),
  'pull-request-closed-at-the-forge': () => opened().ended('followPullRequest', { kind: 'closed' }),
  'pull-request-not-followed': () => opened({ git: { ...createPR.git, followPR: false } }),
  'pull-request-left-open': () => opened().send('FIX_DECIDED', { by, decision: 'accept', reason: 'It can wait.' }),
  'pull-request-whose-branch-others-move': () =>
    opened()
      .ended('followPullRequest', { kind: 'reading', seen: { ...nothingSeen, unread: true } })
      .ended('followPullRequest', { kind: 'moved', head: 'c-others', seen: { ...nothingSeen, head: 'c-others' } }),
  'pull-request-closed-at-the-gate': () => closing().ended('closePullRequest', { kind: 'closed' }),
  'pull-request-merged-before-it-is-closed-at-the-gate': () => closing().ended('closePullRequest', mergedThere),
  'pull-request-refused-then-merged-at-the-gate': () =>
    approved(
      approved(opened()).ended('mergePullRequest', { kind: 'refused', message: 'The check ci is expected.' }),
    ).ended('mergePullRequest', { ...mergedThere, by: null, method: 'merge', notices: [] }),
  'pull-request-closed-before-it-is-merged-at-the-gate': () =>
    approved(opened()).ended('mergePullRequest', { kind: 'closed' }),
  'pull-request-behind-its-base-verified-again': () =>
    withPullRequest(
      approved(opened()).ended('mergePullRequest', { kind: 'outdated', message: 'It is behind.' }).ended('integrate', {
        moved: true,
        baseCommit: 'base2',
        commit: 'c-with-base',
        codeTree: 't-merged',
        planPath: '',
      }),
    ),
  'reviewers-ask-done-in-one-more-phase-and-answered': () =>
    inOneMorePhase(opened().ended('followPullRequest', asked)).ended('followPullRequest', mergedThere),
  'reviewers-ask-too-often-a-person-sends-it-back': () =>
    inOneMorePhase(
      opened({ git: { ...createPR.git, maxReviewRounds: 0 } })
        .ended('followPullRequest', asked)
        .send('APPROVAL_REJECTED', { by, feedback: 'Do what she says.' }),
    ),
  'forked-at-the-pull-request-opens-its-own': () => fork(opened()).ended('followPullRequest', { kind: 'none' }),
  'forked-at-the-pull-request-left-open': () =>
    fork(opened()).send('FIX_DECIDED', { by, decision: 'accept', reason: 'It can wait.' }),
  'forked-at-the-pull-request-merged': () => approved(fork(opened())),
  'forked-while-the-pull-request-is-closed': () => fork(closing()),
  'cancelled-while-phases-run': () => ready(threePhases).send('RUN_CANCELLED', { by, reason: 'Enough.' }),
  'message-and-budget-while-phases-run': () =>
    merged(
      ready(threePhases)
        .send('MESSAGE_SENT', { by, text: 'Keep it short.' })
        .send('BUDGET_CHANGED', { by, maxTokens: 1_000 })
        .ended('phase-1-1', child(1)),
    ),
  'budget-used-up-then-raised': () =>
    done().fail('checkAsIs', 'budget').send('BUDGET_CHANGED', { by, maxTokens: 2_000 }),
  'check-takes-too-long-then-extended': () =>
    done().fail('checkAsIs', 'timeout').send('STAGE_EXTENDED', { by, minutes: 20 }),
  'a-limit-of-a-remote-ends-resumes-by-itself': () => started().rateLimited('prepare', 60_000).fire(),
  ...Object.fromEntries(
    Object.entries(failing).map(([activity, way]) => [
      `${activity.toLowerCase()}-fails-paused-retried`,
      () => retried(way().fail(activity, 'storage_full')),
    ]),
  ),
};

function fork(run: DrivenRun): DrivenRun {
  const { branch } = run.events[0]?.payload ?? {};
  return run.send('RUN_FORKED', { from: 'r0', at: run.state.sequence, by, branch: branch ?? '', waitedMs: 0 });
}
