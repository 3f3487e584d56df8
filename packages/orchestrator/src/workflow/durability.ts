/**
 * What of a machine cannot be made durable, as far as it can be seen before it runs: each fault names the thing, the place
 * and the way out. Side effects inside `assign`, guards and input functions cannot be seen here; they are repeated at every
 * replay, so there must be none.
 */
import type { Decision, JsonObject } from '@autonomous/shared';
import { type AnyStateMachine, type AnyStateNode, initialTransition } from 'xstate';
import type { z } from 'zod';
import { findNonJson } from './plain-json.ts';
import { BUILT_IN_RUN_CONFIG } from './run-config.ts';

export interface DurableParts {
  readonly name: string;
  readonly version: number;
  readonly machine: AnyStateMachine;
  readonly signals: Readonly<Record<string, z.ZodType<object>>>;
  readonly input?: z.ZodType<object>;
}

/** Facts that the engine itself writes: a machine that emitted one would make the view say what is not so. */
const ENGINE_FACTS: ReadonlySet<string> = new Set([
  'RUN_QUEUED',
  'RUN_STARTED',
  'RUN_ADMITTED',
  'RUN_FORKED',
  'RUN_MIGRATED',
  'RUN_PAUSED',
  'RUN_RESUMED',
  'RUN_COMPLETED',
  'RUN_FAILED',
  'STAGE_STARTED',
  'STAGE_COMPLETED',
  'STATE_CHANGED',
  'APPROVAL_REQUESTED',
  'CLARIFICATION_REQUESTED',
  'ACTIVITY_COMPLETED',
  'ACTIVITY_FAILED',
  'TIMER_FIRED',
  'CALL_BOOKED',
  'CALL_SETTLED',
]);

/** May only the engine write an event of this type? */
export function isEngineFact(type: string): boolean {
  return ENGINE_FACTS.has(type);
}

/** The signals as which a gate's decisions reach the machine; one of them suffices. */
export const DECISION_SIGNALS: Readonly<Record<Decision, readonly string[]>> = {
  approve: ['APPROVAL_GRANTED'],
  reject: ['APPROVAL_REJECTED'],
  answer: ['CLARIFICATION_ANSWERED'],
  ignore: ['CLARIFICATION_IGNORED'],
  ask: ['QUESTION_ASKED'],
  retry: ['RETRY_REQUESTED', 'FIX_DECIDED'],
  accept: ['FIX_DECIDED'],
  extend: ['STAGE_EXTENDED', 'BUDGET_CHANGED'],
};

/** Actions whose effect is plain data that the engine stores. */
export const DURABLE_ACTIONS: ReadonlySet<string> = new Set([
  'xstate.assign',
  'xstate.cancel',
  'xstate.emit',
  'xstate.enqueueActions',
  'xstate.raise',
  'xstate.spawnChild',
  'xstate.stopChild',
]);

/**
 * @param isActivity was this actor logic made by `activity()`?
 * @returns every fault, each once; none when the machine can run
 */
export function durabilityFaults(definition: DurableParts, isActivity: (logic: unknown) => boolean): readonly string[] {
  const faults = [
    ...nameFaults(definition),
    ...signalFaults(definition),
    ...actorFaults(definition.machine, isActivity),
    ...[...nodesOf(definition.machine.root)].flatMap((node) => nodeFaults(node, definition)),
    ...idFaults(definition.machine),
  ];
  // A machine with such faults need not get through its first step.
  return [...new Set(faults.length > 0 ? faults : firstStepFaults(definition))];
}

/** All states of a machine, the root first. */
export function* nodesOf(node: AnyStateNode): Generator<AnyStateNode> {
  yield node;
  for (const child of Object.values(node.states)) yield* nodesOf(child);
}

function nameFaults({ name, version }: DurableParts): string[] {
  return [
    ...(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)
      ? []
      : [`its name is no name: use letters, digits, dots and dashes, at most 100`]),
    ...(Number.isInteger(version) && version > 0
      ? []
      : [`its version is ${version}; versions are whole numbers from 1`]),
  ];
}

