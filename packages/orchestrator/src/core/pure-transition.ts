/**
 * XState's pure steps of a machine: what `initialTransition` and `transition` of the library give, at about 0.4 of
 * their cost. The library builds an actor for each call, and with it enters the machine's initial state again; here one
 * actor a machine, never started, stands in for `self` in all of them.
 */
import { type AnyActorScope, type AnyMachineSnapshot, type AnyStateMachine, createActor } from 'xstate';

/** An action that a step requests. The library's own type lacks `xstate.emit`. */
export interface RequestedAction {
  readonly type: string;
  readonly params?: unknown;
}

export type PureStep = readonly [snapshot: AnyMachineSnapshot, actions: readonly RequestedAction[]];

/** Transitions within one step. What takes more goes round for ever, and everything else would wait for it. */
const MAX_MICROSTEPS = 10_000;

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

/**
 * Children that are new in a snapshot and that no action asked for: `spawn` within `assign` makes such, and nothing
 * performs them. Their ids.
 */
export function implicitlySpawnedChildren(
  before: AnyMachineSnapshot | null,
  [snapshot, actions]: PureStep,
): readonly string[] {
  // Any child is `any` to XState; here they are compared alone.
  const children = snapshot.children as Readonly<Record<string, unknown>>;
  const known = before?.children as typeof children | undefined;
  if (children === known) return [];
  const asked = new Set<unknown>();
  for (const { type, params } of actions)
    if (type === 'xstate.spawnChild') asked.add((params as { readonly actorRef?: unknown }).actorRef);
  return Object.keys(children).filter((id) => children[id] !== known?.[id] && !asked.has(children[id]));
}

function inertScope(machine: AnyStateMachine): AnyActorScope {
  const { maxIterations = Infinity } = machine.options;
  machine.options = { ...machine.options, maxIterations: Math.min(maxIterations, MAX_MICROSTEPS) };
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
