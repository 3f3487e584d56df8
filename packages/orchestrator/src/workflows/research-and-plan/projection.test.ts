/** The projection of a run that researches and plans: its rounds of planning, issues, claims, and what was not taken. */
import type { JsonObject, ProjectionSection, WorkflowEvent } from '@autonomous/shared';
import { aRun } from '@autonomous/shared/a-run.fixture';
import { expect, it } from 'vitest';
import type { PlanFact } from './events.ts';
import { projectionOf } from './projection.ts';
import { type PlanContext, planInputSchema, type Severity } from './types.ts';

const AT = (second: number): string => new Date(Date.UTC(2030, 0, 1) + second * 1_000).toISOString();

/** Facts as the log has them, a second apart. */
const events = (...facts: readonly PlanFact[]): readonly WorkflowEvent[] =>
  facts.map(({ type, ...payload }, index) => ({
    id: `e-${index + 1}`,
    position: index + 1,
    workflowRunId: 'r-1',
    sequence: index + 1,
    type,
    origin: 'emitted',
    payload: payload as JsonObject,
    timestamp: AT(index),
  }));

const aContext = (parts: Partial<PlanContext> = {}): JsonObject =>
  ({ input: planInputSchema.parse({ topic: 'Bells' }), compiled: null, ...parts }) as unknown as JsonObject;

function section(id: string, log: readonly WorkflowEvent[], view = aRun()): ProjectionSection {
  const found = projectionOf(view, log, aContext()).sections.find((each) => each.id === id);
  if (found === undefined) throw new Error(`there is no section '${id}'`);
  return found;
}

const raised = (issue: string, severity: Severity, by = 'critic-1'): PlanFact => ({
  type: 'ISSUE_RAISED',
  round: 1,
  issue,
  by,
  severity,
  about: 'Frame',
  text: 'It is weak.',
  evidence: ['F1'],
});
const ended = (round: number, blockers: readonly string[], failed = false): PlanFact => ({
  type: 'PLAN_ROUND_ENDED',
  round,
  planHash: 'h',
  blockers,
  failed,
});

const LOG = events(
  { type: 'PLAN_ROUND_STARTED', round: 1 },
  { type: 'PLAN_CHANGED', round: 1, sections: ['vision', 'technologyStack'] },
  { type: 'CLAIM_ASKED', round: 1, claim: 'Steel bears it.', question: 'Does steel bear it?' },
  { type: 'CLAIM_ASKED', round: 1, claim: 'Copper does not.', question: 'Does copper?' },
  { type: 'CLAIM_NOT_FOUND', round: 1, claim: 'Copper does not.' },
  raised('I1', 'suggestion'),
  raised('I2', 'blocker'),
  raised('I3', 'blocker', 'critic-2'),
  { type: 'PLAN_PART_REFUSED', round: 1, agent: 'architect-2', section: 'openDecisions', reason: 'F9 does not exist.' },
  ended(1, ['I2', 'I3']),
  { type: 'PLAN_ROUND_STARTED', round: 2 },
  { type: 'ISSUE_ANSWERED', round: 2, issue: 'I2', by: 'architect-1', answer: 'A stronger frame.' },
  { type: 'ISSUE_WITHDRAWN', round: 2, issue: 'I2', by: 'critic-1', why: 'It bears the weight.' },
  { type: 'AGENT_FAILED', round: 2, agent: 'critic-2-2', reason: 'no answer' },
  ended(2, ['I3']),
  { type: 'PLAN_ROUND_STARTED', round: 3 },
);

it('counts the open blockers of each round', () => {
  expect(section('open-blockers', LOG)).toMatchObject({ labels: ['1', '2'], series: [{ values: [2, 1] }] });
});

it('shows of each round what changed, and what each agent did', () => {
  const rounds = section('rounds', LOG);
  expect(rounds).toMatchObject({ total: 3 });
  expect(rounds.kind === 'timeline' && rounds.entries).toMatchObject([
    {
      title: 'Round 1',
      startedAt: AT(0),
      endedAt: AT(9),
      mark: { text: '2 open blockers', tone: 'bad' },
      facts: ['changed: vision, technology stack', 'open: I2, I3'],
      parts: [
        { title: 'Architect 1', facts: [] },
        { title: 'Architect 2', facts: ['1 not taken'] },
        { title: 'Critic 1', facts: ['raised I1, I2'] },
        { title: 'Critic 2', facts: ['raised I3'] },
      ],
    },
    {
      title: 'Round 2',
      mark: { text: '1 open blocker' },
      parts: [{ facts: ['answered I2'] }, {}, { facts: ['withdrew I2'] }, { facts: [] }],
    },
    { title: 'Round 3', endedAt: null },
  ]);
});

it('names an agent that came to nothing, in its own round alone', () => {
  const log = events(
    { type: 'PLAN_ROUND_STARTED', round: 2 },
    { type: 'AGENT_FAILED', round: 2, agent: 'critic-2-2', reason: 'no answer' },
    ended(2, [], false),
    { type: 'PLAN_ROUND_STARTED', round: 3 },
  );
  const rounds = section('rounds', log);
  const [second, third] = rounds.kind === 'timeline' ? rounds.entries : [];
  expect(second?.parts[3]).toMatchObject({ title: 'Critic 2', note: 'Came to nothing: no answer', tone: 'bad' });
  expect(third?.parts[3]).not.toHaveProperty('note');
});

it('has open blockers first and withdrawn issues last, with their last answer', () => {
  const table = section('issues', LOG);
  const cells = table.kind === 'table' ? table.rows.map((row) => row.map(({ text }) => text)) : [];
  expect(cells).toEqual([
    ['I3 Frame', 'blocker', 'open', 'F1', '–'],
    ['I1 Frame', 'suggestion', 'open', 'F1', '–'],
    ['I2 Frame', 'blocker', 'withdrawn', 'F1', 'A stronger frame.'],
  ]);
});

it('tells what was found for new claims, and what was not taken', () => {
  expect(section('claims', LOG)).toMatchObject({
    items: [
      { text: 'Steel bears it.', note: 'Round 1: a passage was found.' },
      { text: 'Copper does not.', note: 'Round 1: nothing was found.' },
    ],
  });
  expect(section('not-taken', LOG)).toMatchObject({
    items: [{ text: 'F9 does not exist.', note: 'Round 1, architect-2, open decisions' }],
  });
});

it('marks a stable round, and one without any critic', () => {
  const log = (failed: boolean) => events({ type: 'PLAN_ROUND_STARTED', round: 1 }, ended(1, [], failed));
  const mark = (failed: boolean) => {
    const rounds = section('rounds', log(failed));
    return rounds.kind === 'timeline' ? rounds.entries[0]?.mark?.text : null;
  };
  expect(mark(false)).toBe('unchanged');
  expect(mark(true)).toBe('no critic came to anything');
});

it('says why there is no PDF', () => {
  const why = (parts: Partial<PlanContext>, view = aRun()) =>
    projectionOf(view, [], aContext(parts)).absent?.['plan_pdf'];
  expect(why({})).toContain('when the planning ends');
  expect(why({ compiled: { kind: 'absent' } })).toContain('no LaTeX');
  expect(why({ compiled: { kind: 'failed', errors: 'line 3: oops' } })).toContain('line 3: oops');
  expect(why({}, aRun({ completedAt: AT(1), status: 'cancelled' }))).toContain('ended before');
});
