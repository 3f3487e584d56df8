/** Ways through the workflow of a backlog, driven by hand: together they take every state, every transition and every signal. */
import type { JsonObject, JsonValue } from '@autonomous/shared';
import { DrivenRun } from '../../driven-run.ts';
import { whyRested } from '../../rested.fixture.ts';
import { newestOf } from '../../workflow.ts';
import { backlog } from '../index.ts';

/** A run by the ways that it goes, in order of their recording. */
type Scenarios = Readonly<Record<string, () => DrivenRun>>;

const by = 'me';
const config = {
  trustMode: { implementation: 'auto' },
  maxClarifications: 3,
  maxConcurrency: 4,
  maxFixAttempts: 3,
  modelRouting: {},
  timeoutMinutes: { validation: 5 },
  git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
  commands: {},
};
const merging = { git: { ...config.git, autoMerge: true } };
const manual = { trustMode: { implementation: 'manual' } };

const item = (id: string): JsonObject => ({
  id,
  title: `Do ${id}`,
  specPath: `ai/features/${id}.md`,
  allowedFiles: { changes: ['src/*.js'], newFiles: [] },
  environment: ['nodejs: true'],
});
/** Asks for a program that its sandbox has to have. */
const needy = (id: string): JsonObject => ({ ...item(id), needs: [{ line: 'docker: true', program: 'docker' }] });
const bare = (id: string): JsonObject => ({ id, title: '', specPath: null, environment: [] });
const chosen = (next: JsonObject | null, done = 0, more: JsonObject = {}): JsonObject => ({
  codeTree: 't-before',
  counts: { total: 3, done },
  skipped: [],
  item: next,
  end: next === null ? { kind: 'done' } : null,
  ...more,
});
const test = { command: 'npm test', source: 'package.json' };
const committed = { to: 'base', branch: 'main', commit: 'c-status', paths: ['ai/backlog.md'] };
const onBranch = {
  to: 'branch',
  branch: 'autonomous/r-backlog',
  commit: 'c-status',
  paths: ['ai/backlog.md'],
  why: 'it is protected',
};

