/** Ways through the workflow of research and plan, driven by hand: together they take every state, every transition and every signal. */
import type { JsonObject, JsonValue } from '@autonomous/shared';
import { DrivenRun } from '../../driven-run.ts';
import { newestOf } from '../../workflow.ts';
import { researchAndPlan } from '../index.ts';

/** A run by the ways that it goes, in order of their recording. */
type Scenarios = Readonly<Record<string, () => DrivenRun>>;

const by = 'me';
const config = {
  trustMode: { implementation: 'auto' },
  maxClarifications: 3,
  maxConcurrency: 4,
  modelRouting: {
    researcher: 'm',
    'repo-analyst': 'm',
    synthesiser: 'm',
    'novelty-judge': 'm',
    'report-repairer': 'm',
    'plan-architect': 'm',
    'plan-critic': 'm',
  },
  timeoutMinutes: { researching: 60 },
  git: { createPR: false, autoMerge: false, baseBranch: 'main', mergeStrategy: 'squash' },
  commands: {},
};
const merging = { git: { ...config.git, autoMerge: true } };
const manual = { trustMode: { implementation: 'manual' } };
const cost = (role: string): JsonObject => ({
  role,
  model: 'm',
  scripted: true,
  inputTokens: 10,
  outputTokens: 5,
  calls: 1,
});

const started = (change: object = {}, input: JsonObject = {}): DrivenRun =>
  new DrivenRun(newestOf(researchAndPlan)).begin({
    request: 'Ring the bell',
    config: { ...config, ...change },
    branch: 'autonomous/r-plan',
    input: {
      topic: 'Bells',
      researchers: 1,
      analysts: 1,
      newFindings: 1,
      quietRounds: 1,
      researchRounds: 1,
      stableRounds: 1,
      maxRounds: 3,
      ...input,
    },
  });
const prepared = (change: object = {}, input: JsonObject = {}): DrivenRun =>
  started(change, input).ended('prepare', {
    baseCommit: 'base',
    config: { ...config, ...change },
    notices: [],
    excludePaths: [],
    setup: null,
    test: null,
    autoRetry: true,
  });
const researched = (change: object = {}, input: JsonObject = {}): DrivenRun =>
  prepared(change, input).ended('researchRun', {
    runId: 'c1',
    status: 'completed',
    branch: 'autonomous/c1',
    baseCommit: 'base',
    headCommit: 'c-report',
    codeTree: 't-base',
    output: null,
  });
const merged = (change: object = {}, input: JsonObject = {}): DrivenRun =>
  researched(change, input).ended('mergeChild', { commit: 'c-merged', codeTree: 't-base' });
/** The architects of the first round are at work. */
const asked = (change: object = {}, input: JsonObject = {}): DrivenRun =>
  merged(change, input).ended('readResearch', { findings: 1, rounds: 1 });

const task = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  title: `Task ${id}`,
  description: 'Do it [F1].',
  component: null,
  dependencies: [],
  acceptanceCriteria: ['It rings.'],
  ...more,
});
const proposed = (run: DrivenRun, id: string, more: JsonObject = {}): DrivenRun =>
  run.ended(id, {
    agent: id.replace(/-again$/, ''),
    draft: { summary: '', answers: [], claims: [], ...more },
    cost: cost('plan-architect'),
  });
const reviewed = (run: DrivenRun, id: string, more: JsonObject = {}): DrivenRun =>
  run.ended(id, {
    agent: id.replace(/-again$/, ''),
    review: { summary: '', issues: [], withdrawn: [], ...more },
    cost: cost('plan-critic'),
  });
const vision: JsonObject = { vision: 'It rings [F1].' };
const tasks: JsonObject = { tasks: [task('a')] };
const drafted = (run: DrivenRun, round: number, one: JsonObject = {}, two: JsonObject = {}): DrivenRun =>
  proposed(proposed(run, `architect-${round}-1`, one), `architect-${round}-2`, two);
