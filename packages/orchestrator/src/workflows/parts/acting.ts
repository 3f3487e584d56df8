/** Actions of a part, made of functions that say what changes in the context and which facts the run's events get. */
import { enqueueActions, type EventObject, type MachineContext } from 'xstate';
import type { RunFact } from './signals.ts';

/** Outcome of an action. */
export interface Acted<Context, Fact> {
  /** Fields of the context that get a new value. Default: none. */
  readonly change?: Partial<Context>;
  /** Default: none. */
  readonly facts?: readonly Fact[];
}

/** Maker of actions for the machines with this context. `null`: the action does nothing. */
export function actingOn<
  Context extends MachineContext,
  Event extends EventObject,
  Fact extends EventObject = RunFact,
>() {
  return <Params extends object | undefined = undefined>(
    act: (context: Context, params: Params) => Acted<Context, Fact> | null,
  ) =>
    enqueueActions<Context, Event, Params, Event, never, never, never, never, Fact>(({ enqueue, context }, params) => {
      const { change, facts = [] } = act(context, params) ?? {};
      if (change !== undefined) enqueue.assign(change);
      for (const fact of facts) enqueue.emit(fact);
    });
}