function signalFaults({ signals }: DurableParts): string[] {
  return Object.keys(signals).flatMap((type) => {
    if (type.startsWith('xstate.')) return [`signal '${type}' is reserved for XState; give it a name of its own`];
    if (type.includes('*')) return [`signal '${type}' is a wildcard; declare each signal by its name`];
    return isEngineFact(type) ? [`signal '${type}' is an event that the engine writes; give it another name`] : [];
  });
}

function actorFaults(machine: AnyStateMachine, isActivity: (logic: unknown) => boolean): string[] {
  return Object.entries(machine.implementations.actors).flatMap(([src, logic]) =>
    isActivity(logic) ? [] : [`actor '${src}' ${kindOf(logic)}; declare it with activity<Input, Output>()`],
  );
}

function kindOf(logic: unknown): string {
  if (typeof logic !== 'object' || logic === null) return 'is no activity';
  if ('root' in logic)
    return 'is a nested machine, which would run by itself (make it a workflow and a run of its own)';
  return 'start' in logic
    ? 'is a promise, callback or observable actor, which would run by itself and be gone with the process'
    : 'is a transition actor, whose state nobody stores';
}

/** Every id is used by one state only, so that an outcome belongs to one activity. */
function idFaults(machine: AnyStateMachine): string[] {
  const owners = new Map<string, string>();
  const faults: string[] = [];
  for (const node of nodesOf(machine.root)) {
    for (const { id } of node.invoke) {
      const other = owners.get(id);
      if (other !== undefined) faults.push(`activity id '${id}' is used by both '${other}' and '${node.id}'`);
      owners.set(id, node.id);
    }
  }
  return faults;
}

function nodeFaults(node: AnyStateNode, { machine, signals }: DurableParts): string[] {
  const where = `state '${node.id}'`;
  const { actors, delays } = machine.implementations;
  const transitions = [...node.transitions.values()].flat().concat(node.always ?? []);
  return [
    ...node.invoke.flatMap(
      ({
        id,
        src,
        systemId,
      }: {
        readonly id: string;
        readonly src: unknown;
        readonly systemId: string | undefined;
      }) => {
        if (typeof src !== 'string' || src.startsWith('xstate.invoke.'))
          return [`${where} invokes an inline actor; give it a name in setup({ actors })`];
        return [
          ...(/^\d+\./.test(id) ? [`${where} invokes '${src}' without an explicit id; add id: '…' to the invoke`] : []),
          ...(systemId === undefined
            ? []
            : [`${where} invokes '${src}' with a systemId, which nothing could look up; leave it out`]),
          ...(src in actors ? [] : [`${where} invokes '${src}', which setup({ actors }) does not declare`]),
        ];
      },
    ),
    ...node.after.flatMap(({ delay }) => delayFaults(where, delay, delays)),
    ...[
      ...node.entry,
      ...node.exit,
      ...(node.initial?.actions ?? []),
      ...transitions.flatMap((each) => each.actions),
    ].flatMap((action) => actionFaults(where, action, machine)),
    ...transitions.flatMap(({ guard }) => guardFaults(where, guard, machine)),
    ...gateFaults(where, node.meta, signals),
  ];
}

function delayFaults(where: string, delay: unknown, delays: Readonly<Record<string, unknown>>): string[] {
  if (typeof delay === 'function') return [];
  const isNamed = typeof delay === 'string' && Object.hasOwn(delays, delay);
  const ms = isNamed ? delays[delay] : delay;
  if (typeof ms === 'function' || (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0)) return [];
  return [
    isNamed
      ? `delay '${delay}' is ${String(ms)}; give milliseconds or a function`
      : `${where} waits for '${String(delay)}', which is no number of milliseconds and no delay of setup({ delays })`,
  ];
}

/** What XState's own actions have of themselves; its types do not say. */
interface BuiltIn {
  readonly type: string;
  readonly id?: unknown;
  readonly src?: unknown;
  readonly delay?: unknown;
}

function actionFaults(where: string, action: unknown, machine: AnyStateMachine): string[] {
  if (typeof action === 'function') return functionFaults(where, `${where} has an inline action`, action, machine);
  const name = typeof action === 'string' ? action : String((action as { readonly type?: unknown } | null)?.type);
  const implementation: unknown = machine.implementations.actions[name];
  if (implementation === undefined)
    return [`${where} names the action '${name}', which setup({ actions }) does not define`];
  return functionFaults(`action '${name}'`, `action '${name}'`, implementation, machine);
}

