/**
 * Finds the parts of a machine that cannot be made durable, as far as they are visible before it runs. Each fault names
 * the part, its place and the way out. Side effects inside `assign`, guards and input functions are not visible here.
 * They are repeated at every replay, so there must be none.
 */
import { type Decision, FINAL_STATUSES, type JsonObject, RUN_STATUSES, type RunStatus } from '@autonomous/shared';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import type { z } from 'zod';
import { actionsOf, type BuiltInAction, nodesOf, RESERVED_NAME, transitionsOf } from './machine-nodes.ts';
import { describeError } from './persisted-state.ts';
import { findNonJson } from './plain-json.ts';
import { initialStep, type PureStep, implicitlySpawnedChildren } from './pure-transition.ts';
import { BUILT_IN_RUN_CONFIG } from '../run-config/run-config.ts';
import { DECISION_SIGNALS, emissionFault, signalFault } from './vocabulary.ts';

export interface DurableParts {
  readonly name: string;
  readonly version: number;
  readonly machine: AnyStateMachine;
  readonly signals: Readonly<Record<string, z.ZodType<object>>>;
  readonly input?: z.ZodType<object>;
  readonly maxConcurrency?: number;
  readonly migrations?: Readonly<Record<number, unknown>>;
}

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
    ...reservedNameFaults(definition.machine),
    ...delayFunctionFaults(definition.machine),
    ...endFaults(definition),
  ];
  // A machine with such faults need not get through its first step.
  return [...new Set(faults.length > 0 ? faults : firstStepFaults(definition))];
}

function nameFaults({ name, version, maxConcurrency = 1, migrations = {} }: DurableParts): string[] {
  const unknown = Object.keys(migrations).filter((from) => !/^[1-9]\d*$/.test(from) || Number(from) >= version);
  return [
    ...unknown.map(
      (from) => `it migrates from version ${from}, and its own is ${version}; name an older version in 'migrations'`,
    ),
    ...(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)
      ? []
      : [
          `its name is invalid: use at most 100 letters, digits, dots, dashes and underscores, beginning with a letter or digit`,
        ]),
    ...(Number.isInteger(version) && version > 0
      ? []
      : [`its version is ${version}; versions are whole numbers from 1`]),
    ...(Number.isSafeInteger(maxConcurrency) && maxConcurrency > 0
      ? []
      : [`its maxConcurrency is ${maxConcurrency}; give a whole number from 1`]),
  ];
}

function signalFaults({ signals }: DurableParts): string[] {
  return Object.keys(signals).flatMap((type) => {
    const fault = signalFault(type);
    return fault === null ? [] : [`signal '${type}' ${fault}`];
  });
}

function actorFaults(machine: AnyStateMachine, isActivity: (logic: unknown) => boolean): string[] {
  return Object.entries(machine.implementations.actors).flatMap(([src, logic]) =>
    isActivity(logic)
      ? []
      : [
          `actor '${src}' ${kindOf(logic)}; declare it with activity<Input, Output>(), or childRun(…) for a run of another workflow`,
        ],
  );
}

function kindOf(logic: unknown): string {
  if (typeof logic !== 'object' || logic === null) return 'is not an activity';
  if ('root' in logic)
    return 'is a nested machine, which would run by itself (make it a workflow of its own and declare it with childRun)';
  return 'start' in logic
    ? 'is a promise, callback or observable actor, which would run outside the engine and be lost with the process'
    : 'is a transition actor, whose state would not be stored';
}

/** Every id is used by one state only, so that an outcome belongs to one activity and a timer to one clock. */
function idFaults(machine: AnyStateMachine): string[] {
  const owners = new Map<string, string>();
  const states = new Set<string>();
  const faults: string[] = [];
  for (const node of nodesOf(machine.root)) {
    if (states.has(node.id)) faults.push(`two states have the id '${node.id}'; give one of them another`);
    states.add(node.id);
    for (const { id } of node.invoke) {
      const other = owners.get(id);
      if (other !== undefined) faults.push(`activity id '${id}' is used by both '${other}' and '${node.id}'`);
      owners.set(id, node.id);
    }
  }
  return faults;
}