const started = (change: object = {}, input: JsonObject = {}): DrivenRun =>
  new DrivenRun(newestOf(backlog)).begin({
    request: 'Work through ai/backlog.md',
    config: { ...config, ...change },
    branch: 'autonomous/r-backlog',
    input: {
      file: 'ai/backlog.md',
      specs: 'ai/features',
      maxIterations: 20,
      keepGoing: false,
      parallel: 1,
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
/** Begins an attempt at the item. */
const begun = (run: DrivenRun, next: JsonObject, status: JsonObject = committed): DrivenRun =>
  run.ended('chooseItem', chosen(next)).ended('claimItem', status);
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
const set = (run: DrivenRun): DrivenRun => run.ended('setStatus', committed);
/** The attempt's result is merged and its item done. */
const finished = (run: DrivenRun, iteration = 1): DrivenRun =>
  run.ended(`item-${iteration}`, child(iteration)).ended('integrateChild', integrated()).ended('mergeChild', moved);
const finishedAfter = (run: DrivenRun): DrivenRun =>
  run.ended('integrateChild', integrated()).ended('mergeChild', moved);
const failedAttempt = (run: DrivenRun, iteration: number): DrivenRun =>
  set(run.fail(`item-${iteration}`, 'agent_failed', `Child run child-${iteration} was cancelled.`));
const rested = (kind: 'asks' | 'unfinished' | 'untouched', iteration = 1): JsonObject => ({
  actor: `item-${iteration}`,
  gate: `child-${iteration}.9`,
  kind,
  ...whyRested(kind),
});
const nothingLeft = (run: DrivenRun): DrivenRun => run.ended('chooseItem', chosen(null, 1));
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
const one = (change: object = {}, input: JsonObject = {}, more: JsonObject = {}): DrivenRun =>
  nothingLeft(finished(begun(prepared(change, input, more), item('TECH-1'))));
/** The table is read again before anything is published. */
const readAgain = (run: DrivenRun): DrivenRun =>
  run.open.includes('readAgain') ? run.ended('readAgain', { faults: [], counts: { total: 3, done: 1 } }) : run;
const checkedAll = (run: DrivenRun): DrivenRun =>
  run
    .ended('checkAsIs', checked('as_is'))
    .ended('checkBaseTests', checked('base_tests'))
    .ended('findConcerns', { concerns: [] });
const verified = (run: DrivenRun): DrivenRun => readAgain(checkedAll(run));
const recorded = (run: DrivenRun): DrivenRun =>
  run.ended('recordRun', { commit: 'c-record', codeTree: 't-merged', notices: [] });
const pushed = (run: DrivenRun): DrivenRun => recorded(run).ended('pushBranch', { commit: 'c-record', pushed: true });
const published = (run: DrivenRun): DrivenRun => pushed(run).ended('markDone', committed);
const approved = (run: DrivenRun): DrivenRun =>
  readAgain(run.send('APPROVAL_GRANTED', { by, gateId: run.view?.gate?.id, codeTree: 't-merged' }));
const retried = (run: DrivenRun, notes?: string): DrivenRun =>
  run.send('RETRY_REQUESTED', { by, ...(notes === undefined ? {} : { notes }) });
/** A person has what was left tried again. */
const again = (run: DrivenRun, reason?: string): DrivenRun =>
  run.send('FIX_DECIDED', { by, decision: 'retry', ...(reason === undefined ? {} : { reason }) });
const concern = { kind: 'no_change', title: 'Nothing was changed', items: [{ reason: 'It is the base.' }], hash: 'h' };

/** The item is left unfinished three times. */
const blocked = (input: JsonObject = {}): DrivenRun => {
  const run = prepared({}, input);
  for (const iteration of [1, 2, 3]) failedAttempt(begun(run, item('TECH-1')), iteration);
  return run;
};
const toMerge = (): DrivenRun => pushed(verified(one(merging)).ended('integrate', { moved: false }));

/** The base takes no pushes: the statuses are on the run's branch. */
const oneOnBranch = (): DrivenRun => nothingLeft(finished(begun(prepared(), item('TECH-1'), onBranch)));
/** Pauses with one way on, which a person chooses. */
const way = (run: DrivenRun, activity: string, reason: string, chosen: string): DrivenRun =>
  run
    .fail(activity, reason, 'Stopped.', { ways: [{ way: chosen, text: `Choose ${chosen}`, note: 'As chosen.' }] })
    .send('CLARIFICATION_ANSWERED', { by, response: `Choose ${chosen}`, choices: [`Choose ${chosen}`] });

/** Runs whose next activity fails. */
const failing: Readonly<Record<string, () => DrivenRun>> = {
  prepare: () => started(),
  chooseItem: () => prepared(),
  watchItems: () => begun(prepared(), item('TECH-1')),
  checkEnvironment: () => prepared().ended('chooseItem', chosen(needy('TECH-1'))),
  claimItem: () => prepared().ended('chooseItem', chosen(item('TECH-1'))),
  integrateChild: () => begun(prepared(), item('TECH-1')).ended('item-1', child(1)),
  checkMerge: () =>
    begun(prepared(), item('TECH-1')).ended('item-1', child(1)).ended('integrateChild', integrated(false)),
  mergeChild: () => begun(prepared(), item('TECH-1')).ended('item-1', child(1)).ended('integrateChild', integrated()),
  setStatus: () => begun(prepared(), item('TECH-1')).fail('item-1', 'agent_failed', 'It was cancelled.'),
  markDone: () => pushed(verified(one())),
  markOnBranch: () => verified(oneOnBranch()),
  takeIn: () => way(recorded(verified(one())), 'pushBranch', 'push_rejected', 'take_in'),
  pushBeside: () => way(recorded(verified(one())), 'pushBranch', 'push_rejected', 'push_beside'),
  checkAsIs: () => one(),
  checkBaseTests: () => one().ended('checkAsIs', checked('as_is')),
  findConcerns: () => one().ended('checkAsIs', checked('as_is')).ended('checkBaseTests', checked('base_tests')),
  readAgain: () => checkedAll(one()),
  integrate: () => verified(one(merging)),
  recordRun: () => verified(one()),
  pushBranch: () => recorded(verified(one())),
  merge: toMerge,
};

export const scenarios: Scenarios = {
  'one item pushed': () => published(verified(one())),
  'one item merged': () =>
    toMerge().ended('merge', { merged: true, commit: 'c-main', strategy: 'squash' }).ended('markDone', committed),
  'two items, the second from what the first gave, one without a specification': () =>
    published(verified(nothingLeft(finished(begun(finished(begun(prepared(), item('TECH-1'))), bare('TECH-2')), 2)))),
  'nothing queued': () => prepared().ended('chooseItem', chosen(null, 3)),
  'the table cannot be read, corrected, retried': () =>
    retried(
      prepared().ended(
        'chooseItem',
        chosen(null, 0, {
          end: { kind: 'faults', faults: ['Line 4: TECH-1 stands in lines 3 and 4. Leave one.'] },
        }),
      ),
    ).ended('chooseItem', chosen(null, 3)),
  'two items at the same time, the second is checked with the first': () => {
    const run = begun(begun(prepared({}, { parallel: 2 }), item('TECH-1')), item('TECH-2'));
    run.ended('item-2', child(2)).ended('integrateChild', integrated()).ended('mergeChild', moved);
    // The first one ends while the next item is chosen.
    run.ended('item-1', child(1)).ended('chooseItem', chosen(null));
    run.ended('integrateChild', { ...integrated(false), codeTree: 't-both' }).ended('checkMerge', checked('as_is'));
    return published(verified(nothingLeft(run.ended('mergeChild', moved))));
  },
  'one item under way and none that can be begun beside it': () => {
    const run = begun(prepared({}, { parallel: 2 }), item('TECH-1')).ended('chooseItem', chosen(null));
    return published(verified(nothingLeft(finished(run))));
  },
  'the programs that an item asks for are there': () =>
    published(
      verified(
        nothingLeft(
          finished(
            prepared()
              .ended('chooseItem', chosen(needy('TECH-1')))
              .ended('checkEnvironment', { reason: null })
              .ended('claimItem', committed),
          ),
        ),
      ),
    ),
  'a program that an item asks for is missing, a person has it tried again': () =>
    begun(
      set(
        again(
          set(
            prepared()
              .ended('chooseItem', chosen(needy('TECH-1')))
              .ended('checkEnvironment', { reason: 'the sandbox has no docker' }),
          ),
        ),
      ),
      item('TECH-1'),
    ),
  'a program that an item asks for is missing, the others go on': () => {
    const run = prepared({}, { keepGoing: true })
      .ended('chooseItem', chosen(needy('TECH-1')))
      .ended('checkEnvironment', { reason: 'the sandbox has no docker' });
    return finished(begun(set(run), item('TECH-2')));
  },
  'left unfinished, then done': () => {
    const run = failedAttempt(begun(prepared(), item('TECH-1')), 1);
    return published(verified(nothingLeft(finished(begun(run, item('TECH-1')), 2))));
  },
  'left unfinished too often, a person has it tried again with a note': () =>
    published(verified(nothingLeft(finished(begun(set(again(blocked(), 'Use the new API.')), item('TECH-1')), 4)))),
  'left unfinished too often, tried again without a word': () => set(again(blocked())),
  'blocked before, others wait for it, a person has it tried': () =>
    begun(
      set(
        again(
          prepared().ended(
            'chooseItem',
            chosen(null, 0, { skipped: ['TECH-3'], end: { kind: 'blocked', id: 'TECH-1', item: 'TECH-1' } }),
          ),
        ),
      ),
      item('TECH-1'),
    ),
  'left unfinished too often, nothing is done, a person finishes': () =>
    blocked().send('FIX_DECIDED', { by, decision: 'accept', reason: 'Tomorrow.' }),
  'blocked, the others go on, dependants are skipped': () => {
    const run = finished(begun(blocked({ keepGoing: true }), item('TECH-2')), 4);
    run.ended(
      'chooseItem',
      chosen(null, 1, { skipped: ['TECH-3'], end: { kind: 'blocked', id: 'TECH-1', item: 'TECH-1: Do TECH-1' } }),
    );
    return published(verified(run.send('FIX_DECIDED', { by, decision: 'accept', reason: 'The rest is fine.' })));
  },
  'an attempt whose checks stay red is stopped and the item tried again': () => {
    const run = begun(prepared(), item('TECH-1')).ended('watchItems', rested('unfinished'));
    return published(verified(nothingLeft(finished(begun(set(run), item('TECH-1')), 2))));
  },
  'an attempt that changed nothing, twice': () => {
    const run = prepared();
    for (const iteration of [1, 2]) set(begun(run, item('TECH-1')).ended('watchItems', rested('untouched', iteration)));
    return run;
  },
  'an item waits for a person, nothing else is begun': () =>
    published(verified(nothingLeft(finished(begun(prepared(), item('TECH-1')).ended('watchItems', rested('asks')))))),
  'an item waits for a person, the next is begun beside it': () => {
    const run = begun(prepared({}, { keepGoing: true }), item('TECH-1')).ended('watchItems', rested('asks'));
    finished(begun(run, item('TECH-2')), 2).ended('chooseItem', chosen(null));
    run.ended('item-1', child(1)).ended('integrateChild', { ...integrated(), codeTree: 't-both' });
    return published(verified(nothingLeft(run.ended('mergeChild', moved))));
  },
  'untouched twice': () => {
    const run = prepared();
    for (const iteration of [1, 2])
      set(
        begun(run, item('TECH-1'))
          .ended(`item-${iteration}`, child(iteration))
          .ended('integrateChild', { ...integrated(), codeTree: 't-before' }),
      );
    return run;
  },
  'the merge conflicts, the item is tried again': () =>
    set(begun(prepared(), item('TECH-1')).ended('item-1', child(1)).fail('integrateChild', 'merge_conflict')),
  'the merged tree is red, the item is tried again': () =>
    set(
      begun(prepared(), item('TECH-1'))
        .ended('item-1', child(1))
        .ended('integrateChild', integrated(false))
        .ended('checkMerge', checked('as_is', false)),
    ),
  'attempts are used up, then more': () =>
    begun(
      again(
        failedAttempt(begun(prepared({}, { maxIterations: 1 }), item('TECH-1')), 1).ended(
          'chooseItem',
          chosen(null, 0, { end: { kind: 'iterations' } }),
        ),
        'Take your time.',
      ),
      item('TECH-1'),
    ),
  'an item that is merged is withdrawn before it is published, then restored': () =>
    published(
      retried(
        checkedAll(one()).ended('readAgain', {
          faults: ["ai/backlog.md says that TECH-1 is 'blocked'."],
          counts: { total: 4, done: 1 },
        }),
      ).ended('readAgain', { faults: [], counts: null }),
    ),
  'statuses on the run branch': () =>
    pushed(verified(oneOnBranch()).ended('markOnBranch', { ...onBranch, commit: 'c-marked' })),
  'the run branch has another status, a person is asked': () =>
    verified(oneOnBranch()).fail('markOnBranch', 'merge_conflict').send('RETRY_REQUESTED', { by }),
  'the base refuses the last statuses': () =>
    pushed(verified(one())).ended('markDone', onBranch).ended('pushBranch', { commit: 'c-status', pushed: true }),
  'a person sets another status before the item is claimed': () =>
    nothingLeft(
      prepared()
        .ended('chooseItem', chosen(item('TECH-1')))
        .fail('claimItem', 'merge_conflict'),
    ),
  'a person decides otherwise before the item is tried again': () =>
    nothingLeft(again(blocked()).fail('setStatus', 'merge_conflict')),
  'an attempt ends while there is nothing to be begun': () => {
    const run = begun(prepared({}, { parallel: 2 }), item('TECH-1')).ended('item-1', child(1));
    return nothingLeft(finishedAfter(run.ended('chooseItem', chosen(null))));
  },
  'the result is checked again': () => verified(retried(verified(one(manual)))),
  'a refused push left as the branch that is pushed': () =>
    way(recorded(verified(one())), 'pushBranch', 'push_rejected', 'leave_pushed').ended('markDone', committed),
  'a conflict with the base, left as the branch': () =>
    published(way(verified(one(merging)), 'integrate', 'merge_conflict', 'leave_branch')),
  'commits of others taken in': () =>
    published(
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
    way(recorded(verified(one())), 'pushBranch', 'push_rejected', 'push_beside')
      .ended('pushBeside', { commit: 'c-record', pushed: true, branch: 'autonomous/r-backlog-beside' })
      .ended('markDone', committed),
  'no tests, a person approves': () =>
    published(approved(one({}, {}, { test: null }).ended('findConcerns', { concerns: [] }))),
  'result approved by a person': () => published(approved(verified(one(manual)))),
  'concerns approved by a person': () =>
    published(
      approved(
        one()
          .ended('checkAsIs', checked('as_is'))
          .ended('checkBaseTests', checked('base_tests'))
          .ended('findConcerns', { concerns: [concern] }),
      ),
    ),
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
  'the base has moved by statuses alone': () =>
    pushed(
      verified(one(merging)).ended('integrate', {
        moved: true,
        baseCommit: 'base2',
        commit: 'c-with-base',
        codeTree: 't-merged',
        planPath: '',
      }),
    ),
  'the base moves before the merge': () => toMerge().ended('merge', { merged: false }),
  'cancelled while an item is done': () =>
    begun(prepared(), item('TECH-1')).send('RUN_CANCELLED', { by, reason: 'Enough.' }),
  'message and budget while an item is done': () =>
    begun(
      failedAttempt(
        begun(prepared(), item('TECH-1'))
          .send('MESSAGE_SENT', { by, text: 'Keep it short.' })
          .send('BUDGET_CHANGED', { by, maxTokens: 1_000 }),
        1,
      ),
      item('TECH-1'),
    ),
  'an item ends while the run is paused': () =>
    retried(
      begun(prepared({}, { parallel: 2 }), item('TECH-1'))
        .fail('chooseItem', 'remote_unavailable')
        .ended('item-1', child(1)),
    ),
  'an attempt that a person cancels blocks its item': () =>
    set(
      begun(prepared(), item('TECH-1')).fail(
        'item-1',
        'agent_failed',
        "Child run child-1 of workflow 'build' was cancelled by ada: No.",
      ),
    ),
  'an item fails while the run is paused': () =>
    begun(prepared({}, { parallel: 2 }), item('TECH-1'))
      .fail('chooseItem', 'remote_unavailable')
      .fail('item-1', 'agent_failed', 'It was cancelled.'),
  'budget used up, then raised': () =>
    one().fail('checkAsIs', 'budget').send('BUDGET_CHANGED', { by, maxTokens: 2_000 }),
  'check takes too long, then extended': () =>
    one().fail('checkAsIs', 'timeout').send('STAGE_EXTENDED', { by, minutes: 20 }),
  'a limit of a remote ends, resumes by itself': () => started().rateLimited('prepare', 60_000).fire(),
  ...Object.fromEntries(
    Object.entries(failing).map(([activity, way]) => [
      `${activity.toLowerCase()} fails, paused, retried`,
      () => retried(way().fail(activity)),
    ]),
  ),
};
