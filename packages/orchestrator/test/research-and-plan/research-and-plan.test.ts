/** Research and plan on a real server with real git and a real web of this machine: rounds, issues, claims and the end. */
import { expect, it } from 'vitest';
import { planDataSchema } from '../../src/workflows/research-and-plan/output.ts';
import { tool, when } from '../fixtures/orchestrator.fixture.ts';
import {
  aPlanServer,
  blocker,
  draft,
  type PlanServer,
  review,
  STRUCTURE,
  task,
  WAY,
} from './research-and-plan.fixture.ts';
import { CRACK, found, reads, report } from '../research/research.fixture.ts';

const merging = { git: { autoMerge: true } };
const folder = 'docs/research-bells';
const written = [draft(STRUCTURE), draft(WAY)];
const unchanged = [draft(), draft()];
const content = [review(), review()];
/** Ends after a round that changes nothing: two rounds in all. */
const short = { stableRounds: 1 };

const facts = (server: PlanServer, runId: string, type: string): Promise<readonly Record<string, unknown>[]> =>
  server.payloads(runId, type as never);

const planOf = async (server: PlanServer, branch: string) =>
  planDataSchema.parse(JSON.parse((await server.file(branch, `${folder}/bells-plan.json`)) ?? ''));

/** Resolves when the run has ended. The research alone may take as long as a wait lasts. */
async function completed(server: PlanServer, runId: string) {
  await server.event(runId, 'RESEARCH_TAKEN' as never);
  return server.until(runId, { status: 'completed' });
}

it('plans until the critic who raised a blocker withdraws it and the plan has not changed for two rounds, and merges report and plan', async () => {
  const insists = review({ withdrawn: [{ issue: 'I1', why: 'It is of steel.' }] });
  const server = await aPlanServer(() => ({
    architects: [
      ...written,
      draft({ answers: [{ issue: 'I1', answer: 'The frame is of steel.' }] }),
      draft(),
      ...unchanged,
      ...unchanged,
    ],
    critics: [
      review({ issues: [blocker()] }),
      review(),
      review(),
      // The other critic has no say in it, also when it insists.
      insists,
      insists,
      review({ withdrawn: [{ issue: 'I1', why: 'Steel bears it.' }] }),
      review(),
      ...content,
    ],
  }));
  const run = await server.plan({}, merging);
  const done = await completed(server, run.id);

  expect(await facts(server, run.id, 'PLAN_ROUND_ENDED')).toMatchObject([
    { round: 1, blockers: ['I1'] },
    { round: 2, blockers: ['I1'] },
    { round: 3, blockers: [] },
    { round: 4, blockers: [] },
  ]);
  expect(await facts(server, run.id, 'PLAN_PART_REFUSED')).toMatchObject([
    {
      agent: 'critic-2',
      section: 'withdrawn',
      reason: 'I1 was raised by critic-1, and only critic-1 can withdraw it.',
    },
  ]);
  expect(await facts(server, run.id, 'ISSUE_ANSWERED')).toMatchObject([{ issue: 'I1', by: 'architect-1' }]);
  expect(await facts(server, run.id, 'ISSUE_WITHDRAWN')).toMatchObject([{ round: 3, issue: 'I1', by: 'critic-1' }]);
  expect(await facts(server, run.id, 'PLANNING_ENDED')).toMatchObject([{ round: 4 }]);
  expect(done.merged?.baseBranch).toBe('main');
  const tex = (await server.file('main', `${folder}/bells-plan.tex`)) ?? '';
  // Each task stands behind those that it depends on.
  expect(tex.indexOf('Task frame')).toBeGreaterThan(0);
  expect(tex.indexOf('Task frame')).toBeLessThan(tex.indexOf('Task motor'));
  expect(tex).toContain('\\bibliography{sources}');
  const plan = await planOf(server, 'main');
  expect(plan.tasks.map(({ id }) => id)).toEqual(['frame', 'motor']);
  expect(plan.components.map(({ name }) => name)).toEqual(['Frame', 'Motor']);
  expect(await server.file('main', `${folder}/bells-report.md`)).toContain('cast in 1288');
  expect(await server.file('main', `${folder}/sources.bib`)).toContain('Jane Doe');
  const state = (await server.file('main', `${folder}/bells-state.md`)) ?? '';
  expect(state).toContain('current_phase: "Phase B: Planning"');
  expect(state).toContain('total_iterations_planning: 4');
  expect(state).toContain('- [x] Phase A: Research\n- [x] Phase B: Planning');
});