function reservedNameFaults(machine: AnyStateMachine): string[] {
  const { actors, actions, guards, delays } = machine.implementations;
  const nodes = [...nodesOf(machine.root)];
  const idsOf = (type: string) =>
    [...nodes.flatMap(actionsOf), ...Object.values(actions)].flatMap((action) => {
      // Only actions of XState's own have these fields.
      const { type: of, id } = (action ?? {}) as Partial<BuiltInAction>;
      return of === type ? [id] : [];
    });
  const named: readonly (readonly [what: string, names: readonly unknown[]])[] = [
    // XState itself makes no state of such a key.
    ['a state', nodes.flatMap(({ id, config }) => [id, ...Object.keys(config.states ?? {})])],
    ['an activity', [...nodes.flatMap(({ invoke }) => invoke.map(({ id }) => id)), ...idsOf('xstate.spawnChild')]],
    ['a delayed event', idsOf('xstate.raise')],
    ['an actor', Object.keys(actors)],
    ['an action', Object.keys(actions)],
    ['a guard', Object.keys(guards)],
    ['a delay', Object.keys(delays)],
  ];
  return named.flatMap(([what, names]) =>
    names.includes(RESERVED_NAME) ? [`${what} is named '${RESERVED_NAME}', which no object can hold; rename it`] : [],
  );
}

/** People see how a run ended by what the machine's own final states say, and by nothing else. */
function endFaults({ machine, signals }: DurableParts): string[] {
  const { root } = machine;
  const faults = [...nodesOf(root)].flatMap((node) => statusFaults(node));
  if (root.type === 'final')
    faults.push(`state '${root.id}' is the whole machine and final, so that it ends at once; give it states`);
  if (root.type === 'parallel' && isCompletable(root))
    faults.push(
      `state '${root.id}' is parallel and ends when its regions end, without a final state that gives the status; put its regions into a state whose onDone leads to a final state`,
    );
  if (Object.hasOwn(signals, 'RUN_CANCELLED') && !isCancellable(root)) {
    const place = [...nodesOf(root)].find((node) => node.type === 'atomic' && !isCancelledFrom(node));
    faults.push(
      `state '${(place ?? root).id}' does not take RUN_CANCELLED, or only under a guard; handle it at the top of the machine, so that people can end a run from everywhere`,
    );
  }
  return faults;
}

function statusFaults(node: AnyStateNode): string[] {
  const isEnd = node.type === 'final' && node.parent === node.machine.root;
  const meta = node.meta as { readonly status?: unknown; readonly gate?: unknown } | undefined;
  const where = `state '${node.id}'`;
  if (isEnd && meta?.gate !== undefined)
    return [`${where} is final and has a gate, which could never be decided; remove the gate`];
  if (meta === undefined || !Object.hasOwn(meta, 'status')) {
    return isEnd
      ? [`${where} is final and does not state how the run ended; give it meta: { status: 'completed' }`]
      : [];
  }
  const { status } = meta;
  const known = RUN_STATUSES.filter((each) => each !== 'queued' && FINAL_STATUSES.has(each) === isEnd).join(', ');
  if (status === 'queued' || !RUN_STATUSES.includes(status as RunStatus))
    return [`${where} has the status '${String(status)}'; use one of ${known}`];
  if (FINAL_STATUSES.has(status as RunStatus) === isEnd) return [];
  return isEnd
    ? [`${where} is final and has the status '${String(status)}'; use one of ${known}`]
    : [
        `${where} has the status '${String(status)}' and is not a final state at the top of the machine; use one of ${known}`,
      ];
}

/** Can all of it come to final states? */
function isCompletable(node: AnyStateNode): boolean {
  const children = Object.values(node.states).filter(({ type }) => type !== 'history');
  if (node.type === 'parallel') return children.length > 0 && children.every(isCompletable);
  return node.type === 'final' || (node.type === 'compound' && children.some(({ type }) => type === 'final'));
}

/** Is the run cancelled wherever the machine is within this state? */
function isCancellable(node: AnyStateNode): boolean {
  if (node.type === 'final' || handlesCancellation(node)) return true;
  const children = Object.values(node.states).filter(({ type }) => type !== 'history');
  if (node.type === 'parallel') return children.some(isCancellable);
  return node.type === 'compound' && children.every(isCancellable);
}

function isCancelledFrom(node: AnyStateNode | undefined): boolean {
  return node !== undefined && (handlesCancellation(node) || isCancelledFrom(node.parent));
}

function handlesCancellation(node: AnyStateNode): boolean {
  const transitions = transitionsOf(node).filter(({ eventType }) => eventType === 'RUN_CANCELLED');
  return transitions.some(({ guard, target }) => guard === undefined && target !== undefined && target.length > 0);
}

