/**
 * The agents of a round. They work at the same time, each result is kept as it ends, and what was not taken of a result goes back to its
 * agent once. A workflow decides what each is asked, and what its result means.
 */
import type { ActivityError } from '@autonomous/shared';
import { assign, enqueueActions, type EventObject, type MachineContext } from 'xstate';
import type { Cost } from '../../../activities/types.ts';
import { changeOf } from '../change.ts';
import { endedActor, messageOf } from '../children.ts';
import type { CallingContext } from '../costs.ts';
import { failed, type FanOut, fanOut, startable, started, succeeded, verdictOf } from '../fan-out.ts';

export interface RoundContext extends CallingContext {
  readonly round: number;
  /** Agents at work; `null` where none is asked. */
  readonly agents: FanOut | null;
  /** They work on what was not taken of their first results. */
  readonly correcting: boolean;
}

const CORRECTION = '-again';

/** Id of an agent in its round, from that of its actor, which is another one for its correction. */
export const agentIn = (actor: string): string =>
  actor.endsWith(CORRECTION) ? actor.slice(0, -CORRECTION.length) : actor;

/** The agents of a round, which begin together. @param ids of the agents, which are their actors, too */
export const asked = (ids: readonly string[]) =>
  ({ agents: fanOut(ids, ids.length, 'collect'), correcting: false, sentBack: {} }) as const;

/** The same agents, which correct their results. */
export const askedAgain = (agents: readonly string[]) =>
  ({
    agents: fanOut(
      agents.map((agent) => `${agent}${CORRECTION}`),
      agents.length,
      'collect',
    ),
    correcting: true,
  }) as const;

/** Call of an agent. */
export interface AgentCall {
  /** Activity that makes it. */
  readonly src: string;
  /** Role whose calls are counted. */
  readonly role: string;
  readonly input: object;
}

export interface RoundDecisions<Context, Output, Fact> {
  /** Returns the call of an agent; `null` for an id that is not in the round. */
  readonly call: (context: Context, agent: string, isCorrection: boolean) => AgentCall | null;
  /** Fields of the context that get a new value by a result, and facts about it. */
  readonly kept: (
    context: Context,
    output: Output,
  ) => { readonly change: Partial<Context>; readonly facts: readonly Fact[] };
  /** Whether the round continues although all of these agents failed. Default: only after a correction. */
  readonly mayComeToNothing?: (agents: readonly string[]) => boolean;
}

/** Only the machine's setup knows the types of its actors and of its facts. */
interface Untyped {
  readonly spawnChild: (src: string, options: { readonly id: string; readonly input: object }) => void;
  readonly emit: (fact: object) => void;
}

/** Whether an agent came to nothing: it leaves its question open. A missing key or a used-up budget needs a person. */
export const isOfAgent = (error: unknown): boolean => (error as ActivityError).reason === 'agent_failed';

type Has<Context> = { readonly context: Context };

/** @param stage in which the agents work */
export function roundOf<
  Context extends MachineContext & RoundContext,
  Event extends EventObject,
  Output extends { readonly cost: Cost },
  Fact extends EventObject,
