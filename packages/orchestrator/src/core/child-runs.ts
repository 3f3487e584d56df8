/**
 * Child runs as a machine declares them: actors that the engine carries out by starting a run of another workflow and waiting
 * for its end.
 */
import type {
  AllowedFiles,
  AttemptOfRun,
  JsonObject,
  JsonValue,
  RunConfigRequest,
  RunStatus,
} from '@autonomous/shared';
import { type AnyStateMachine, fromPromise } from 'xstate';

/** Request of a parent for a child run. */
export interface ChildRequest {
  /** The child's request in words, not empty. */
  readonly request: string;
  /** Names the child's branch. Default: `request`. */
  readonly title?: string;
  /** Input of a workflow that declares one. */
  readonly input?: JsonObject;
  /** For a child that is started again if it comes to nothing. Shown to people. */
  readonly attempt?: AttemptOfRun;
  /** Narrows the configuration that the child inherits of its parent; it cannot widen it. */
  readonly config?: RunConfigRequest;
  /**
   * The only files that agents of the child and of the runs below it may change, beside the rule that the parent has itself: a path has
   * to be allowed by both. At most 500 patterns of 500 characters. Default: the parent's rule alone.
   */
  readonly allowedFiles?: AllowedFiles;
}

/** The result of a child run that completed. A type, so that it is a `JsonValue`: an interface has no index signature. */
export type ChildResult<Output = JsonValue> = {
  readonly runId: string;
  readonly status: 'completed';
  /** Branch of the child in the mirror; empty for a workflow that needs no project. */
  readonly branch: string;
  /** `null` for a workflow that makes no commits; the same holds for the next two. */
  readonly baseCommit: string | null;
  readonly headCommit: string | null;
  readonly codeTree: string | null;
  /** Output of the child's machine; `null` where it gives none. */
  readonly output: Output;
};

/** The workflow whose runs an actor starts, by the actor's logic. */
const workflows = new WeakMap<object, string>();

/**
 * Declares an actor that is a run of another workflow: invoking or spawning it starts that run, and the run's end is the actor's
 * outcome. A child that fails or is cancelled gives `xstate.error` with an `ActivityError` of kind `terminal`.
 * @param workflow name of the child's workflow; the child follows its newest version
 */
export function childRun<Input extends ChildRequest = ChildRequest, Output = JsonValue>(workflow: string) {
  const logic = fromPromise<ChildResult<Output>, Input>(() =>
    Promise.reject(new Error('child runs are carried out by the engine')),
  );
  workflows.set(logic, workflow);
  return logic;
}

/** The workflow that an actor's logic starts runs of; `undefined` for logic that is no child run. */
export function childWorkflowOf(logic: unknown): string | undefined {
  return typeof logic === 'object' && logic !== null ? workflows.get(logic) : undefined;
}

/** Logic of activities that only look at child runs. */
const watchers = new WeakSet<object>();

/** Marks an activity that only waits for what child runs come to: beside them alone, its run still waits for its child runs. */
export function watching<Logic extends object>(logic: Logic): Logic {
  watchers.add(logic);
  return logic;
}

/** The child runs that a machine declares: name of the actor → workflow. */
export function childrenOf({ machine }: { readonly machine: AnyStateMachine }): ReadonlyMap<string, string> {
  let known = declared.get(machine);
  if (known === undefined) {
    const actors = Object.entries(machine.implementations.actors as Readonly<Record<string, unknown>>);
    known = new Map(
      actors.flatMap(([src, logic]) => {
        const workflow = childWorkflowOf(logic);
        return workflow === undefined ? [] : [[src, workflow] as const];
      }),
    );
    declared.set(machine, known);
  }
  return known;
}

const declared = new WeakMap<AnyStateMachine, ReadonlyMap<string, string>>();

/** The open activities of a run after a step, and those of them that are child runs. */
interface OpenWork {
  /** XState id → activation key. */
  readonly activities: ReadonlyMap<string, string>;
  /** Started by this step. */
  readonly started: readonly { readonly activity: string; readonly key: string; readonly src: string }[];
}

/**
 * Ids of the open activities that are child runs, with those that only watch them.
 * @param before ids of those before the step
 * @returns `undefined` where there is none, so that the states of other machines stay as they are
 */
export function openChildren(
  machine: AnyStateMachine,
  before: readonly string[] | undefined,
  { activities, started }: OpenWork,
): readonly string[] | undefined {
  const declaredHere = childrenOf({ machine });
  if (declaredHere.size === 0) return undefined;
  const sources = new Map(started.map(({ activity, src, key }) => [activity, { src, key }]));
  const actors = machine.implementations.actors as Readonly<Record<string, unknown>>;
  const isWatcher = (src: string): boolean => {
    const logic = actors[src];
    return typeof logic === 'object' && logic !== null && watchers.has(logic);
  };
  const open = [...activities].filter(([id, key]) => {
    const begun = sources.get(id);
    return begun?.key === key ? declaredHere.has(begun.src) || isWatcher(begun.src) : before?.includes(id) === true;
  });
  return open.length === 0 ? undefined : open.map(([id]) => id);
}

/** The view of a run whose open activities are all child runs: it has nothing to do until one of them ends. */
export function awaitingChildren<View extends { readonly status: RunStatus; readonly gate: unknown }>(
  view: View,
  open: number,
  children: readonly string[] | undefined,
): View {
  const isWaiting = view.status === 'running' && view.gate === null && children?.length === open;
  return isWaiting ? { ...view, status: 'awaiting_children' } : view;
}