const criticised = (run: DrivenRun, round: number, one: JsonObject = {}, two: JsonObject = {}): DrivenRun =>
  reviewed(reviewed(run, `critic-${round}-1`, one), `critic-${round}-2`, two);
const file = (version: number): JsonObject => ({
  commit: `c-plan-${version}`,
  artifactHash: `h-${version}`,
  path: 'docs/research-bells/bells-plan.md',
});
const committed = (run: DrivenRun, version: number): DrivenRun => run.ended('commitPlan', file(version));
const blocker: JsonObject = {
  severity: 'blocker',
  about: 'Frame',
  text: 'It does not bear the weight.',
  evidence: ['F1'],
  proposal: '',
};

/** The first round writes the plan. */
const first = (change: object = {}, input: JsonObject = {}, review: JsonObject = {}): DrivenRun =>
  committed(criticised(drafted(asked(change, input), 1, vision, tasks), 1, review), 1);
/** The second round changes nothing. */
const planned = (change: object = {}): DrivenRun => committed(criticised(drafted(first(change), 2), 2), 1);
const PDF = { path: 'docs/research-bells/bells-plan.pdf', hash: 'p'.repeat(64) };
const compiled = (run: DrivenRun, outcome: JsonObject = { kind: 'compiled', pages: 3 }): DrivenRun =>
  run.ended('compile', { ...file(4), codeTree: 't-base', compiled: outcome });
const noConcerns = (run: DrivenRun): DrivenRun => run.ended('findConcerns', { concerns: [] });
const reported = (change: object = {}): DrivenRun => noConcerns(compiled(planned(change)));
const recorded = (run: DrivenRun): DrivenRun =>
  run.ended('recordRun', { commit: 'c-record', codeTree: 't-base', notices: [] });
const pushed = (run: DrivenRun): DrivenRun => recorded(run).ended('pushBranch', { commit: 'c-record', pushed: true });
const toMerge = (): DrivenRun => pushed(reported(merging).ended('integrate', { moved: false }));
const retried = (run: DrivenRun, notes?: string): DrivenRun =>
  run.send('RETRY_REQUESTED', { by, ...(notes === undefined ? {} : { notes }) });
const concern = { kind: 'runs_code', title: 'Code that runs', items: [{ reason: 'It runs.' }], hash: 'h' };
/** The rounds are used up with an open blocker. */
const atCeiling = (): DrivenRun => first({}, { maxRounds: 1 }, { issues: [blocker] });

const claim: JsonObject = { claims: [{ claim: 'A motor swings it.', question: 'Which motor swings a bell?' }] };
/** A researcher looks into a new claim. */
const claimed = (): DrivenRun => drafted(asked(), 1, { ...vision, ...claim }, tasks);
const source: JsonObject = {
  requested: 'https://bells.test/',
  address: 'https://bells.test/',
  at: '2026-03-01T10:00:00.000Z',
  status: 200,
  hash: 'h',
  title: 'Bells',
  author: null,
  published: null,
  mediaType: 'text/html',
  refused: '',
};
const refused: JsonObject = {
  ...source,
  requested: 'https://gone.test/',
  status: 404,
  hash: null,
  refused: 'It is gone.',
};
const brought: JsonValue = {
  report: {
    agent: 'researcher-1-1',
    summary: 'Looked.',
    findings: [],
    sources: [],
    contradictions: [],
    followUps: [],
    fetched: [source, refused],
  },
  cost: cost('researcher'),
};
const sound = (index: number, more: JsonObject = {}): JsonObject => ({
  agent: 'researcher-1-1',
  index,
  claim: `Motor ${index} swings it.`,
  confidence: 'medium',
  evidence: [{ quote: 'It is swung by a motor.', address: 'https://bells.test/', hash: 'h' }],
  sources: [{ address: 'https://bells.test/', credibility: 'medium', why: 'The town.' }],
  ...more,
});
const checked = (run: DrivenRun, more: JsonObject = {}): DrivenRun =>
  run.ended('checkFindings', { sound: [], doubts: [], leftOut: [], known: 0, ...more });
