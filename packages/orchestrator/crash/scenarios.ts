/** Scenarios of the sweep. A new scenario is one more entry here. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  type Gate,
  type GateDecision,
  type JsonObject,
  type RunConfigRequest,
  type RunView,
  shownAt,
} from '@autonomous/shared';
import type { Script } from '../src/models/script.ts';
import { countedTest } from '../test/fixtures/counted-test.fixture.ts';
import { CUT_OFF } from './play.ts';
import { ask, call, fetchPage, finish, type Scenario, WEB, when, write } from './scenario.ts';

const REQUEST = 'Add the feature';
const PLAN = '# Plan\n\n```mermaid\nflowchart TD\n  a["Start"] --> b["Feature"]\n```\n';
const GOOD = { 'feature.txt': 'good\n' };

const planned = call([finish({ title: 'Feature', plan: PLAN })]);
const passed = call([finish({ verdict: 'pass', severity: 'minor', summary: 'As planned.', feedback: '' })]);
/** Writes files and is done, in one answer. */
const wrote = (files: Readonly<Record<string, string>>) =>
  call([...Object.entries(files).map(([path, content]) => write(path, content)), finish({ summary: 'Wrote it.' })]);

/** Roles that do what they should, at once; a scenario says what is different. */
const roles = (change: Script['roles'] = {}): Script['roles'] => ({
  planner: [planned, planned],
  implementer: [wrote(GOOD)],
  // A base that moves meanwhile has a result judged again.
  validator: [passed, passed, passed, passed],
  ...change,
});

const config = (change: RunConfigRequest = {}): RunConfigRequest => ({
  commands: { test: 'sh check.sh' },
  ...change,
  trustMode: { planning: 'auto', ...change.trustMode },
  git: { autoMerge: true, ...change.git },
});

const run = (change?: RunConfigRequest): Scenario['runs'] => [{ label: '', request: REQUEST, config: config(change) }];

/** Several at once, each with a model of its own, so that the model server can tell whose request it is. */
const runs = (labels: readonly string[], change?: RunConfigRequest): Scenario['runs'] =>
  labels.map((label) => {
    const model = `openai-compatible:${label}`;
    const modelRouting = { planner: model, implementer: model, validator: model };
    return { label, request: `${REQUEST} ${label}`, config: config({ ...change, modelRouting }) };
  });

const decided = ({ gates }: RunView, decision: GateDecision['decision']): boolean =>
  gates.some((gate) => gate.decision === decision);

/** Files of every project: a check with one test, which passes for a good feature and reports its result. */
export const FILES: Readonly<Record<string, string>> = {
  'README.md': '# Notes\n',
  'check.sh': countedTest('grep -q good feature.txt', 'feature'),
};

/** Files of a colleague, whose plan has the same number as the run's plan. */
const COLLEAGUE = { 'other.txt': 'other\n', '.autonomous/specs/001-other.md': '# Other\n' };

const FAMILY = { AUTONOMOUS_WORKFLOWS: fileURLToPath(new URL('family-workflows.ts', import.meta.url)) };

const BELL = '# Tech: [A-1] A bell\n\n**Status:** queued | **Priority:** P1\n';
const BACKLOG = {
  'ai/backlog.md': `| ID | Title | Status | Priority |
|---|---|---|---|
| A-1 | A bell | queued | P1 |
| A-2 | Nothing | queued | P2 |
`,
  'ai/features/A-1.md': BELL,
};
const KEPT =
  'The server keeps the status of the item: change neither the backlog nor the header or the log of the specification.';
const NOTHING = `A-2: Nothing\n\nDo what this item of ai/backlog.md names.\n\n${KEPT}`;
const AGAIN = 'An earlier attempt did not finish this item. What is known of it:\nThe attempt changed no file.';