function nodeFaults(node: AnyStateNode, { machine, signals }: DurableParts): string[] {
  const where = `state '${node.id}'`;
  const { actors, delays } = machine.implementations;
  const transitions = transitionsOf(node);
  return [
    ...node.invoke.flatMap(
      ({
        id,
        src,
        systemId,
        onSnapshot,
      }: {
        readonly id: string;
        readonly src: unknown;
        readonly systemId: string | undefined;
        readonly onSnapshot?: unknown;
      }) => {
        if (typeof src !== 'string' || src.startsWith('xstate.invoke.'))
          return [`${where} invokes an inline actor; give it a name in setup({ actors })`];
        return [
          ...(/^\d+\./.test(id) ? [`${where} invokes '${src}' without an explicit id; add id: '…' to the invoke`] : []),
          ...(systemId === undefined
            ? []
            : [`${where} invokes '${src}' with a systemId, which has no use here; leave it out`]),
          ...(onSnapshot === undefined
            ? []
            : [`${where} invokes '${src}' with onSnapshot, which never comes: activities report by progress`]),
          ...(Object.hasOwn(actors, src)
            ? []
            : [`${where} invokes '${src}', which setup({ actors }) does not declare`]),
        ];
      },
    ),
    ...node.after.flatMap(({ delay }) => delayFaults(where, delay, delays)),
    ...actionsOf(node).flatMap((action) => actionFaults(where, action, machine)),
    ...transitions.flatMap(({ guard }) => guardFaults(where, guard, machine)),
    ...gateFaults(where, node.meta, signals),
    ...((node.config as { readonly route?: unknown }).route === undefined
      ? []
      : [`${where} has a route, which only the event 'xstate.route' takes; use a transition on a signal`]),
  ];
}

function delayFunctionFaults(machine: AnyStateMachine): string[] {
  return Object.entries(machine.implementations.delays).flatMap(([name, delay]) =>
    asyncFaults(`delay '${name}'`, delay),
  );
}

/** A promise is neither a value nor an answer: it would be taken for one at once. */
function asyncFaults(what: string, given: unknown): string[] {
  if (typeof given === 'object' && given !== null)
    return Object.values(given).some(isAsync) ? [`${what} ${ASYNC}`] : [];
  return isAsync(given) ? [`${what} ${ASYNC}`] : [];
}

const ASYNC = 'is asynchronous, and machines wait for nothing; do asynchronous work in an activity';

function isAsync(given: unknown): boolean {
  return typeof given === 'function' && Object.prototype.toString.call(given) === '[object AsyncFunction]';
}

function delayFaults(where: string, delay: unknown, delays: Readonly<Record<string, unknown>>): string[] {
  if (typeof delay === 'function') return asyncFaults(`the delay in ${where}`, delay);
  const isNamed = typeof delay === 'string' && Object.hasOwn(delays, delay);
  const ms = isNamed ? delays[delay] : delay;
  if (typeof ms === 'function' || (typeof ms === 'number' && Number.isFinite(ms) && ms >= 0)) return [];
  return [
    isNamed
      ? `delay '${delay}' is ${String(ms)}; give milliseconds or a function`
      : `${where} waits for '${String(delay)}', which is neither a number of milliseconds nor a delay of setup({ delays })`,
  ];
}

function actionFaults(where: string, action: unknown, machine: AnyStateMachine): string[] {
  if (typeof action === 'function') return functionFaults(where, `${where} has an inline action`, action, machine);
  const name = typeof action === 'string' ? action : String((action as { readonly type?: unknown } | null)?.type);
  const { actions } = machine.implementations;
  const implementation: unknown = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (implementation === undefined)
    return [`${where} names the action '${name}', which setup({ actions }) does not define`];
  return functionFaults(`action '${name}'`, `action '${name}'`, implementation, machine);
}