>({ call, kept, mayComeToNothing = () => false }: RoundDecisions<Context, Output, Fact>) {
  const change = changeOf<Context, RoundContext>;

  /** Failures that a person has to deal with. */
  const blocking = ({ agents, correcting }: Context): readonly { readonly id: string; readonly error: unknown }[] => {
    const outcomes = Object.entries(agents?.outcomes ?? {});
    const failures = outcomes.flatMap(([id, outcome]) => (outcome.ok ? [] : [{ id, error: outcome.error }]));
    const ofOthers = failures.filter(({ error }) => !isOfAgent(error));
    if (ofOthers.length > 0) return ofOthers;
    // None of them came to anything, and there is nothing to go on with.
    const isNothing = failures.length > 0 && failures.length === outcomes.length;
    return isNothing && !correcting && !mayComeToNothing(failures.map(({ id }) => id)) ? failures : [];
  };

  const isOver = ({ context: { agents } }: Has<Context>): boolean => agents !== null && verdictOf(agents) !== 'running';

  return {
    /** Guard of the transition after the agents of a round. */
    isOver,
    /** The transition that pauses with the first failure that a person has to deal with; those agents are asked again afterwards. */
    pausing: <const Target extends string, const Stage extends string>(target: Target, stage: Stage) =>
      ({
        guard: (has: Has<Context>) => isOver(has) && blocking(has.context).length > 0,
        target,
        actions: [
          {
            type: 'rememberFailure',
            params: ({ context }: Has<Context>) => ({ stage, error: blocking(context)[0]?.error }),
          },
          'askAgainLater',
        ],
      }) as const,
    actions: {
      startAgents: enqueueActions<Context, Event, undefined, Event, never, never, never, never, Fact>(
        ({ enqueue, context }) => {
          if (context.agents === null) return;
          const ids = startable(context.agents);
          const { spawnChild } = enqueue as unknown as Untyped;
          const calls: Record<string, number> = { ...context.calls };
          for (const id of ids) {
            const agent = agentIn(id);
            const made = call({ ...context, calls: { ...calls } }, agent, agent !== id);
            if (made === null) continue;
            spawnChild(made.src, { id, input: made.input });
            calls[made.role] = (calls[made.role] ?? 0) + 1;
          }
          enqueue.assign(change({ agents: started(context.agents, ids), calls }));
        },
      ),
      /** One agent has ended. */
      keepResult: enqueueActions<
        Context,
        Event,
        { id: string; output: Output },
        Event,
        never,
        never,
        never,
        never,
        Fact
      >(({ enqueue, context }, { id, output }) => {
        if (context.agents?.running.includes(id) !== true) return;
        const { change: own, facts } = kept(context, output);
        enqueue.assign({ ...own, ...change({ agents: succeeded(context.agents, id, null) }) });
        enqueue.stopChild(id);
        const { emit } = enqueue as unknown as Untyped;
        emit({ type: 'COST_RECORDED', ...output.cost });
        for (const fact of facts) emit(fact);
      }),
      keepAgentFailure: enqueueActions<
        Context,
        Event,
        { id: string; error: unknown },
        Event,
        never,
        never,
        never,
        never,
        Fact
      >(({ enqueue, context }, { id, error }) => {
        if (context.agents?.running.includes(id) !== true) return;
        enqueue.assign(change({ agents: failed(context.agents, id, error as never) })); // an ActivityError is JSON
        enqueue.stopChild(id);
        const { emit } = enqueue as unknown as Untyped;
        emit({ type: 'AGENT_FAILED', round: context.round, agent: agentIn(id), reason: messageOf(error) });
      }),
      /** A person has to look first; those agents are asked again afterwards. */
      askAgainLater: assign<Context, Event, undefined, Event, never>(({ context }) => {
        const { agents } = context;
        if (agents === null) return {};
        const ids = new Set(blocking(context).map(({ id }) => id));
        const outcomes = Object.fromEntries(Object.entries(agents.outcomes).filter(([id]) => !ids.has(id)));
        return change({ agents: { ...agents, outcomes } });
      }),
    },
  };
}

type Done<Output> = { readonly event: { readonly type: string; readonly output: Output } };
type Failed = { readonly event: { readonly type: string; readonly error: unknown } };

/** Transitions of the machine itself: an agent of a round may end in any state, also while the run is paused. */
export const agentEnds = <Output>() =>
  ({
    'xstate.done.actor.*': {
      actions: {
        type: 'keepResult',
        params: ({ event }: Done<Output>) => ({ id: endedActor(event.type), output: event.output }),
      },
    },
    'xstate.error.actor.*': {
      actions: {
        type: 'keepAgentFailure',
        params: ({ event }: Failed) => ({ id: endedActor(event.type), error: event.error }),
      },
    },
  }) as const;