const ROADMAP = {
  'roadmap/roadmap.json': `${JSON.stringify(
    {
      items: [
        {
          id: 'bell',
          title: 'A bell',
          type: 'feature',
          moscow: 'must-have',
          status: 'not-started',
          health: 'on-track',
          timeHorizon: 'now',
        },
      ],
    },
    null,
    2,
  )}\n`,
};
/** A release leaves a line outside, which must not be there twice. */
const RELEASE = 'echo released >> "${PWD%%/data/*}/letters"';
const nothingFound = call([finish({ summary: 'Nothing was found.', bugs: [] })]);
const RING = `T1: Ring\n\nMake it ring.\n\nThis is one task of 'A bell', an item of the project's roadmap. The documents of the item are in specs/a-bell/; the server writes them and roadmap/roadmap.json: change neither.`;

/** A person who approves whatever is shown. */
const approved = (gate: Gate): GateDecision | null =>
  gate.decisions.includes('approve') ? { decision: 'approve', ...shownAt(gate) } : null;

const ofItem = (input: JsonObject): Pick<Scenario, 'own' | 'files' | 'edits' | 'children' | 'roles'> => ({
  own: { workflow: 'roadmap-item', input, inProject: true },
  files: ROADMAP,
  edits: Object.keys(ROADMAP),
  children: [{ label: 'ring', request: RING }],
  roles: roles({
    ideator: [call([finish({ document: '# Problem\n\nNobody hears it.' })])],
    specifier: [call([finish({ document: '# Overview\n\nIt rings.' })])],
    decomposer: [call([finish({ tasks: [{ id: 'T1', title: 'Ring', description: 'Make it ring.', dependsOn: [] }] })])],
    // A base that moves meanwhile has a result looked through again.
    'item-reviewer': [nothingFound, nothingFound, nothingFound],
  }),
});

const CAST = 'The oldest bell of the town was cast in 1288 and weighs 4,500 kilograms.';
const HUNG = 'The tower of the town has two bells of bronze.';

/** What an agent of a research run reports. */
const reported = (...findings: readonly (readonly [claim: string, quote: string, address: string])[]) =>
  finish({
    summary: 'Looked at the pages.',
    findings: findings.map(([claim, quote, address]) => ({
      claim,
      evidence: [{ quote, address }],
      confidence: 'medium',
    })),
    sources: findings.map(([, , address]) => ({ address, credibility: 'medium', why: 'It is near.' })),
    contradictions: [],
    followUps: [],
  });
const cast = ['The oldest bell of the town was cast in 1288.', CAST, `${WEB}/bells`] as const;
const hung = [HUNG, HUNG, 'file:bells.md'] as const;
/** It is sent back, and left out. */
const fabricated = ['The oldest bell of the town weighs 9,000 kilograms.', CAST, `${WEB}/bells`] as const;
const synthesised = (update: object) =>
  call([finish({ themes: [], conflicts: [], openQuestions: ['Which bell is next?'], directions: [], ...update })]);
