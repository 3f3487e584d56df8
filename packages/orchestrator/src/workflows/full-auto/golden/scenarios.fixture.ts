/** Ways through a full-auto run, driven by hand: together they take every state, every transition and every signal. */
import type { JsonObject, JsonValue } from '@autonomous/shared';
import { DrivenRun } from '../../driven-run.ts';
import { whyRested } from '../../rested.fixture.ts';
import { newestOf } from '../../workflow.ts';
import { fullAuto } from '../index.ts';

/** A run by the ways that it goes, in order of their recording. */
type Scenarios = Readonly<Record<string, () => DrivenRun>>;

const by = 'me';
const config = {
  trustMode: { planning: 'auto', implementation: 'auto', fixes: 'auto' },
  maxClarifications: 3,
  maxConcurrency: 4,
  maxFixAttempts: 3,
  modelRouting: { 'feature-lister': 'scripted:play' },
  timeoutMinutes: { validation: 5 },
  git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
  commands: {},
};
const merging = { git: { ...config.git, autoMerge: true } };
const proposing = { git: { ...config.git, createPR: true } };
const manual = { trustMode: { ...config.trustMode, implementation: 'manual' } };

const feature = (id: string, ...dependencies: readonly string[]): JsonObject => ({
  id,
  name: `Feature ${id}`,
  description: `Build ${id}.`,
  component: 'core',
  dependencies: [...dependencies],
});
const cost = {
  model: 'scripted:play',
  role: 'feature-lister',
  inputTokens: 10,
  outputTokens: 5,
  calls: 1,
  scripted: true,
};
const test = { command: 'npm test', source: 'package.json' };
const owned = (commit = 'c-list'): JsonObject => ({
  to: 'branch',
  branch: 'autonomous/r-sounds',
  commit,
  paths: ['docs/research-sounds/feature-list.json'],
});

const started = (change: object = {}, input: JsonObject = {}): DrivenRun =>
  new DrivenRun(newestOf(fullAuto)).begin({
    request: 'Build the sounds',
    config: { ...config, ...change },
    branch: 'autonomous/r-sounds',
    input: {
      topic: 'Sounds',
      ...(input['plan'] === null ? {} : { plan: 'docs/research-sounds' }),
      maxAttempts: 3,
      maxIterations: 100,
      ...without(input, 'plan'),
    },
  });
const without = (record: JsonObject, key: string): JsonObject =>
  Object.fromEntries(Object.entries(record).filter(([each]) => each !== key));
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
const researched = (): DrivenRun =>
  prepared({}, { plan: null }).ended('research-and-plan', {
    ...child(0),
    output: { planData: 'docs/research-sounds/sounds-plan.json', openBlockers: [] },
  });
const planned = (run: DrivenRun): DrivenRun =>
  run.ended('readPlan', { path: 'docs/research-sounds/sounds-plan.json', fault: null, codeTree: 't-before' });
const listed = (
  run: DrivenRun,
  features: readonly JsonObject[],
  faults: readonly string[] = [],
  testCommand: string | null = null,
): DrivenRun => run.ended('feature-lister', { features: [...features], faults: [...faults], testCommand, cost });
const written = (run: DrivenRun, commit?: string): DrivenRun => run.ended('writeFiles', owned(commit));
/** The attempts begin. */
const begun = (
  features: readonly JsonObject[] = [feature('F1')],
  change: object = {},
  input: JsonObject = {},
  more: JsonObject = {},
): DrivenRun => written(listed(planned(prepared(change, input, more)), features));
/** Two features that do not need each other. */
const twoBegun = (): DrivenRun => begun([feature('F1'), feature('F2')]);
const child = (iteration: number): JsonObject => ({
  runId: `child-${iteration}`,
  status: 'completed',
  branch: `autonomous/child-${iteration}`,
  baseCommit: 'base',
  headCommit: `c-${iteration}`,
  codeTree: `t-${iteration}`,
  output: null,
});
const integrated = (fastForward = true): JsonObject => ({ commit: 'c-merge', codeTree: 't-merged', fastForward });
const moved: JsonObject = { commit: 'c-moved', codeTree: 't-merged' };
const proved = (run: DrivenRun, fault: string | null = null, accepted: string | null = null): DrivenRun =>
  run.ended('proveFeature', { fault, accepted });