const left: JsonObject = {
  agent: 'researcher-1-1',
  claim: 'It was blessed.',
  quote: 'Blessed by seven bishops.',
  address: 'https://bells.test/',
  reason: 'The page does not contain it.',
};

/** Pauses with one way on, which a person chooses. */
const way = (run: DrivenRun, activity: string, reason: string, chosen: string): DrivenRun =>
  run
    .fail(activity, reason, 'Stopped.', { ways: [{ way: chosen, text: `Choose ${chosen}`, note: 'As chosen.' }] })
    .send('CLARIFICATION_ANSWERED', { by, response: `Choose ${chosen}`, choices: [`Choose ${chosen}`] });

/** Runs whose next activity fails. */
const failing: Readonly<Record<string, () => DrivenRun>> = {
  prepare: () => started(),
  researchRun: () => prepared(),
  mergeChild: () => researched(),
  readResearch: () => merged(),
  checkFindings: () => claimed().ended('researcher-1-1', brought),
  commitPlan: () => criticised(drafted(asked(), 1, vision, tasks), 1),
  compile: () => planned(),
  findConcerns: () => compiled(planned()),
  integrate: () => reported(merging),
  recordRun: () => reported(),
  pushBranch: () => recorded(reported()),
  merge: toMerge,
  pushBeside: () => way(recorded(reported()), 'pushBranch', 'push_rejected', 'push_beside'),
};