function functionFaults(where: string, subject: string, action: unknown, machine: AnyStateMachine): string[] {
  const { type, id, src, delay, systemId, syncSnapshot, event, assignment, collect } = action as Partial<BuiltInAction>;
  if (type === undefined)
    return [`${subject} is a function with side effects; make it an activity, or use assign, emit or enqueueActions`];
  if (!DURABLE_ACTIONS.has(type))
    return [
      `${subject} is ${type.replace('xstate.', '')}, whose effect cannot be stored; make it an activity or emit a fact`,
    ];
  const asynchronous = [assignment, collect, event].flatMap((given) => asyncFaults(subject, given));
  if (asynchronous.length > 0) return asynchronous;
  if (type === 'xstate.emit' && typeof event === 'object' && event !== null) {
    const { type: fact, ...payload } = event as JsonObject;
    const fault = typeof fact === 'string' ? emissionFault(fact, payload) : 'was emitted without a type';
    return fault === null ? [] : [`${where}: ${String(fact)} ${fault}`];
  }
  if (type === 'xstate.spawnChild') {
    if (typeof src !== 'string') return [`${where} spawns an inline actor; give it a name in setup({ actors })`];
    return [
      ...(id === undefined ? [`${where} spawns '${src}' without an explicit id; add { id: '…' }`] : []),
      ...(systemId === undefined
        ? []
        : [`${where} spawns '${src}' with a systemId, which has no use here; leave it out`]),
      ...(syncSnapshot === true
        ? [`${where} spawns '${src}' with syncSnapshot, which has no effect here; leave it out`]
        : []),
      ...(Object.hasOwn(machine.implementations.actors, src)
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
    if (isAsync(guard)) return [`a guard of ${where} ${ASYNC}`];
    return guards.flatMap((inner) => guardFaults(where, inner, machine));
  }
  const name = typeof guard === 'string' ? guard : String((guard as { readonly type?: unknown }).type);
  return Object.hasOwn(machine.implementations.guards, name)
    ? asyncFaults(`guard '${name}'`, machine.implementations.guards[name])
    : [`${where} names the guard '${name}', which setup({ guards }) does not define`];
}

function gateFaults(where: string, meta: unknown, signals: DurableParts['signals']): string[] {
  const { gate } = (meta ?? {}) as { readonly gate?: unknown };
  if (gate === undefined) return [];
  const { kind, decisions, summary, facts } = (gate ?? {}) as Readonly<Record<string, unknown>>;
  const isWhole =
    typeof kind === 'string' &&
    (Array.isArray(decisions) || typeof decisions === 'function') &&
    typeof summary === 'function' &&
    (facts === undefined || typeof facts === 'function');
  return [
    ...(isWhole
      ? []
      : [`${where} has an invalid gate; give it { kind: '…', decisions: […], summary: (context) => '…' }`]),
    ...[summary, facts, decisions].flatMap((given) => asyncFaults(`the gate of ${where}`, given)),
    ...(Array.isArray(decisions) ? decisionFaults(where, decisions, signals) : []),
  ];
}

/** A decision that no signal brings to the machine would be offered and never taken. */
function decisionFaults(where: string, decisions: readonly unknown[], signals: DurableParts['signals']): string[] {
  return decisions.flatMap((decision) => {
    if (typeof decision !== 'string' || !Object.hasOwn(DECISION_SIGNALS, decision))
      return [
        `${where} offers the decision '${String(decision)}'; there are ${Object.keys(DECISION_SIGNALS).join(', ')}`,
      ];
    const types = DECISION_SIGNALS[decision as Decision];
    if (types.some((type) => Object.hasOwn(signals, type))) return [];
    return [`${where} offers '${decision}', which comes as ${types.join(' or ')}; declare that signal`];
  });
}

/** XState's types of it have a real actor where only a stand-in is given here. */
type ContextFunction = (given: { readonly input: JsonObject; readonly spawn: (src: unknown) => unknown }) => unknown;

/** Calls the context function with a sample of an input. @returns the first actor that it spawns; `null` for none seen */
function spawnedByContext(context: ContextFunction): string | null {
  let spawned: string | null = null;
  const spawn = (src: unknown): unknown => {
    spawned ??= typeof src === 'string' ? src : 'an inline actor';
    return {};
  };
  try {
    context({ input: SAMPLE_START, spawn });
  } catch {
    // It needs what only a real run has.
  }
  return spawned;
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
  if (typeof context === 'function') {
    const spawned = spawnedByContext(context as ContextFunction);
    if (spawned !== null)
      return [`the context function spawns '${spawned}', where nothing performs it; use spawnChild on entry`];
    if (input !== undefined) return [];
  }
  if (typeof context === 'object') {
    // Every run begins with it: what changed it in place would change it for all of them. Looking at it freezes it.
    const unfit = findNonJson(context);
    if (unfit) return [`context${unfit.path} ${unfit.what}`];
  }
  let step: PureStep;
  try {
    step = initialStep(machine, SAMPLE_START);
  } catch (error) {
    return typeof context === 'function' ? [] : [`its first step fails: ${describeError(error)}`];
  }
  const [snapshot, actions] = step;
  if (snapshot.status === 'error') {
    const message = describeError(snapshot.error);
    // Whatever the real input is, what goes round for ever does so with any.
    const isCertain = typeof context !== 'function' || message.startsWith('Infinite loop');
    return isCertain ? [`its first step fails: ${message}`] : [];
  }
  const unfit = findNonJson(snapshot.context);
  if (unfit) return [`context${unfit.path} ${unfit.what}`];
  const [unasked] = implicitlySpawnedChildren(null, step);
  if (unasked !== undefined)
    return [`activity '${unasked}' is spawned within assign, where the engine does not perform it; use spawnChild`];
  const unstorable = findNonJson(machine.getPersistedSnapshot(snapshot));
  if (unstorable) return [`its first state cannot be stored: ${unstorable.path.slice(1)} ${unstorable.what}`];
  return actions.flatMap(({ type }) =>
    DURABLE_ACTIONS.has(type) ? [] : [`its first step gives the action '${type}', which cannot be made durable`],
  );
}