const passed = (run: DrivenRun, iteration = 1): DrivenRun => {
  const codeTree = iteration === 1 ? 't-merged' : `t-merged-${iteration}`;
  proved(run.ended(`feature-${iteration}`, child(iteration)).ended('integrateChild', { ...integrated(), codeTree }));
  return written(run.ended('mergeChild', { ...moved, codeTree }), 'c-passes');
};
const failed = (run: DrivenRun, iteration = 1): DrivenRun =>
  written(run.fail(`feature-${iteration}`, 'agent_failed', 'Child run was cancelled.'), `c-failed-${iteration}`);
/** Nothing is left: the files say so. */
const over = (run: DrivenRun): DrivenRun => written(run, 'c-over');
const rested = (kind: 'asks' | 'unfinished' | 'untouched', iteration = 1, more: JsonObject = {}): JsonObject => ({
  actor: `feature-${iteration}`,
  gate: `child-${iteration}.9`,
  kind,
  ...whyRested(kind),
  ...more,
});
const checked = (mode: 'as_is' | 'base_tests', isGreen = true): JsonValue => ({
  mode,
  codeTree: 't-merged',
  commit: 'c-merged',
  passed: isGreen,
  restored: [],
  sandbox: 'bubblewrap',
  commands: [
    {
      command: 'npm test',
      exitCode: isGreen ? 0 : 1,
      durationMs: 10,
      output: isGreen ? 'ok' : 'not ok',
      isTruncated: false,
    },
  ],
});
const one = (change: object = {}, more: JsonObject = {}): DrivenRun =>
  over(passed(begun([feature('F1')], change, {}, more)));
/** The first feature passes, the second fails at its only attempt. */
const withFailure = (change: object = {}, more: JsonObject = {}): DrivenRun =>
  over(failed(passed(begun([feature('F1'), feature('F2'), feature('F3', 'F2')], change, { maxAttempts: 1 }, more)), 2));
const verified = (run: DrivenRun): DrivenRun =>
  run
    .ended('checkAsIs', checked('as_is'))
    .ended('checkBaseTests', checked('base_tests'))
    .ended('findConcerns', { concerns: [] });
/** The files are as the server wrote them. */
const kept = (run: DrivenRun, commit: string | null = null): DrivenRun =>
  run.ended('keepFiles', { ...owned(), commit });
const recorded = (run: DrivenRun): DrivenRun =>
  kept(run).ended('recordRun', { commit: 'c-record', codeTree: 't-merged', notices: ['Two lines were left out.'] });
const pushed = (run: DrivenRun): DrivenRun => recorded(run).ended('pushBranch', { commit: 'c-record', pushed: true });
const approved = (run: DrivenRun): DrivenRun =>
  run.send('APPROVAL_GRANTED', { by, gateId: run.view?.gate?.id, codeTree: 't-merged' });
const retried = (run: DrivenRun, notes?: string): DrivenRun =>
  run.send('RETRY_REQUESTED', { by, ...(notes === undefined ? {} : { notes }) });
const decided = (run: DrivenRun, decision: 'accept' | 'retry', reason?: string): DrivenRun =>
  run.send('FIX_DECIDED', { by, decision, ...(reason === undefined ? {} : { reason }) });
const concern = { kind: 'no_change', title: 'Nothing was changed', items: [{ reason: 'It is the base.' }], hash: 'h' };
const toMerge = (): DrivenRun =>
  pushed(
    verified(one(merging)).ended('integrate', { moved: false, baseCommit: 'base', commit: 'c', codeTree: 't-merged' }),
  );
