/** Ways through the workflow of research, driven by hand: together they take every state, every transition and every signal. */
import type { JsonObject, JsonValue } from '@autonomous/shared';
import { DrivenRun } from '../../driven-run.ts';
import { newestOf } from '../../workflow.ts';
import { research } from '../index.ts';

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
  new DrivenRun(newestOf(research)).begin({
    request: 'Which bell is the oldest?',
    config: { ...config, ...change },
    branch: 'autonomous/r-research',
    input: {
      topic: 'Bells',
      researchers: 1,
      analysts: 1,
      newFindings: 1,
      quietRounds: 1,
      maxRounds: 2,
      maxRepairs: 1,
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
const read = (change: object = {}, input: JsonObject = {}, more: JsonObject = {}): DrivenRun =>
  prepared(change, input).ended('readTopic', { slug: 'bells', hasCode: true, canSearch: true, ...more });

const update = (more: JsonObject = {}): JsonObject => ({
  update: {
    themes: [],
    conflicts: [],
    openQuestions: ['Which one?'],
    directions: [
      { kind: 'web', question: 'How old is it?' },
      { kind: 'repository', question: 'What do the files say?' },
    ],
    ...more,
  },
  unsupported: [],
  cost: cost('synthesiser'),
});
const synthesised = (run: DrivenRun, more: JsonObject = {}): DrivenRun => run.ended('synthesiser', update(more));
const report = (version: number): JsonObject => ({
  commit: `c-${version}`,
  artifactHash: `h-${version}`,
  path: 'docs/research-bells/bells-report.md',
});
const committed = (run: DrivenRun, version: number): DrivenRun => run.ended('commitReport', report(version));
/** The agents of the first round are asked. */
const asked = (change: object = {}, input: JsonObject = {}): DrivenRun =>
  committed(synthesised(read(change, input)), 1);

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
const brought = (agent: string, more: JsonObject = {}): JsonValue => ({
  report: {
    agent,
    summary: 'Looked.',
    findings: [],
    sources: [],
    contradictions: [],
    followUps: [],
    fetched: [source, refused],
    ...more,
  },
  cost: cost('researcher'),
});
/** Both agents of a round have ended. */
const ended = (run: DrivenRun, round: number): DrivenRun =>
  run
    .ended(`agent-${round}-researcher-1`, brought(`agent-${round}-researcher-1`))
    .ended(`agent-${round}-analyst-1`, brought(`agent-${round}-analyst-1`, { fetched: [] }));
const sound = (index: number, more: JsonObject = {}): JsonObject => ({
  agent: 'agent-1-researcher-1',
  index,
  claim: `Bell ${index} is old.`,
  confidence: 'medium',
  evidence: [{ quote: 'It is an old bell.', address: 'https://bells.test/', hash: 'h' }],
  sources: [{ address: 'https://bells.test/', credibility: 'medium', why: 'The town.' }],
  ...more,
});
const checked = (more: JsonObject = {}): JsonValue => ({ sound: [], doubts: [], leftOut: [], known: 0, ...more });
const found = (run: DrivenRun, more: JsonObject = {}): DrivenRun =>
  run.ended('checkFindings', checked({ sound: [sound(0)], ...more }));
const left: JsonObject = {
  agent: 'agent-1-researcher-1',
  claim: 'It was blessed.',
  quote: 'Blessed by seven bishops.',
  address: 'https://bells.test/',
  reason: 'The page does not contain it.',
};
const doubt: JsonObject = {
  agent: 'agent-1-researcher-1',
  index: 0,
  claim: 'Bell 0 is old.',
  known: 'F1',
  knownClaim: 'Bell 0 is ancient.',
};
/** The first round brings a finding, the second none. */
const researched = (change: object = {}, input: JsonObject = {}): DrivenRun => {
  const first = committed(synthesised(found(ended(asked(change, input), 1))), 2);
  return committed(synthesised(ended(first, 2).ended('checkFindings', checked()), { directions: [] }), 3);
};
const PDF = { path: 'docs/research-bells/bells-report.pdf', hash: 'p'.repeat(64) };
const compiled = (run: DrivenRun, outcome: JsonObject = { kind: 'compiled', pages: 3, pdf: PDF }): DrivenRun =>
  run.ended('compile', { ...report(4), codeTree: 't-base', compiled: outcome });
const noConcerns = (run: DrivenRun): DrivenRun => run.ended('findConcerns', { concerns: [] });
const reported = (change: object = {}): DrivenRun => noConcerns(compiled(researched(change)));
const recorded = (run: DrivenRun): DrivenRun =>
  run.ended('recordRun', { commit: 'c-record', codeTree: 't-base', notices: [] });
const pushed = (run: DrivenRun): DrivenRun => recorded(run).ended('pushBranch', { commit: 'c-record', pushed: true });
const toMerge = (): DrivenRun => pushed(reported(merging).ended('integrate', { moved: false }));
const retried = (run: DrivenRun, notes?: string): DrivenRun =>
  run.send('RETRY_REQUESTED', { by, ...(notes === undefined ? {} : { notes }) });
const broken: JsonObject = { kind: 'failed', errors: 'line 3: Misplaced alignment tab' };
const concern = { kind: 'runs_code', title: 'Code that runs', items: [{ reason: 'It runs.' }], hash: 'h' };

/** Pauses with one way on, which a person chooses. */
const way = (run: DrivenRun, activity: string, reason: string, chosen: string): DrivenRun =>
  run
    .fail(activity, reason, 'Stopped.', { ways: [{ way: chosen, text: `Choose ${chosen}`, note: 'As chosen.' }] })
    .send('CLARIFICATION_ANSWERED', { by, response: `Choose ${chosen}`, choices: [`Choose ${chosen}`] });

/** Runs whose next activity fails. */
const failing: Readonly<Record<string, () => DrivenRun>> = {
  prepare: () => started(),
  readTopic: () => prepared(),
  synthesiser: () => read(),
  commitReport: () => synthesised(read()),
  checkFindings: () => ended(asked(), 1),
  'novelty-judge': () => found(ended(asked(), 1), { doubts: [doubt] }),
  compile: () => researched(),
  'report-repairer': () => compiled(researched(), broken),
  findConcerns: () => compiled(researched()),
  integrate: () => reported(merging),
  recordRun: () => reported(),
  pushBranch: () => recorded(reported()),
  merge: toMerge,
  pushBeside: () => way(recorded(reported()), 'pushBranch', 'push_rejected', 'push_beside'),
};

export const scenarios: Scenarios = {
  'two rounds, pushed': () => pushed(reported()),
  'two rounds, merged': () => toMerge().ended('merge', { merged: true, commit: 'c-main', strategy: 'squash' }),
  'no search and no code': () =>
    committed(synthesised(read({}, {}, { hasCode: false, canSearch: false })), 1).ended(
      'agent-1-researcher-1',
      brought('agent-1-researcher-1'),
    ),
  'the rounds are used up': () => {
    const run = committed(synthesised(found(ended(asked({}, { maxRounds: 1 }), 1)), { directions: [] }), 2);
    return noConcerns(compiled(run));
  },
  'passages are sent back, corrected': () => {
    const run = found(ended(asked(), 1), { leftOut: [left] });
    return found(run.ended('agent-1-researcher-1-again', brought('agent-1-researcher-1')));
  },
  'passages are sent back, left out': () => {
    const run = found(ended(asked(), 1), { leftOut: [left] });
    return found(run.fail('agent-1-researcher-1-again', 'agent_failed', 'It gave no result.'), { leftOut: [left] });
  },
  'the budget is used up by a correction': () =>
    retried(found(ended(asked(), 1), { leftOut: [left] }).fail('agent-1-researcher-1-again', 'budget')),
  'one agent comes to nothing': () =>
    found(
      asked()
        .fail('agent-1-researcher-1', 'agent_failed', 'It gave no result.')
        .ended('agent-1-analyst-1', brought('agent-1-analyst-1')),
    ),
  'all agents come to nothing, asked again': () =>
    ended(
      retried(
        asked()
          .fail('agent-1-researcher-1', 'agent_failed', 'It gave no result.')
          .fail('agent-1-analyst-1', 'agent_failed', 'It gave no result.'),
        'Look at the archive.',
      ),
      1,
    ),
  'the budget of one agent is used up, asked again': () =>
    asked()
      .ended('agent-1-analyst-1', brought('agent-1-analyst-1'))
      .fail('agent-1-researcher-1', 'budget')
      .send('BUDGET_CHANGED', { by, maxTokens: 2_000 })
      .ended('agent-1-researcher-1', brought('agent-1-researcher-1')),
  'findings that are known, judged new and judged known': () => {
    const first = found(ended(asked({}, { maxRounds: 3 }), 1), {
      sound: [sound(0), sound(1, { sameAs: 'agent-1-researcher-1 1' })],
      known: 1,
    });
    const second = ended(committed(synthesised(first), 2), 2).ended(
      'checkFindings',
      checked({
        sound: [sound(0), sound(1), sound(2, { sameAs: 'F1' })],
        doubts: [doubt, { ...doubt, index: 1 }],
        known: 1,
      }),
    );
    return second.ended('novelty-judge', {
      isNew: [true, false],
      why: ['Another bell.', 'The same bell.'],
      cost: cost('novelty-judge'),
    });
  },
  'no judge is to be had': () =>
    found(ended(asked(), 1), { doubts: [doubt] }).fail('novelty-judge', 'agent_failed', 'It gave no result.'),
  'texts change and sentences are left out': () =>
    committed(
      found(ended(asked(), 1)).ended('synthesiser', {
        ...update({
          executiveSummary: 'It is old [F1].',
          themes: [{ id: null, title: 'Age', text: 'Old [F1].', findings: ['F1'] }],
          conflicts: [
            {
              id: null,
              about: 'Year',
              positions: [
                { text: '1288', findings: ['F1'] },
                { text: '1291', findings: ['F1'] },
              ],
              resolution: null,
            },
          ],
        }),
        unsupported: ['It was cast in 1300.'],
      }),
      2,
    ),
  'there is no LaTeX': () => noConcerns(compiled(researched(), { kind: 'absent' })),
  'LaTeX does not compile it, repaired': () =>
    compiled(
      compiled(researched(), broken).ended('report-repairer', { commit: 'c-repaired', cost: cost('report-repairer') }),
    ),
  'LaTeX does not compile it, the repair comes to nothing': () =>
    noConcerns(
      compiled(compiled(researched(), broken).fail('report-repairer', 'agent_failed', 'It changes the text.'), broken),
    ),
  'approved by a person': () => reported(manual).send('APPROVAL_GRANTED', { by, gateId: 'g', artifactHash: 'h-4' }),
  'a concern is approved': () =>
    compiled(researched())
      .ended('findConcerns', { concerns: [concern] })
      .send('APPROVAL_GRANTED', { by, gateId: 'g' }),
  'sent back, researched further': () =>
    committed(
      synthesised(reported(manual).send('APPROVAL_REJECTED', { by, gateId: 'g', feedback: 'What of the market?' })),
      5,
    ),
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
  'an agent ends and one fails while the run is paused': () =>
    asked().fail('agent-1-researcher-1', 'budget').ended('agent-1-analyst-1', brought('agent-1-analyst-1')),
  'the synthesis takes too long, then extended': () =>
    read().fail('synthesiser', 'timeout').send('STAGE_EXTENDED', { by, minutes: 20 }),
  'a limit of a remote ends, resumes by itself': () => started().rateLimited('prepare', 60_000).fire(),
  ...Object.fromEntries(
    Object.entries(failing).map(([activity, run]) => [
      `${activity.toLowerCase()} fails, paused, retried`,
      () => retried(run().fail(activity, 'remote_unavailable')),
    ]),
  ),
};