const asked = [{ kind: 'web', question: 'How old is the oldest bell?' }];

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'plain',
    about: 'a plan that is approved, an implementer of two turns, checks in bubblewrap, a squashed merge',
    sandboxed: true,
    runs: run({ trustMode: { planning: 'manual' } }),
    roles: roles({ implementer: [call([write('feature.txt', 'good\n')], [finish({ summary: 'Wrote it.' })])] }),
  },
  {
    name: 'question',
    about: 'planner and implementer ask, the work so far is kept; a fast-forward',
    runs: run({ git: { mergeStrategy: 'ff' } }),
    roles: roles({
      planner: [call([ask({ question: 'Which feature?' })]), planned],
      implementer: [call([write('draft.txt', 'half\n'), ask({ question: 'Good?' })]), wrote(GOOD)],
    }),
  },
  {
    name: 'fix',
    about: 'an install step, checks that fail once, a fix; a merge with two parents',
    runs: run({
      commands: { setup: 'mkdir -p installed && echo 1 > installed/it', test: 'sh check.sh' },
      git: { mergeStrategy: 'merge' },
    }),
    // Green before the run: what was red already is no agent's to fix.
    files: { 'check.sh': countedTest('test ! -e feature.txt || grep -q good feature.txt', 'feature') },
    roles: roles({ implementer: [wrote({ 'feature.txt': 'bad\n' }), wrote(GOOD)] }),
  },
  {
    name: 'reworked',
    about: 'a plan that is asked about, rejected, then approved with a correction; a branch without a merge',
    runs: run({ trustMode: { planning: 'manual' }, git: { autoMerge: false } }),
    roles: roles({ 'plan-reply': [call([finish({ reply: 'Because.' })])] }),
    decide(gate, view) {
      if (!decided(view, 'ask')) return { decision: 'ask', question: 'Why?' };
      if (!decided(view, 'reject')) return { decision: 'reject', feedback: 'Simpler.' };
      return { decision: 'approve', ...shownAt(gate), editedPlan: `${PLAN}\nCorrected.\n` };
    },
  },
  {
    name: 'base-moved',
    about: 'a colleague merges first, with a plan of the same number: taken in, checked and approved again',
    runs: run({ trustMode: { implementation: 'manual' } }),
    roles: roles(),
    async decide(gate, _view, world) {
      await world.commit('A colleague was first', COLLEAGUE);
      return { decision: 'approve', ...shownAt(gate) };
    },
  },
  {
    name: 'overtaken',
    about:
      'a colleague merges at the last moment, just before the push of the merge: taken in, checked and merged again',
    runs: run(),
    roles: roles(),
    colleague: { before: 'merge.push', message: 'A colleague was quicker', files: { 'other.txt': 'other\n' } },
  },
  {
    name: 'refused',
    about: 'the provider refuses in the middle of the implementation: what is done is kept, a person retries',
    runs: run(),
    roles: roles({ implementer: [call([write('feature.txt', 'good\n')], [finish({ summary: 'Wrote it.' })])] }),
    faultFor: ({ role, turn }) => (role === 'implementer' && turn === 2 ? 'refused' : null),
    decide(_gate, _view, world) {
      world.release();
      return { decision: 'retry' };
    },
  },
  {
    name: 'late',
    about: 'the implementer does not answer, the stage runs out of time, a person extends it',
    runs: run({ timeoutMinutes: { implementation: 2.5 / 60 } }),
    roles: roles(),
    endsOnTime: true,
    holds: ({ role }) => role === 'implementer',
    decide(_gate, _view, world) {
      world.release();
      return { decision: 'extend', minutes: 60 };
    },
  },
  {
    name: 'cancelled',
    about: 'cancelled while the implementer works',
    runs: run(),
    roles: roles(),
    ends: 'cancelled',
    holds: ({ role }) => role === 'implementer',
    whileHeld: (client, { id }) => client.cancelRun(id, 'No longer needed'),
  },
  {
    name: 'accepted',
    about: 'checks that fail, and a person who first wants a fix and then accepts the result as it is',
    runs: run({ trustMode: { fixes: 'manual' } }),
    roles: roles({ implementer: [wrote({ 'feature.txt': 'bad\n' }), wrote({ 'feature.txt': 'worse\n' })] }),
    decide: (gate, view) =>
      decided(view, 'retry') ? { decision: 'accept', reason: 'Good enough.', ...shownAt(gate) } : { decision: 'retry' },
  },
  {
    name: 'looked-at',
    about:
      'a check without a count and a file that runs by itself: asked about before the merge, accepted with a reason',
    files: { 'check.sh': 'grep -q good feature.txt\n' },
    runs: run(),
    roles: roles({ implementer: [wrote({ ...GOOD, 'package.json': '{"scripts":{"postinstall":"true"}}\n' })] }),
    decide(gate) {
      if (gate.concerns === undefined) throw new Error(`nobody expected the gate '${gate.kind}': ${gate.summary}`);
      // At a gate of the result, or at a pause where it comes up later.
      return gate.decisions.includes('approve')
        ? { decision: 'approve', notes: 'Looked at.', ...shownAt(gate) }
        : { decision: 'accept', reason: 'Looked at.', ...shownAt(gate) };
    },
  },
  {
    name: 'pull-request',
    about: 'a pull request at a forge, changes that a reviewer asks for, an answer in the thread, a merge by the forge',
    forge: true,
    runs: run({ git: { createPR: true, autoMerge: false } }),
    roles: roles({ implementer: [wrote(GOOD), wrote({ 'feature.txt': 'good, and polite\n' })] }),
    async decide(gate, { published }, { forge }) {
      if (gate.kind !== 'pull_request') throw new Error(`nobody expected the gate '${gate.kind}': ${gate.summary}`);
      const number = published?.pullRequest?.number ?? 0;
      await forge?.askForChanges(number, { body: 'Not yet.', path: 'feature.txt', text: 'Say it politely.' });
      const threads = forge?.issues().find((each) => each.number === number)?.pull?.threads ?? [];
      return threads.every(({ isResolved }) => isResolved) ? { decision: 'approve', ...shownAt(gate) } : null;
    },
  },
  {
    name: 'closed',
    about: 'a pull request at a forge that a person closes at its gate',
    forge: true,
    runs: run({ git: { createPR: true, autoMerge: false } }),
    roles: roles(),
    decide(gate) {
      if (gate.kind !== 'pull_request') throw new Error(`nobody expected the gate '${gate.kind}': ${gate.summary}`);
      return { decision: 'close', reason: 'Not wanted.' };
    },
  },
  {
    name: 'labelled-issue',
    about: 'an issue with a label that starts a run, one comment there that follows it, a pull request that is merged',
    forge: true,
    issue: REQUEST,
    files: { '.autonomous/config.json': JSON.stringify({ defaultRunConfig: { commands: { test: 'sh check.sh' } } }) },
    env: { DEFAULT_MAX_TOKENS: '1000000' },
    runs: run(),
    roles: roles(),
  },
  {
    name: 'two-at-once',
    about: 'two runs of one exploration side by side, pushed',
    // Each has a baseline of its own: which of two runs makes one that they share is a matter of time.
    runs: ['a', 'b'].flatMap((label) =>
      runs([label], { git: { autoMerge: false }, commands: { test: `sh check.sh ${label}` } }),
    ),
    roles: roles(),
  },
  {
    name: 'queued',
    about: 'two runs of which the second waits for the place of the first, both merged',
    env: { MAX_CONCURRENT_RUNS_PER_USER: '1' },
    runs: runs(['a', 'b']),
    roles: roles({
      // The second one is told what the first one did, its request included.
      implementer: [when(`${REQUEST} b`, wrote({ ...GOOD, 'b.txt': 'b\n' })), when(`${REQUEST} a`, wrote(GOOD))],
    }),
  },
  {
    name: 'own',
    about: 'a workflow of one’s own: two letters, a timer and an approval between them',
    own: { workflow: 'letters', input: { to: 'Ada' } },
    env: { AUTONOMOUS_WORKFLOWS: fileURLToPath(new URL('own-workflow.ts', import.meta.url)) },
    runs: [{ label: '', request: '', config: {} }],
    roles: {},
  },
  {
    name: 'children',
    about: 'two child runs at once, each with a commit, which their parent merges into its branch in order',
    own: { workflow: 'book' },
    env: FAMILY,
    inAnyOrder: true,
    runs: [{ label: '', request: 'Write the book', config: {} }],
    children: ['a', 'b'].map((label) => ({ label, request: `Write chapter ${label}` })),
    roles: {},
  },
  {
    name: 'owned-files',
    about: 'two entries in an engine-owned file, of which a colleague commits to the base before the first is pushed',
    own: { workflow: 'diary' },
    runs: [{ label: '', request: 'Keep a diary', config: {} }],
    roles: {},
    env: FAMILY,
    files: { 'diary.txt': 'earlier\n' },
    edits: ['diary.txt'],
    colleague: {
      before: 'begun.push',
      message: 'A colleague was quicker',
      files: { 'diary.txt': 'earlier, mended\n' },
    },
  },
  {
    name: 'children-cancelled',
    about: 'cancelled while the implementer of its only child run works',
    own: { workflow: 'supervisor' },
    env: FAMILY,
    // A workflow without trust modes of its own takes none; its child asks before it implements the plan.
    runs: [{ label: '', request: 'Supervise the feature', config: { commands: { test: 'sh check.sh' } } }],
    children: [{ label: 'child', request: `${REQUEST} below` }],
    roles: roles(),
    ends: 'cancelled',
    holds: ({ role }) => role === 'implementer',
    whileHeld: (client, { id }) => client.cancelRun(id, 'No longer needed'),
  },
  {
    name: 'backlog',
    about: 'an item with a specification, one that comes to nothing twice, and a person who finishes with what is done',
    own: { workflow: 'backlog' },
    files: BACKLOG,
    edits: Object.keys(BACKLOG),
    runs: run(),
    children: [
      {
        label: 'bell',
        request: `A-1: A bell\n\nDo what the specification below asks for, and nothing else. It is ai/features/A-1.md, as it is now.\n\n${KEPT}\n\n${BELL.trimEnd()}`,
      },
      { label: 'nothing', request: NOTHING, ends: 'cancelled' },
      { label: 'again', request: `${NOTHING}\n\n${AGAIN}`, ends: 'cancelled' },
    ],
    roles: roles({
      planner: [planned, planned, planned, planned],
      implementer: [when('A-2: Nothing', call([finish({ summary: 'It is done.' })])), when('A-1: A bell', wrote(GOOD))],
    }),
    decide: (gate) =>
      gate.kind === 'backlog_stopped' ? { decision: 'accept', reason: 'The bell is enough.', ...shownAt(gate) } : null,
  },
  {
    name: 'roadmap-item',
    about:
      'an item of a roadmap through all its phases: documents that are approved, one task, tests, a merge, a release',
    ...ofItem({ item: 'bell' }),
    runs: run({ commands: { test: 'sh check.sh', release: RELEASE } }),
    async decide(gate, _view, world) {
      if (gate.kind !== CUT_OFF) return approved(gate);
      const released = await readFile(world.place.letters, 'utf8').catch(() => '');
      return released === '' ? { decision: 'retry' } : { decision: 'accept', reason: 'It is out.', ...shownAt(gate) };
    },
  },
  {
    name: 'roadmap-item-left',
    about: 'an item of a roadmap whose result is left as the branch that has its last state',
    ...ofItem({ item: 'bell', approvals: 'release' }),
    runs: run({ git: { autoMerge: false } }),
    decide: approved,
  },
  {
    name: 'research',
    about: 'a round of research, a claim that is sent back and left out, a passage of a file, a report that is merged',
    own: {
      workflow: 'research',
      input: { topic: 'Bells', researchers: 1, analysts: 0, maxRounds: 1, maxRepairs: 0 },
      inProject: true,
    },
    web: { '/bells': [CAST] },
    files: { 'bells.md': `${HUNG}\n` },
    runs: [{ label: '', request: 'Which bell of the town is the oldest?', config: { git: { autoMerge: true } } }],
    roles: {
      synthesiser: [
        synthesised({ directions: asked }),
        synthesised({
          executiveSummary: 'It was cast in 1288 [F1].',
          themes: [{ id: null, title: 'Age', text: 'It is old [F1].', findings: ['F1'] }],
        }),
      ],
      researcher: [
        call([fetchPage(`${WEB}/bells`)], [reported(cast, hung, fabricated)]),
        call([reported(cast, hung, fabricated)]),
      ],
    },
  },
  {
    name: 'fan-out',
    about: 'six letters of one state, at most two at the same time',
    own: { workflow: 'mailing', input: { letters: 6 } },
    env: FAMILY,
    inAnyOrder: true,
    runs: [{ label: '', request: '', config: {} }],
    roles: {},
  },
];
