/** Ways through the workflow of a roadmap's item, driven by hand: together they take every state, every transition and every signal. */
import type { JsonObject, JsonValue } from '@autonomous/shared';
import { DrivenRun } from '../../driven-run.ts';
import { whyRested } from '../../rested.fixture.ts';
import { newestOf } from '../../workflow.ts';
import { roadmapItem } from '../index.ts';

/** A run by the ways that it goes, in order of their recording. */
type Scenarios = Readonly<Record<string, () => DrivenRun>>;

const by = 'me';
const config = {
  trustMode: { implementation: 'auto' },
  maxClarifications: 3,
  maxConcurrency: 4,
  maxFixAttempts: 3,
  modelRouting: { ideator: 'm', specifier: 'm', decomposer: 'm', 'item-reviewer': 'm' },
  timeoutMinutes: { validation: 5, releasing: 5 },
  git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
  commands: {},
};
const merging = { git: { ...config.git, autoMerge: true } };
const manual = { trustMode: { implementation: 'manual' } };
const releasing = { commands: { release: 'npm run release' } };
const allChecks = {
  commands: { browserCheck: 'npm run browser', performanceCheck: 'npm run bench', docsCheck: 'npm run docs' },
};

const test = { command: 'npm test', source: 'package.json' };
const committed = { to: 'base', branch: 'main', commit: 'c-state', paths: ['roadmap/roadmap.json'] };
const onBranch = {
  to: 'branch',
  branch: 'autonomous/r-item',
  commit: 'c-state',
  paths: ['roadmap/roadmap.json'],
  why: 'it is protected',
};
const cost = { role: 'ideator', model: 'm', scripted: true, inputTokens: 1, outputTokens: 1, calls: 1 };
const document = (phase: string, version = 1): JsonObject => ({
  path: `specs/sign-in/${phase}.md`,
  artifactHash: `h-${phase}-${version}`,
  commit: `c-${phase}-${version}`,
  text: `The ${phase}.`,
  scripted: true,
});
const TASKS = [
  { id: 'T1', title: 'A link', description: 'Write it.', dependsOn: [] },
  { id: 'T2', title: 'A mail', description: 'Send it.', dependsOn: ['T1'] },
];
const oneTask = TASKS.slice(0, 1);
const known = (more: JsonObject = {}): JsonObject => ({
  kind: 'item',
  item: {
    id: 'sign-in',
    title: 'Sign in',
    type: 'feature',
    text: '{}',
    slug: 'sign-in',
    before: { costUsd: 0, inputTokens: 0, outputTokens: 0 },
    documents: {},
    ...more,
  },
});