it('sends a circle of tasks, an estimate and evidence that does not exist back once, and names what stays; has new claims looked up, and takes those findings whose passages are there', async () => {
  const circle = [task('a', { dependencies: ['b'] }), task('b', { dependencies: ['a'] })];
  const fabricated = 'The bell was blessed by seven bishops on a cold morning.';
  const server = await aPlanServer((web) => ({
    architects: [
      draft({ ...STRUCTURE, vision: 'To build it takes 3 weeks.' }),
      draft({ ...WAY, tasks: circle, defensibility: 'Nobody has another one [F7].' }),
      draft({
        ...STRUCTURE,
        vision: 'To build it takes 2 weeks.',
        claims: [{ claim: 'The bell is cracked.', question: 'Is the great bell cracked?' }],
      }),
      draft({ ...WAY, claims: [{ claim: 'It was blessed.', question: 'Was the bell blessed?' }] }),
      draft({ technologyStack: 'A weld for the crack [F2].' }),
      ...unchanged,
      draft(),
    ],
    critics: [
      review({ issues: [blocker('It is too heavy.', ['F8'])] }),
      review(),
      review({ issues: [blocker('It is too heavy.', ['F9'])] }),
      ...content,
      ...content,
    ],
    researchers: [
      when(
        'Is the great bell cracked?',
        reads(
          [`${web}/crack`],
          report([found('A crack was found in the great bell in 2019.', [CRACK, `${web}/crack`])]),
        ),
      ),
      when(
        'Was the bell blessed?',
        reads([`${web}/oldest`], report([found('The bell was blessed by bishops.', [fabricated, `${web}/oldest`])])),
      ),
    ],
  }));
  const run = await server.plan(short);
  await completed(server, run.id);

  const refused = await facts(server, run.id, 'PLAN_PART_REFUSED');
  expect(refused.map(({ agent, section }) => `${String(agent)} ${String(section)}`)).toEqual([
    'architect-1 vision',
    'critic-1 issues',
  ]);
  expect(refused[0]?.['reason']).toContain('estimates effort in time: "To build it takes 2 weeks."');
  expect(refused[1]?.['reason']).toContain('F9, which is no finding of the report');
  expect(await facts(server, run.id, 'ISSUE_RAISED')).toEqual([]);
  expect(await facts(server, run.id, 'FINDING_KEPT')).toMatchObject([{ finding: 'F2', round: 1 }]);
  expect(await facts(server, run.id, 'CITATION_LEFT_OUT')).toMatchObject([
    { claim: 'The bell was blessed by bishops.' },
  ]);
  expect(await facts(server, run.id, 'CLAIM_NOT_FOUND')).toMatchObject([{ claim: 'It was blessed.' }]);
  const plan = await planOf(server, run.branch);
  expect(plan.vision).toBe('');
  expect(plan.architecture).toBe(STRUCTURE.architecture);
  expect(plan.tasks.map(({ id }) => id)).toEqual(['frame', 'motor']);
  expect(plan.defensibility).toBe(WAY.defensibility);
  expect(plan.technologyStack).toBe('A weld for the crack [F2].');
  const tex = (await server.file(run.branch, `${folder}/bells-plan.tex`)) ?? '';
  expect(tex).toMatch(/A weld for the crack\s*~?\\cite/);
});

it('goes on where one critic comes to nothing, and asks a person where both do, and about open blockers when the rounds are used up: then plans further or takes the plan', async () => {
  const nothing = {
    turns: [
      { text: 'I do not know.' },
      { text: 'Nothing.' },
      { tools: [tool('finish', { summary: '', issues: [], withdrawn: [] })] },
    ],
  };
  const server = await aPlanServer(() => ({
    architects: [...written, draft({ technologyStack: 'Bronze.' }), draft()],
    critics: [nothing, review({ issues: [blocker()] }), nothing, nothing, ...content],
  }));
  const run = await server.plan({ maxRounds: 1 });
  await server.event(run.id, 'RESEARCH_TAKEN' as never);
  const first = await server.until(run, { gate: 'plan_blockers' });
  expect(await facts(server, run.id, 'PLAN_ROUND_ENDED')).toMatchObject([
    { round: 1, blockers: ['I1'], failed: false },
  ]);
  expect(first.gate?.summary).toBe(
    "The plan for 'Bells' has 1 open blocker after 1 round. Take it, plan further or stop?",
  );
  expect(first.gate?.details['blockers']).toEqual([
    'I1 of critic-2: The frame does not bear the weight. (evidence: F1)',
  ]);
  await server.decide(run, { decision: 'reject', feedback: 'Think of bronze.' });
  const paused = await server.until(run, { gate: 'pause' });
  expect(JSON.stringify(paused.gate)).toContain('called no tool');
  await server.decide(run, { decision: 'retry' });
  await server.event(run.id, 'PLANNING_ENDED' as never);
  await server.until(run, { gate: 'plan_blockers' });
  await server.decide(run, { decision: 'approve' });
  await server.until(run, { status: 'completed' });
  expect(JSON.stringify(await facts(server, run.id, 'RUN_COMPLETED'))).toContain('1 open blocker (I1)');
  expect((await planOf(server, run.branch)).technologyStack).toBe('Bronze.');
  const plan = await server.file(run.branch, `${folder}/bells-plan.md`);
  expect(plan).toMatch(/## Open Blockers[^]*does not bear the weight/);
});

it('asks a person about a plan whose tasks are never right, calls it no plan that has settled, and ends where they stop it, with report and plan on its branch', async () => {
  const circle = draft({ tasks: [task('a', { dependencies: ['b'] }), task('b', { dependencies: ['a'] })] });
  const server = await aPlanServer(() => ({
    architects: [draft(STRUCTURE), circle, circle, draft(), circle, circle],
    critics: [...content, ...content],
  }));
  const run = await server.plan({ ...short, maxRounds: 2 });
  await server.event(run.id, 'RESEARCH_TAKEN' as never);
  const { gate } = await server.until(run, { gate: 'plan_blockers' });
  expect(gate?.summary).toBe("The plan for 'Bells' has no task after 2 rounds. Take it, plan further or stop?");
  await server.decide(run, { decision: 'close', reason: 'No bell will ring.' });
  const stopped = await server.until(run, { status: 'failed' });
  expect(JSON.stringify(stopped.failure)).toContain('No bell will ring.');
  for (const [file, text] of [
    ['bells-plan.md', STRUCTURE.architecture],
    ['bells-report.md', 'cast in 1288'],
  ] as const) {
    expect(await server.mirror('show', `${run.branch}:${folder}/${file}`)).toContain(text);
    expect(await server.file('main', `${folder}/${file}`)).toBeNull();
  }
});