/** Pauses with one way on, which a person chooses. */
const way = (run: DrivenRun, activity: string, reason: string, chosen: string): DrivenRun =>
  run
    .fail(activity, reason, 'Stopped.', { ways: [{ way: chosen, text: `Choose ${chosen}`, note: 'As chosen.' }] })
    .send('CLARIFICATION_ANSWERED', { by, response: `Choose ${chosen}`, choices: [`Choose ${chosen}`] });

/** Runs whose next activity fails. */
const failing: Readonly<Record<string, () => DrivenRun>> = {
  prepare: () => started(),
  'research-and-plan': () => prepared({}, { plan: null }),
  integratePlan: () => researched(),
  mergePlan: () => researched().ended('integratePlan', integrated()),
  readPlan: () => prepared(),
  'feature-lister': () => planned(prepared()),
  writeFiles: () => listed(planned(prepared()), [feature('F1')]),
  watchFeature: () => begun(),
  integrateChild: () => begun().ended('feature-1', child(1)),
  proveFeature: () => begun().ended('feature-1', child(1)).ended('integrateChild', integrated()),
  checkMerge: () => proved(begun().ended('feature-1', child(1)).ended('integrateChild', integrated(false))),
  mergeChild: () => proved(begun().ended('feature-1', child(1)).ended('integrateChild', integrated())),
  checkAsIs: () => one(),
  checkBaseTests: () => one().ended('checkAsIs', checked('as_is')),
  findConcerns: () => one().ended('checkAsIs', checked('as_is')).ended('checkBaseTests', checked('base_tests')),
  integrate: () => verified(one(merging)),
  keepFiles: () => verified(one()),
  recordRun: () => kept(verified(one())),
  pushBranch: () => recorded(verified(one())),
  takeIn: () => way(recorded(verified(one())), 'pushBranch', 'push_rejected', 'take_in'),
  pushBeside: () => way(recorded(verified(one())), 'pushBranch', 'push_rejected', 'push_beside'),
  merge: () => toMerge(),
};