const started = (change: object = {}, input: JsonObject = {}): DrivenRun =>
  new DrivenRun(newestOf(roadmapItem)).begin({
    request: 'Carry out sign-in',
    config: { ...config, ...change },
    branch: 'autonomous/r-item',
    input: {
      item: 'sign-in',
      roadmap: 'roadmap/roadmap.json',
      approvals: 'release',
      maxAttempts: 3,
      maxPhaseIterations: 20,
      maxIterations: 100,
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
const set = (run: DrivenRun, state: JsonObject = committed): DrivenRun => run.ended('setState', state);
const read = (change: object = {}, input: JsonObject = {}, more: JsonObject = {}): DrivenRun =>
  set(prepared(change, input, more).ended('readItem', known()));

/** The document of a phase is written and committed. */
const written = (run: DrivenRun, role: string, type: string, phase: string, more: JsonObject = {}, version = 1) =>
  run
    .ended(role, {
      draft: { phase, text: `The ${type}.`, model: 'm', scripted: true, ...more },
      cost: { ...cost, role },
    })
    .ended(`commit-item_${type}`, document(type, version));
const ideated = (run: DrivenRun, version = 1): DrivenRun =>
  written(run, 'ideator', 'ideation', 'ideating', {}, version);
const specified = (run: DrivenRun): DrivenRun => written(run, 'specifier', 'specification', 'specifying');
const decomposed = (run: DrivenRun, tasks: JsonValue = oneTask): DrivenRun =>
  written(run, 'decomposer', 'tasks', 'decomposing', { tasks });

/** The run with its tasks, none of which is done. */
const planned = (
  change: object = {},
  input: JsonObject = {},
  tasks: JsonValue = oneTask,
  more: JsonObject = {},
): DrivenRun => set(decomposed(set(specified(set(ideated(read(change, input, more))))), tasks));

const child = (number: number): JsonObject => ({
  runId: `child-${number}`,
  status: 'completed',
  branch: `autonomous/child-${number}`,
  baseCommit: 'base',
  headCommit: `c-${number}`,
  codeTree: `t-${number}`,
  output: null,
});
const integrated = (fastForward = true): JsonObject => ({ commit: 'c-merge', codeTree: 't-merged', fastForward });
const moved: JsonObject = { commit: 'c-moved', codeTree: 't-merged' };
/** The child run of a task completes and is merged. */
const finished = (run: DrivenRun, number = 1): DrivenRun =>
  set(
    run
      .ended(`task-${number}`, child(number))
      .ended('integrateChild', integrated())
      .ended('mergeChild', moved)
      .ended('commitProgress', { commit: 'c-progress' }),
  );
const failedTask = (run: DrivenRun, number: number): DrivenRun =>
  set(run.fail(`task-${number}`, 'agent_failed', `Child run child-${number} was cancelled.`));
const rested = (kind: 'asks' | 'unfinished', number = 1): JsonObject => ({
  actor: `task-${number}`,
  gate: `child-${number}.9`,
  kind,
  ...whyRested(kind),
});

/** All tasks are done, and testing begins. */
const tested = (change: object = {}, input: JsonObject = {}, more: JsonObject = {}): DrivenRun =>
  set(finished(planned(change, input, oneTask, more)));
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
const bug = (id: string, size: string, blocks = false): JsonObject => ({
  id,
  title: `Bug ${id}`,
  description: 'It breaks.',
  size,
  blocks,
});
const reviewed = (run: DrivenRun, ...findings: JsonObject[]): DrivenRun =>
  run.ended('item-reviewer', { findings, summary: 'Looked.', cost: { ...cost, role: 'item-reviewer' } });
const green = (run: DrivenRun): DrivenRun =>
  run.ended('checkAsIs', checked('as_is')).ended('checkBaseTests', checked('base_tests'));
const noConcerns = (run: DrivenRun): DrivenRun => run.ended('findConcerns', { concerns: [] });
const verified = (run: DrivenRun): DrivenRun => noConcerns(reviewed(green(run)));

const recorded = (run: DrivenRun): DrivenRun =>
  run.ended('recordRun', { commit: 'c-record', codeTree: 't-merged', notices: [] });
const pushed = (run: DrivenRun): DrivenRun => recorded(run).ended('pushBranch', { commit: 'c-record', pushed: true });
/** The result is on the remote, then the base says that it waits for its merge, and the run's branch that the item is completed. */
const shared = (run: DrivenRun, commit = 'c-progress'): DrivenRun => run.ended('shareResult', { commit, pushed: true });
const awaited = (run: DrivenRun, state: JsonObject = committed): DrivenRun => shared(run).ended('awaitMerge', state);
const marked = (run: DrivenRun): DrivenRun =>
  run.ended('integrate', { moved: false }).ended('markOnBranch', { ...onBranch, commit: 'c-marked' });
const beside = { commit: 'c-record', pushed: true, branch: 'autonomous/r-item-beside' };
/** The result is pushed beside the commits of others, and the base waits for the merge of that branch. */
const besideOthers = (run: DrivenRun): DrivenRun =>
  recorded(marked(awaited(run.ended('pushBeside', beside)))).ended('pushBranch', beside);
/** The phase of committing is written, and the branch is pushed, which people merge. */
const published = (run: DrivenRun): DrivenRun => pushed(marked(awaited(set(run))));
const approved = (run: DrivenRun): DrivenRun =>
  run.send('APPROVAL_GRANTED', { by, gateId: run.view?.gate?.id, ...hashesOf(run) });
const hashesOf = (run: DrivenRun): JsonObject => {
  const { artifactHash, codeTree } = run.view?.gate ?? {};
  return {
    ...(artifactHash === undefined ? {} : { artifactHash }),
    ...(codeTree === undefined ? {} : { codeTree }),
  };
};
const rejected = (run: DrivenRun, feedback = 'Not like this.'): DrivenRun =>
  run.send('APPROVAL_REJECTED', { by, gateId: run.view?.gate?.id, feedback });
const decided = (run: DrivenRun, decision: 'retry' | 'accept'): DrivenRun =>
  run.send('FIX_DECIDED', { by, decision, reason: 'As it is.' });
const retried = (run: DrivenRun, notes?: string): DrivenRun =>
  run.send('RETRY_REQUESTED', { by, ...(notes === undefined ? {} : { notes }) });
const concern = { kind: 'no_change', title: 'Nothing was changed', items: [{ reason: 'It is the base.' }], hash: 'h' };

const ran = (run: DrivenRun, activity: string, exitCode: number | null = 0): DrivenRun =>
  run.ended(activity, { command: { command: `npm run ${activity}`, exitCode, durationMs: 5, output: 'said' } });
/** A pause with one way on, which a person chooses. */
const way = (run: DrivenRun, activity: string, reason: string, chosen: string): DrivenRun =>
  run
    .fail(activity, reason, 'Stopped.', { ways: [{ way: chosen, text: `Choose ${chosen}`, note: 'As chosen.' }] })
    .send('CLARIFICATION_ANSWERED', { by, response: `Choose ${chosen}`, choices: [`Choose ${chosen}`] });

const toPush = (): DrivenRun => recorded(marked(awaited(set(verified(tested())))));
const toMerge = (): DrivenRun => pushed(set(verified(tested(merging))).ended('integrate', { moved: false }));
const named = (): DrivenRun => read({}, { approvals: 'named' });
const toRelease = (): DrivenRun => published(approved(verified(tested(releasing))));
const cutOff = (): DrivenRun =>
  toRelease().ended('release', {
    command: { command: 'npm run release', exitCode: null, durationMs: 0, output: '' },
    isCutOff: true,
  });
/** The base takes no pushes: the state is on the run's branch. */
const plannedOnBranch = (change: object = {}): DrivenRun =>
  set(
    decomposed(
      set(specified(set(ideated(set(prepared(change).ended('readItem', known()), onBranch)), onBranch)), onBranch),
    ),
    onBranch,
  );
const testedOnBranch = (change: object = {}): DrivenRun =>
  set(
    set(
      plannedOnBranch(change)
        .ended('task-1', child(1))
        .ended('integrateChild', integrated())
        .ended('mergeChild', moved)
        .ended('commitProgress', { commit: 'c-progress' }),
      onBranch,
    ),
    onBranch,
  );
/** An agent comes to nothing until a person is asked. */
const blocked = (): DrivenRun => {
  const run = read();
  for (let attempt = 1; attempt <= 3; attempt++) set(run.fail('ideator'));
  return run;
};
const corrections = (count: number): DrivenRun => {
  const run = tested();
  for (let number = 1; number <= count; number++) {
    set(run.ended('checkAsIs', checked('as_is', false)));
    if (number <= 3) set(finished(run, number + 1));
  }
  return run;
};

/** A bug holds the item up; a person has had it mended elsewhere. */
const heldUp = (): DrivenRun =>
  set(retried(set(approved(noConcerns(reviewed(green(tested()), bug('b1', 'large', true)))))));
const withBase = (run: DrivenRun): DrivenRun =>
  run.ended('takeBase', {
    moved: true,
    baseCommit: 'base2',
    commit: 'c-with-base',
    codeTree: 't-with-base',
    planPath: '',
  });

/** Runs whose next activity fails. */
const failing: Readonly<Record<string, () => DrivenRun>> = {
  prepare: () => started(),
  readItem: () => prepared(),
  setState: () => prepared().ended('readItem', known()),
  'commit-item_ideation': () =>
    read().ended('ideator', { draft: { phase: 'ideating', text: 'It.', model: 'm', scripted: true }, cost }),
  'commit-item_specification': () =>
    set(ideated(read())).ended('specifier', {
      draft: { phase: 'specifying', text: 'It.', model: 'm', scripted: true },
      cost,
    }),
  'commit-item_tasks': () =>
    set(specified(set(ideated(read())))).ended('decomposer', {
      draft: { phase: 'decomposing', text: 'It.', tasks: oneTask, model: 'm', scripted: true },
      cost,
    }),
  watchTask: () => planned(),
  integrateChild: () => planned().ended('task-1', child(1)),
  checkMerge: () => planned().ended('task-1', child(1)).ended('integrateChild', integrated(false)),
  mergeChild: () => planned().ended('task-1', child(1)).ended('integrateChild', integrated()),
  commitProgress: () =>
    planned().ended('task-1', child(1)).ended('integrateChild', integrated()).ended('mergeChild', moved),
  takeBase: () => heldUp(),
  checkAsIs: () => tested(),
  checkBaseTests: () => tested().ended('checkAsIs', checked('as_is')),
  browserCheck: () => green(tested(allChecks)),
  performanceCheck: () => ran(green(tested(allChecks)), 'browserCheck'),
  docsCheck: () => ran(ran(green(tested(allChecks)), 'browserCheck'), 'performanceCheck'),
  findConcerns: () => reviewed(green(tested())),
  integrate: () => set(verified(tested(merging))),
  shareResult: () => set(verified(tested())),
  awaitMerge: () => shared(set(verified(tested()))),
  awaitMergeWithConflicts: () => way(set(verified(tested(merging))), 'integrate', 'merge_conflict', 'leave_branch'),
  recordRun: () => marked(awaited(set(verified(tested())))),
  pushBranch: toPush,
  merge: toMerge,
  takeIn: () => way(toPush(), 'pushBranch', 'push_rejected', 'take_in'),
  pushBeside: () => way(toPush(), 'pushBranch', 'push_rejected', 'push_beside'),
  markOnBranch: () => set(verified(testedOnBranch()), onBranch),
  release: toRelease,
};

/** Agents that fail for another reason than their own. */
const unavailable: Readonly<Record<string, () => DrivenRun>> = {
  ideator: () => read(),
  specifier: () => set(ideated(read())),
  decomposer: () => set(specified(set(ideated(read())))),
  'item-reviewer': () => green(tested()),
};

export const scenarios: Scenarios = {
  'one task, pushed, nobody is asked': () => published(verified(tested())),
  'one task, merged': () => set(toMerge().ended('merge', { merged: true, commit: 'c-main', strategy: 'squash' })),
  'two tasks, one after the other': () => published(verified(set(finished(finished(planned({}, {}, TASKS)), 2)))),
  'approved at the named transitions': () => {
    const run = set(approved(ideated(named())));
    const all = set(decomposed(set(approved(specified(run)))));
    return published(approved(verified(set(finished(all)))));
  },
  'approved after every phase': () => {
    const run = set(approved(ideated(read({}, { approvals: 'all' }))));
    const all = set(approved(decomposed(set(approved(specified(run))))));
    return published(approved(verified(set(approved(finished(all))))));
  },
  'the ideation is sent back and written again': () => ideated(set(rejected(ideated(named()))), 2),
  'the specification is sent back': () => set(rejected(specified(set(approved(ideated(named())))))),
  'the tasks are sent back': () => {
    const run = set(approved(specified(set(approved(ideated(read({}, { approvals: 'all' })))))));
    return decomposed(set(rejected(decomposed(run))), TASKS);
  },
  'the implementation is sent back': () => {
    const run = set(approved(specified(set(approved(ideated(read({}, { approvals: 'all' })))))));
    return finished(set(rejected(finished(set(approved(decomposed(run)))))), 2);
  },
  'no such item': () => prepared().ended('readItem', { kind: 'ends', message: 'Item not found: sign-in' }),
  'the roadmap cannot be read, corrected, retried': () =>
    retried(prepared().ended('readItem', { kind: 'faults', faults: ['It is no JSON.'] })).ended('readItem', known()),
  'documents of an earlier run are there': () =>
    set(
      set(
        set(
          prepared().ended(
            'readItem',
            known({ documents: { ideating: document('ideation'), specifying: document('specification') } }),
          ),
        ),
      ),
    ),
  'the ideation of an earlier run is sent back': () => {
    const run = prepared({}, { approvals: 'named' });
    return set(rejected(set(run.ended('readItem', known({ documents: { ideating: document('ideation') } })))));
  },
  'the ideation of an earlier run is there': () =>
    set(set(prepared().ended('readItem', known({ documents: { ideating: document('ideation') } })))),
  'an agent comes to nothing once': () => ideated(set(read().fail('ideator'))),
  'the specifier comes to nothing once': () => specified(set(set(ideated(read())).fail('specifier'))),
  'the decomposer comes to nothing once': () =>
    decomposed(set(set(specified(set(ideated(read())))).fail('decomposer'))),
  'an agent comes to nothing too often, a person has it tried again with a note': () =>
    ideated(set(retried(blocked(), 'Read the README.'))),
  'an agent comes to nothing too often, tried again without a word': () => ideated(set(retried(blocked()))),
  'the iterations of ideating are used up': () =>
    set(set(rejected(ideated(read({}, { approvals: 'named', maxPhaseIterations: 1 }))))),
  'the iterations of specifying are used up': () => set(set(ideated(read({}, { maxIterations: 1 })))),
  'the iterations of decomposing are used up': () => set(set(specified(set(ideated(read({}, { maxIterations: 2 })))))),
  'the iterations of implementing are used up, then more': () => set(retried(set(planned({}, { maxIterations: 3 })))),
  'the iterations of testing are used up': () => set(green(tested({}, { maxIterations: 4 }))),
  'an attempt that a person cancels is the last one': () =>
    set(planned().fail('task-1', 'agent_failed', "Child run child-1 of workflow 'build' was cancelled by ada: No.")),
  'a task fails, then is done': () => finished(failedTask(planned(), 1), 2),
  'a task fails too often': () => {
    const run = planned();
    for (const number of [1, 2, 3]) failedTask(run, number);
    return run;
  },
  'a task whose checks stay red is stopped and begun again': () =>
    finished(set(planned().ended('watchTask', rested('unfinished'))), 2),
  'a task waits for a person': () => finished(planned().ended('watchTask', rested('asks'))),
  'the merge of a task conflicts': () =>
    set(planned().ended('task-1', child(1)).fail('integrateChild', 'merge_conflict')),
  'a task is checked after its merge': () =>
    set(
      planned()
        .ended('task-1', child(1))
        .ended('integrateChild', integrated(false))
        .ended('checkMerge', checked('as_is'))
        .ended('mergeChild', moved)
        .ended('commitProgress', { commit: 'c-progress' }),
    ),
  'the merged tree is red': () =>
    set(
      planned()
        .ended('task-1', child(1))
        .ended('integrateChild', integrated(false))
        .ended('checkMerge', checked('as_is', false)),
    ),
  'a task ends while the run is paused': () =>
    retried(planned().fail('watchTask', 'remote_unavailable').ended('task-1', child(1))),
  'a task fails while the run is paused': () =>
    retried(planned().fail('watchTask', 'remote_unavailable').fail('task-1', 'agent_failed', 'It was cancelled.')),
  'the result is red, mended, then green': () => published(verified(corrections(1))),
  'the result is red too often': () => corrections(4),
  'the result is red with the tests of the base': () =>
    noConcerns(
      reviewed(tested().ended('checkAsIs', checked('as_is')).ended('checkBaseTests', checked('base_tests', false))),
    ),
  'all checks of the configuration': () =>
    noConcerns(reviewed(ran(ran(ran(green(tested(allChecks)), 'browserCheck'), 'performanceCheck'), 'docsCheck'))),
  'the browser check fails': () => set(ran(green(tested(allChecks)), 'browserCheck', 1)),
  'the performance check fails': () =>
    set(ran(ran(green(tested(allChecks)), 'browserCheck'), 'performanceCheck', null)),
  'the docs check fails': () =>
    set(ran(ran(ran(green(tested(allChecks)), 'browserCheck'), 'performanceCheck'), 'docsCheck', 1)),
  'a small bug is mended now': () => {
    const run = set(finished(set(reviewed(green(tested()), bug('b1', 'small'))), 2));
    return published(verified(run));
  },
  'a large bug becomes an item': () => published(approved(noConcerns(reviewed(green(tested()), bug('b1', 'large'))))),
  'a bug holds the item up, mended elsewhere, tested again': () => published(verified(withBase(heldUp()))),
  'a person says that the bug does not hold it up': () =>
    published(approved(rejected(noConcerns(reviewed(green(tested()), bug('b1', 'medium', true)))))),
  'the reviewer comes to nothing once': () => set(green(tested()).fail('item-reviewer')),
  'tested again without a new look': () => {
    const run = set(verified(tested(merging))).ended('integrate', {
      moved: true,
      baseCommit: 'base2',
      commit: 'c-with-base',
      codeTree: 't-with-base',
      planPath: '',
    });
    const again = set(verified(set(run)));
    again.fail('integrate', 'merge_conflict', 'Stopped.', { ways: [{ way: 'take_in', text: 'Take it in', note: '' }] });
    again.send('CLARIFICATION_ANSWERED', { by, response: 'Take it in', choices: ['Take it in'] });
    const taken = { commit: 'c-t', codeTree: 't-with-base', baseCommit: 'base2', planPath: '', conflicts: [] };
    return noConcerns(green(set(again.ended('takeIn', taken))));
  },
  'no tests, a person approves': () => published(approved(noConcerns(reviewed(tested({}, {}, { test: null }))))),
  'the result is sent back': () => set(rejected(verified(tested(manual)))),
  'concerns approved by a person': () =>
    published(approved(reviewed(green(tested())).ended('findConcerns', { concerns: [concern] }))),
  'released by a person': () => ran(toRelease(), 'release'),
  'published and not released': () => published(decided(verified(tested(releasing)), 'accept')),
  'sent back instead of released': () => set(rejected(verified(tested(releasing)))),
  'the release fails, is run again': () => ran(decided(ran(toRelease(), 'release', 1), 'retry'), 'release'),
  'the release fails, finished without': () => decided(ran(toRelease(), 'release', 1), 'accept'),
  'the release is cut off, is run again': () => ran(decided(cutOff(), 'retry'), 'release'),
  'the release is cut off, finished': () => decided(cutOff(), 'accept'),
  'merged and released': () =>
    set(
      ran(
        set(
          pushed(
            set(approved(verified(tested({ ...merging, ...releasing })))).ended('integrate', { moved: false }),
          ).ended('merge', { merged: true, commit: 'c-main', strategy: 'squash' }),
        ),
        'release',
      ),
    ),
  'the base refuses to say that the result waits for its merge': () =>
    pushed(marked(awaited(set(verified(tested())), onBranch))),
  'a person has changed the status before the merge is awaited': () =>
    awaited(retried(shared(set(verified(tested()))).fail('awaitMerge', 'merge_conflict'))),
  'the base moves before the branch is left': () =>
    set(
      awaited(set(verified(tested()))).ended('integrate', {
        moved: true,
        baseCommit: 'base2',
        commit: 'c-with-base',
        codeTree: 't-with-base',
        planPath: '',
      }),
    ),
  'the state on the run branch': () =>
    pushed(set(verified(testedOnBranch()), onBranch).ended('markOnBranch', { ...onBranch, commit: 'c-marked' })),
  'the run branch has another status, a person is asked': () =>
    retried(set(verified(testedOnBranch()), onBranch).fail('markOnBranch', 'merge_conflict')),
  'the base has moved by states alone': () =>
    set(
      pushed(
        set(verified(tested(merging))).ended('integrate', {
          moved: true,
          baseCommit: 'base2',
          commit: 'c-with-base',
          codeTree: 't-merged',
          planPath: '',
        }),
      ).ended('merge', { merged: true, commit: 'c-main', strategy: 'squash' }),
    ),
  'the base moves before the merge': () => toMerge().ended('merge', { merged: false }),
  'a refused push left as the branch that is pushed': () =>
    way(toPush(), 'pushBranch', 'push_rejected', 'leave_pushed'),
  'a refused merge left as the branch that is pushed': () =>
    pushed(marked(awaited(way(toMerge(), 'merge', 'push_rejected', 'leave_pushed')))),
  'a conflict with the base, left as the branch': () =>
    pushed(
      way(set(verified(tested(merging))), 'integrate', 'merge_conflict', 'leave_branch')
        .ended('awaitMergeWithConflicts', committed)
        .ended('markOnBranch', { ...onBranch, commit: 'c-marked' }),
    ),
  'a person has changed the status before a branch with conflicts is left': () =>
    awaited(
      retried(
        way(set(verified(tested(merging))), 'integrate', 'merge_conflict', 'leave_branch').fail(
          'awaitMergeWithConflicts',
          'merge_conflict',
        ),
      ),
    ),
  'commits of others, pushed beside them': () =>
    besideOthers(way(set(verified(tested())), 'shareResult', 'push_rejected', 'push_beside')),
  'commits of others after the base waits for the merge, pushed beside them': () =>
    besideOthers(way(toPush(), 'pushBranch', 'push_rejected', 'push_beside')),
  'commits of others after the base waits for the merge, taken in': () =>
    set(
      way(toPush(), 'pushBranch', 'push_rejected', 'take_in').ended('takeIn', {
        commit: 'c-taken',
        codeTree: 't-taken',
        baseCommit: 'base',
        planPath: '',
        conflicts: [],
      }),
    ),
  'a conflict with the base in a state on the run branch, left as the branch': () =>
    way(set(verified(testedOnBranch(merging)), onBranch), 'integrate', 'merge_conflict', 'leave_branch'),
  'cancelled while a task is done': () => planned().send('RUN_CANCELLED', { by, reason: 'Enough.' }),
  'message and budget while a task is done': () =>
    planned().send('MESSAGE_SENT', { by, text: 'Keep it short.' }).send('BUDGET_CHANGED', { by, maxTokens: 1_000 }),
  'budget used up, then raised': () =>
    read().fail('ideator', 'budget').send('BUDGET_CHANGED', { by, maxTokens: 2_000 }),
  'check takes too long, then extended': () =>
    tested().fail('checkAsIs', 'timeout').send('STAGE_EXTENDED', { by, minutes: 20 }),
  'a limit of a remote ends, resumes by itself': () => started().rateLimited('prepare', 60_000).fire(),
  ...Object.fromEntries(
    Object.entries(failing).map(([activity, before]) => [
      `${activity.toLowerCase()} fails, paused, retried`,
      () => retried(before().fail(activity, activity === 'release' ? 'sandbox_unavailable' : 'agent_failed')),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(unavailable).map(([activity, before]) => [
      `${activity} has no model, paused, retried`,
      () => retried(before().fail(activity, 'model_unavailable')),
    ]),
  ),
};