function functionFaults(where: string, subject: string, action: unknown, machine: AnyStateMachine): string[] {
  const { type, id, src, delay } = action as Partial<BuiltIn>;
  if (type === undefined)
    return [`${subject} is a function that acts by itself; make it an activity, or use assign, emit or enqueueActions`];
  if (!DURABLE_ACTIONS.has(type))
    return [
      `${subject} is ${type.replace('xstate.', '')}, which leaves nothing to store; make it an activity or emit a fact`,
    ];
  if (type === 'xstate.spawnChild') {
    if (typeof src !== 'string') return [`${where} spawns an inline actor; give it a name in setup({ actors })`];
    return [
      ...(id === undefined ? [`${where} spawns '${src}' without an explicit id; add { id: '…' }`] : []),
      ...(src in machine.implementations.actors
        ? []
        : [`${where} spawns '${src}', which setup({ actors }) does not declare`]),
    ];
  }
  if (type === 'xstate.raise' && delay !== undefined) {
    return [
      ...(id === undefined ? [`${where} raises a delayed event without an explicit id; add { id: '…' }`] : []),
      ...delayFaults(where, delay, machine.implementations.delays),
    ];
  }
  return [];
}

function guardFaults(where: string, guard: unknown, machine: AnyStateMachine): string[] {
  if (guard === undefined || guard === null) return [];
  if (typeof guard === 'function') {
    const { guards = [] } = guard as { readonly guards?: readonly unknown[] };
    return guards.flatMap((inner) => guardFaults(where, inner, machine));
  }
  const name = typeof guard === 'string' ? guard : String((guard as { readonly type?: unknown }).type);
  return name in machine.implementations.guards
    ? []
    : [`${where} names the guard '${name}', which setup({ guards }) does not define`];
}

/** A decision that no signal brings to the machine would be offered and never taken. */
function gateFaults(where: string, meta: unknown, signals: DurableParts['signals']): string[] {
  const decisions = (meta as { readonly gate?: { readonly decisions?: unknown } } | undefined)?.gate?.decisions;
  if (!Array.isArray(decisions)) return [];
  return (decisions as readonly Decision[]).flatMap((decision) => {
    const types = DECISION_SIGNALS[decision] as readonly string[] | undefined;
    if (types === undefined)
      return [`${where} offers the decision '${decision}'; there are ${Object.keys(DECISION_SIGNALS).join(', ')}`];
    if (types.some((type) => type in signals)) return [];
    return [`${where} offers '${decision}', which comes as ${types.join(' or ')}; declare that signal`];
  });
}

/** Enough of a start for a machine that takes no input of its own. */
const SAMPLE_START: JsonObject = {
  projectId: '',
  userId: 'someone',
  workflow: { name: '', version: 1, fingerprint: '' },
  request: '',
  config: BUILT_IN_RUN_CONFIG,
  requestedConfig: {},
  branch: '',
  input: {},
  runId: 'run',
  startedAt: '2000-01-01T00:00:00.000Z',
};

/** Takes the first step where that needs nothing that only a real run has. */
function firstStepFaults({ machine, input }: DurableParts): string[] {
  const { context } = machine.config as { readonly context?: unknown };
  if (typeof context === 'function' && input !== undefined) return [];
  // Any machine's context is `any` to XState; here it is looked at as what it may be.
  let step: readonly [{ readonly context: unknown }, readonly { readonly type: string }[]];
  try {
    step = initialTransition(machine, SAMPLE_START as never);
  } catch (error) {
    if (typeof context === 'function') return [];
    return [`its first step fails: ${error instanceof Error ? error.message : String(error)}`];
  }
  const [snapshot, actions] = step;
  const unfit = findNonJson(snapshot.context);
  if (unfit) return [`context${unfit.path} ${unfit.what}`];
  const unstorable = findNonJson(machine.getPersistedSnapshot(snapshot as never));
  if (unstorable) return [`its first state cannot be stored: ${unstorable.path.slice(1)} ${unstorable.what}`];
  return actions.flatMap(({ type }) =>
    DURABLE_ACTIONS.has(type) ? [] : [`its first step gives the action '${type}', which cannot be made durable`],
  );
}
