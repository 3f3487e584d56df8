/** Agents of a round in a machine of their own: whose results are kept, whom a person has to help, and who is asked again. */
import type { Cost } from '../../../activities/types.ts';
import { assign, setup } from 'xstate';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { activity, defineWorkflow, type StateMeta } from '../../../core/definition.ts';
import { DrivenRun } from '../../driven-run.ts';
import type { RunFact } from '../signals.ts';
import { agentEnds, agentIn, asked, askedAgain, type RoundContext, roundOf } from './rounds.ts';

interface Context extends RoundContext {
  readonly answers: readonly string[];
  readonly error: string;
}
type Output = { readonly agent: string; readonly text: string; readonly cost: Cost };
type Event =
  | { readonly type: 'RETRY_REQUESTED' | 'RUN_CANCELLED' }
  | { readonly type: 'AGAIN'; readonly agents: readonly string[] }
  | { readonly type: `xstate.done.actor.q-${string}`; readonly output: Output }
  | { readonly type: `xstate.error.actor.q-${string}`; readonly error: unknown };

type ResultFact = { readonly type: 'ANSWERED'; readonly text: string };

const round = roundOf<Context, Event, Output, RunFact | ResultFact>({
  call: ({ calls }, agent, isCorrection) =>
    agent === 'q-nobody'
      ? null
      : { src: 'answer', role: 'helper', input: { agent, isCorrection, call: (calls['helper'] ?? 0) + 1 } },
  kept: ({ answers }, { text }) => ({
    change: { answers: [...answers, text] },
    facts: [{ type: 'ANSWERED', text }],
  }),
  mayComeToNothing: (agents) => agents.includes('q-optional'),
});

const machine = setup({
  types: {
    context: {} as Context,
    input: {} as { readonly input: { readonly agents: readonly string[] } },
    events: {} as Event,
    emitted: {} as RunFact | ResultFact,
    meta: {} as StateMeta<Context>,
  },
  actors: { answer: activity<object, Output>() },
  actions: {
    ...round.actions,
    rememberFailure: assign((_, { error }: { stage: string; error: unknown }) => ({ error: (error as Error).message })),
  },
}).createMachine({
  id: 'questions',
  initial: 'asking',
  context: ({ input }) => ({ round: 1, calls: {}, answers: [], error: '', ...asked(input.input.agents) }),
  on: { RUN_CANCELLED: '.cancelled', ...agentEnds<Output>() },
  states: {
    asking: {
      meta: { status: 'running' },
      entry: 'startAgents',
      always: [round.pausing('#questions.paused', 'asking'), { guard: round.isOver, target: 'over' }],
    },
    paused: { meta: { status: 'paused' }, on: { RETRY_REQUESTED: 'asking' } },
    over: {
      meta: { status: 'running' },
      on: { AGAIN: { target: 'asking', actions: assign(({ event }) => askedAgain(event.agents)) } },
    },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});

const workflow = defineWorkflow({
  name: 'questions',
  version: 1,
  description: 'for tests',
  machine,
  input: z.object({ agents: z.array(z.string()) }),
  signals: {
    RUN_CANCELLED: z.object({}),
    RETRY_REQUESTED: z.object({}),
    AGAIN: z.object({ agents: z.array(z.string()) }),
  },
});

const begun = (...agents: readonly string[]): DrivenRun =>
  new DrivenRun(workflow).begin({ input: { agents: [...agents] } });
const cost: Cost = { role: 'helper', model: 'm', scripted: true, inputTokens: 1, outputTokens: 1, calls: 1 };
const answers = (run: DrivenRun, id: string): DrivenRun =>
  run.ended(id, { agent: agentIn(id), text: `of ${id}`, cost } as never);

it('work together, are counted by their roles, and leave their questions open where they come to nothing', () => {
  const run = begun('q-a', 'q-b', 'q-nobody');
  expect(run.open).toEqual(['q-a', 'q-b']);
  expect([run.inputOf('q-a'), run.inputOf('q-b')]).toEqual([
    { agent: 'q-a', isCorrection: false, call: 1 },
    { agent: 'q-b', isCorrection: false, call: 2 },
  ]);
});

it('are over once all have ended; one that came to nothing is named', () => {
  const run = answers(begun('q-a', 'q-b').fail('q-a'), 'q-b');
  expect([run.state.snapshot?.value, run.context['answers']]).toEqual(['over', ['of q-b']]);
  expect(
    run.events.filter(({ type }) => /^(?:ANSWERED|AGENT_FAILED)$/.test(type)).map(({ payload }) => payload),
  ).toEqual([{ round: 1, agent: 'q-a', reason: 'it broke' }, { text: 'of q-b' }]);
  expect(run.types).toContain('COST_RECORDED');
});

it('pause the run for what a person has to do, once all have ended, and are asked again alone', () => {
  const run = begun('q-a', 'q-b').fail('q-a', 'budget', 'No money is left.');
  expect(run.state.snapshot?.value).toBe('asking');
  answers(run, 'q-b');
  expect([run.state.snapshot?.value, run.context['error']]).toEqual(['paused', 'No money is left.']);
  run.send('RETRY_REQUESTED');
  expect(run.open).toEqual(['q-a']);
  expect(answers(run, 'q-a').state.snapshot?.value).toBe('over');
  expect(run.context['answers']).toEqual(['of q-b', 'of q-a']);
});

it('pause it where none of them came to anything, unless that is an outcome or they were correcting', () => {
  expect(begun('q-a', 'q-b').fail('q-a').fail('q-b').state.snapshot?.value).toBe('paused');
  expect(begun('q-a', 'q-optional').fail('q-a').fail('q-optional').state.snapshot?.value).toBe('over');
  const run = answers(begun('q-a'), 'q-a').send('AGAIN', { agents: ['q-a'] });
  expect(run.inputOf('q-a-again')).toEqual({ agent: 'q-a', isCorrection: true, call: 2 });
  expect(run.fail('q-a-again').state.snapshot?.value).toBe('over');
});
