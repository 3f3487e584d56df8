/**
 * XState's pure steps of a machine: what `initialTransition` and `transition` of the library give, at about 0.4 of
 * their cost. The library builds an actor for each call, and with it enters the machine's initial state again; here one
 * actor a machine, never started, stands in for `self` in all of them.
 */
import { type AnyActorScope, type AnyMachineSnapshot, type AnyStateMachine, createActor } from 'xstate';

/** What a step asks for. The library's own type lacks `xstate.emit`. */
export interface RequestedAction {
  readonly type: string;
  readonly params?: unknown;
}

export type PureStep = readonly [snapshot: AnyMachineSnapshot, actions: readonly RequestedAction[]];

const scopes = new WeakMap<AnyStateMachine, AnyActorScope>();

/** @param input what the machine's context is made from */
export function initialStep(machine: AnyStateMachine, input: unknown): PureStep {
  return collect(machine, (scope) => machine.getInitialSnapshot(scope, input));
}

export function nextStep(machine: AnyStateMachine, snapshot: AnyMachineSnapshot, event: { type: string }): PureStep {
  return collect(machine, (scope) => machine.transition(snapshot, event, scope));
}

function collect(machine: AnyStateMachine, step: (scope: AnyActorScope) => AnyMachineSnapshot): PureStep {
  const actions: RequestedAction[] = [];
  let scope = scopes.get(machine);
  if (scope === undefined) scopes.set(machine, (scope = inertScope(machine)));
  scope.actionExecutor = (action) => void actions.push(action);
  return [step(scope), actions];
}

function inertScope(machine: AnyStateMachine): AnyActorScope {
  const self = createActor(machine);
  const nothing = (): void => undefined;
  return {
    self,
    system: self.system,
    id: '',
    sessionId: '',
    logger: nothing,
    defer: nothing,
    stopChild: nothing,
    emit: nothing,
    actionExecutor: nothing,
  };
}