export const scenarios: Scenarios = {
  'converges, pushed': () => pushed(reported()),
  'converges, merged': () => toMerge().ended('merge', { merged: true, commit: 'c-main', strategy: 'squash' }),
  'a blocker is raised, answered and withdrawn': () => {
    const second = criticised(
      drafted(first({}, {}, { issues: [blocker] }), 2, { answers: [{ issue: 'I1', answer: 'It is of steel now.' }] }),
      2,
      { withdrawn: [{ issue: 'I1', why: 'Steel bears it.' }] },
    );
    return committed(second, 2);
  },
  'a cycle is sent back and corrected': () =>
    proposed(
      drafted(asked(), 1, vision, { tasks: [task('a', { dependencies: ['b'] }), task('b', { dependencies: ['a'] })] }),
      'architect-1-2-again',
      tasks,
    ),
  'an estimate is sent back and stays': () =>
    proposed(drafted(asked(), 1, { vision: 'To build it takes 3 weeks.' }, tasks), 'architect-1-1-again', {
      vision: 'To build it takes 2 weeks.',
    }),
  'a correction comes to nothing': () =>
    drafted(asked(), 1, { vision: 'As [F9] says.' }, tasks).fail('architect-1-1-again'),
  'evidence that does not exist is sent back and stays': () =>
    reviewed(
      criticised(drafted(asked(), 1, vision, tasks), 1, { issues: [{ ...blocker, evidence: ['F9'] }] }),
      'critic-1-1-again',
      { issues: [{ ...blocker, evidence: ['F9'] }] },
    ),
  'one critic comes to nothing': () =>
    committed(reviewed(drafted(asked(), 1, vision, tasks).fail('critic-1-1'), 'critic-1-2'), 1),
  'all critics come to nothing, asked again': () =>
    criticised(
      retried(drafted(asked(), 1, vision, tasks).fail('critic-1-1').fail('critic-1-2'), 'Look at the frame.'),
      1,
    ),
  'all architects come to nothing, asked again': () =>
    drafted(retried(asked().fail('architect-1-1').fail('architect-1-2')), 1, vision, tasks),
  'the budget of one architect is used up, asked again': () =>
    proposed(
      proposed(asked(), 'architect-1-2', tasks)
        .fail('architect-1-1', 'budget')
        .send('BUDGET_CHANGED', { by, maxTokens: 2_000 }),
      'architect-1-1',
      vision,
    ),
  'a new claim is found': () =>
    checked(claimed().ended('researcher-1-1', brought), { sound: [sound(0), sound(1, { sameAs: 'F1' })] }),
  'a new claim is sent back and left out': () =>
    checked(
      checked(claimed().ended('researcher-1-1', brought), { leftOut: [left] }).ended('researcher-1-1-again', brought),
      {
        leftOut: [left],
      },
    ),
  'a researcher comes to nothing': () => checked(claimed().fail('researcher-1-1')),
  'the budget of a researcher is used up': () => claimed().fail('researcher-1-1', 'budget'),
  'the rounds are used up, planned further': () =>
    drafted(atCeiling().send('APPROVAL_REJECTED', { by, gateId: 'g', feedback: 'Use steel.' }), 2),
  'the rounds are used up, taken in spite of a blocker': () =>
    pushed(noConcerns(compiled(atCeiling().send('APPROVAL_GRANTED', { by, gateId: 'g', artifactHash: 'h-1' })))),
  'the rounds are used up, stopped': () =>
    atCeiling().send('FIX_DECIDED', { by, gateId: 'g', decision: 'close', reason: 'No bell will ring.' }),
  'the plan is compiled, with its PDF': () => noConcerns(compiled(planned(), { kind: 'compiled', pages: 3, pdf: PDF })),
  'there is no LaTeX': () => noConcerns(compiled(planned(), { kind: 'absent' })),
  'approved by a person': () => reported(manual).send('APPROVAL_GRANTED', { by, gateId: 'g', artifactHash: 'h-4' }),
  'a concern is approved': () =>
    compiled(planned())
      .ended('findConcerns', { concerns: [concern] })
      .send('APPROVAL_GRANTED', { by, gateId: 'g' }),
  'sent back, planned further': () =>
    drafted(reported(manual).send('APPROVAL_REJECTED', { by, gateId: 'g', feedback: 'What of the rope?' }), 3),
  'the base has moved by files of the server alone': () =>
    pushed(
      reported(merging).ended('integrate', {
        moved: true,
        baseCommit: 'base2',
        commit: 'c-with-base',
        codeTree: 't-base',
        planPath: '',
      }),
    ),
  'the base has moved': () =>
    noConcerns(
      reported(merging).ended('integrate', {
        moved: true,
        baseCommit: 'base2',
        commit: 'c-with-base',
        codeTree: 't-with-base',
        planPath: '',
      }),
    ),
  'the base moves before the merge': () => toMerge().ended('merge', { merged: false }),
  'others have pushed to the branch, left as it is': () =>
    way(recorded(reported()), 'pushBranch', 'push_rejected', 'leave_branch'),
  'others have pushed to the branch, pushed beside': () =>
    failing['pushBeside']!().ended('pushBeside', { commit: 'c-record', pushed: true, branch: 'autonomous/r-beside' }),
  'the merge is refused, left pushed': () => way(toMerge(), 'merge', 'merge_conflict', 'leave_pushed'),
  'cancelled while agents work': () => asked().send('RUN_CANCELLED', { by, reason: 'Enough.' }),
  'message and budget while agents work': () =>
    asked().send('MESSAGE_SENT', { by, text: 'Keep it short.' }).send('BUDGET_CHANGED', { by, maxTokens: 1_000 }),
  'an agent ends while the run is paused': () =>
    proposed(asked().fail('architect-1-1', 'budget'), 'architect-1-2', tasks),
  'the compilation takes too long, then extended': () =>
    planned().fail('compile', 'timeout').send('STAGE_EXTENDED', { by, minutes: 20 }),
  'a limit of a remote ends, resumes by itself': () => started().rateLimited('prepare', 60_000).fire(),
  ...Object.fromEntries(
    Object.entries(failing).map(([activity, run]) => [
      `${activity.toLowerCase()} fails, paused, retried`,
      () => retried(run().fail(activity, 'remote_unavailable')),
    ]),
  ),
};