export const scenarios: Scenarios = {
  'one feature pushed': () => pushed(verified(one())),
  'one feature merged': () => toMerge().ended('merge', { merged: true, commit: 'c-main', strategy: 'squash' }),
  'two features, the second on top of the first': () =>
    pushed(verified(over(passed(passed(begun([feature('F2', 'F1'), feature('F1')])), 2)))),
  'a topic is researched and planned first': () =>
    written(
      listed(planned(researched().ended('integratePlan', integrated()).ended('mergePlan', moved)), [feature('F1')]),
    ),
  'no plan': () =>
    prepared().ended('readPlan', { path: 'docs/none', fault: 'There is no plan.', codeTree: 't-before' }),
  'a cycle is sent back once': () =>
    written(listed(listed(planned(prepared()), [feature('F1', 'F1')], ['F1 → F1 is a cycle.']), [feature('F1')])),
  'a cycle twice, a person has it listed anew': () => {
    const circle = [feature('F1', 'F1')];
    const run = listed(listed(planned(prepared()), circle, ['F1 → F1 is a cycle.']), circle, ['F1 → F1 is a cycle.']);
    return written(listed(retried(run, 'One feature is enough.'), [feature('F1')]));
  },
  'a feature that fails three times is skipped, its dependant is not reached': () =>
    pushed(
      verified(
        over(failed(failed(failed(passed(begun([feature('F1'), feature('F2'), feature('F3', 'F2')])), 2), 3), 4)),
      ),
    ),
  'nothing passes': () => over(failed(begun([feature('F1')], {}, { maxAttempts: 1 }))),
  'iterations are used up': () =>
    pushed(verified(over(passed(begun([feature('F1'), feature('F2')], {}, { maxIterations: 1 }))))),
  'iterations are used up, a person has more': () =>
    passed(
      decided(
        verified(over(passed(begun([feature('F1'), feature('F2')], merging, { maxIterations: 1 })))),
        'retry',
        'Go on.',
      ),
      2,
    ),
  'an attempt whose checks stay red is stopped, then it passes': () =>
    pushed(verified(over(passed(written(begun().ended('watchFeature', rested('unfinished'))), 2)))),
  'an attempt that changed nothing': () => written(begun().ended('watchFeature', rested('untouched'))),
  'an attempt waits for a person, then it passes': () =>
    pushed(verified(over(passed(begun().ended('watchFeature', rested('asks')))))),
  'a result waits for a person while the next feature is built, and is merged after it': () =>
    pushed(
      verified(
        over(
          passed(
            passed(written(twoBegun().ended('watchFeature', rested('asks', 1, { ofResult: true })), 'c-waits'), 2),
            1,
          ),
        ),
      ),
    ),
  'a result that waits is stopped, and tried again': () =>
    passed(
      written(
        passed(written(twoBegun().ended('watchFeature', rested('asks', 1, { ofResult: true })), 'c-waits'), 2).ended(
          'watchFeature',
          rested('unfinished'),
        ),
        'c-failed',
      ),
      3,
    ),
  'an attempt that a person cancels is the last one': () =>
    passed(
      written(
        twoBegun().fail('feature-1', 'agent_failed', "Child run child-1 of workflow 'build' was cancelled by ada: No."),
      ),
      2,
    ),
  'a person accepts a result whose checks fail': () =>
    written(
      proved(
        begun().ended('feature-1', child(1)).ended('integrateChild', integrated()),
        null,
        'ada: It is for a demo.',
      ).ended('mergeChild', moved),
    ),
  'a plan with open blockers': () =>
    prepared({}, { plan: null }).ended('research-and-plan', {
      ...child(0),
      output: {
        planData: 'docs/research-sounds/sounds-plan.json',
        openBlockers: [{ id: 'I1', text: 'It is too loud.' }],
      },
    }),
  'a result that changes nothing': () =>
    written(
      begun()
        .ended('feature-1', child(1))
        .ended('integrateChild', { ...integrated(), codeTree: 't-before' }),
    ),
  'the merge conflicts, the feature is tried again': () =>
    written(begun().ended('feature-1', child(1)).fail('integrateChild', 'merge_conflict')),
  'the merged tree is red, the feature is tried again': () =>
    written(
      proved(begun().ended('feature-1', child(1)).ended('integrateChild', integrated(false))).ended(
        'checkMerge',
        checked('as_is', false),
      ),
    ),
  'a feature without a test of its own is tried again': () =>
    written(
      proved(begun().ended('feature-1', child(1)).ended('integrateChild', integrated()), 'no test is new or changed.'),
    ),
  'the merged tree is green': () =>
    written(
      proved(begun().ended('feature-1', child(1)).ended('integrateChild', integrated(false)))
        .ended('checkMerge', checked('as_is'))
        .ended('mergeChild', moved),
    ),
  'failures, a person merges them all the same': () =>
    pushed(
      approved(verified(withFailure(merging))).ended('integrate', {
        moved: false,
        baseCommit: 'base',
        commit: 'c',
        codeTree: 't-merged',
      }),
    ).ended('merge', { merged: true, commit: 'c-main', strategy: 'squash' }),
  'failures, a person leaves the branch': () =>
    pushed(decided(verified(withFailure(merging)), 'accept', 'I look at it tomorrow.')),
  'failures, a person has them tried again': () => passed(decided(verified(withFailure(merging)), 'retry'), 3),
  'failures in a pull request': () => pushed(verified(withFailure(proposing))),
  'the result is checked again': () => verified(decided(verified(one(manual)), 'retry')),
  'result approved by a person': () => pushed(approved(verified(one(manual)))),
  'a pull request approved by a person': () => pushed(approved(verified(one({ ...manual, ...proposing })))),
  'concerns approved by a person': () =>
    pushed(
      approved(
        one()
          .ended('checkAsIs', checked('as_is'))
          .ended('checkBaseTests', checked('base_tests'))
          .ended('findConcerns', { concerns: [concern] }),
      ),
    ),
  'the list names the test command': () =>
    passed(written(listed(planned(prepared({}, {}, { test: null })), [feature('F1')], [], 'node --test'))),
  "files that others changed are the server's again": () => kept(verified(one()), 'c-kept'),
  'the whole is red': () => one().ended('checkAsIs', checked('as_is', false)).ended('findConcerns', { concerns: [] }),
  'the whole is red with the tests of the base': () =>
    one()
      .ended('checkAsIs', checked('as_is'))
      .ended('checkBaseTests', checked('base_tests', false))
      .ended('findConcerns', { concerns: [] }),
  'the base has moved, checked again': () =>
    verified(
      verified(one(merging)).ended('integrate', {
        moved: true,
        baseCommit: 'base2',
        commit: 'c-with-base',
        codeTree: 't-with-base',
        planPath: '',
      }),
    ),
  'the base moves before the merge': () => toMerge().ended('merge', { merged: false }),
  'a refused push left as the branch that is pushed': () =>
    way(recorded(verified(one())), 'pushBranch', 'push_rejected', 'leave_pushed'),
  'a conflict with the base, left as the branch': () =>
    pushed(way(verified(one(merging)), 'integrate', 'merge_conflict', 'leave_branch')),
  'commits of others taken in': () =>
    pushed(
      verified(
        way(recorded(verified(one())), 'pushBranch', 'push_rejected', 'take_in').ended('takeIn', {
          commit: 'c-taken',
          codeTree: 't-taken',
          baseCommit: 'base2',
          planPath: '',
          conflicts: [],
        }),
      ),
    ),
  'commits of others, pushed beside them': () =>
    way(recorded(verified(one())), 'pushBranch', 'push_rejected', 'push_beside').ended('pushBeside', {
      commit: 'c-record',
      pushed: true,
      branch: 'autonomous/r-sounds-beside',
    }),
  'cancelled while a feature is built': () => begun().send('RUN_CANCELLED', { by, reason: 'Enough.' }),
  'message and budget while a feature is built': () =>
    failed(
      begun().send('MESSAGE_SENT', { by, text: 'Keep it short.' }).send('BUDGET_CHANGED', { by, maxTokens: 1_000 }),
    ),
  'a feature ends while the run is paused': () =>
    retried(begun().fail('watchFeature', 'storage_full').ended('feature-1', child(1))),
  'a feature fails while the run is paused': () =>
    retried(begun().fail('watchFeature', 'storage_full').fail('feature-1', 'agent_failed', 'It was cancelled.')),
  'budget used up, then raised': () =>
    planned(prepared()).fail('feature-lister', 'budget').send('BUDGET_CHANGED', { by, maxTokens: 2_000 }),
  'check takes too long, then extended': () =>
    one().fail('checkAsIs', 'timeout').send('STAGE_EXTENDED', { by, minutes: 20 }),
  'a limit of a provider ends, resumes by itself': () =>
    planned(prepared()).rateLimited('feature-lister', 60_000).fire(),
  'a limit of a provider is reached again and again, a person retries': () => {
    const run = planned(prepared());
    for (let resumes = 0; resumes < 5; resumes++) run.rateLimited('feature-lister', 60_000).fire();
    run.rateLimited('feature-lister', 60_000).send('RETRY_REQUESTED', { by: 'me' });
    return run.rateLimited('feature-lister', 60_000).fire();
  },
  ...Object.fromEntries(
    Object.entries(failing).map(([activity, until]) => [
      `${activity.toLowerCase()} fails, paused, retried`,
      () => retried(until().fail(activity)),
    ]),
  ),
};
