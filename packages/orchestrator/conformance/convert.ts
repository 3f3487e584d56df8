/**
 * Converts a machine of XState's tests mechanically into one that the engine accepts: a function action becomes an emitted
 * event, an actor becomes an activity, and activities, delayed events and final states get the id or status that they lack.
 */
import {
  type AnyActorLogic,
  type AnyStateMachine,
  createMachine,
  emit,
  enqueueActions,
  raise,
  spawnChild,
} from 'xstate';

/** Configuration of a machine whose shape is known only when it is read. */
type Config = Readonly<Record<string, unknown>>;

/** Name of the only activity. */
export const ACTIVITY = 'work';

/** Transitions within one step after which a plain actor and a run both fail. */
const MAX_ITERATIONS = 300;

/** Builds the converted machine, with a logic for its activity. */
export type Build = (logic: AnyActorLogic) => AnyStateMachine;

/** Fields of XState's own actions, which its types hide. */
interface BuiltIn {
  readonly type: string;
  readonly id?: unknown;
  readonly to?: unknown;
  readonly event?: unknown;
  readonly delay?: unknown;
  readonly input?: unknown;
  readonly collect?: (given: { readonly enqueue: Enqueue }) => void;
}
type Enqueue = ((action: unknown) => void) & Readonly<Record<string, (...given: readonly unknown[]) => void>>;

/** @param isScxml true for machines from XState's conversion of SCXML, in which an event descriptor also matches longer names */
export function converted(machine: AnyStateMachine, isScxml: boolean): Build {
  const converter = new Converter(machine);
  const config = converter.config();
  const { guards, delays } = machine.implementations;
  const actions = converter.namedActions();
  return (logic) => {
    const built = createMachine(config as never, { actions, guards, delays, actors: { [ACTIVITY]: logic } } as never);
    if (isScxml) appendWildcards(built.root);
    return built;
  };
}

class Converter {
  readonly #machine: AnyStateMachine;
  readonly #named = new Set<string>();
  #ids = 0;

  constructor(machine: AnyStateMachine) {
    this.#machine = machine;
  }

  config(): Config {
    const config = this.#state(this.#machine.config, 0);
    const { context } = config;
    const options = { ...(config['options'] as object | undefined), maxIterations: MAX_ITERATIONS };
    if (typeof context !== 'function') return { ...config, options };
    // The context function of a run gets the payload of RUN_STARTED, which holds the run's input.
    type Given = { readonly input?: { readonly input?: { readonly given?: unknown } } };
    const given = (args: Given): unknown =>
      (context as (args: object) => unknown)({ ...args, input: args.input?.input?.given });
    return { ...config, context: given, options };
  }

  /** Implementations of all named actions. Complete only after {@link config}. */
  namedActions(): Readonly<Record<string, unknown>> {
    const own: Readonly<Record<string, unknown>> = this.#machine.implementations.actions;
    const names = new Set([...Object.keys(own), ...this.#named]);
    return Object.fromEntries(
      [...names].map((name) => [name, isBuiltIn(own[name]) ? this.#action(own[name]) : emit({ type: `act.${name}` })]),
    );
  }

  #state(given: Config, depth: number): Config {
    const state: Record<string, unknown> = { ...given };
    for (const key of ['types', 'schemas', 'version']) delete state[key];
    for (const key of ['entry', 'exit']) if (given[key] !== undefined) state[key] = this.#actions(given[key]);
    for (const key of ['on', 'after'])
      if (isRecord(given[key]))
        state[key] = Object.fromEntries(Object.entries(given[key]).map(([name, to]) => [name, this.#transition(to)]));
    for (const key of ['always', 'onDone']) if (given[key] !== undefined) state[key] = this.#transition(given[key]);
    if (isRecord(given['initial'])) state['initial'] = this.#transition(given['initial']);
    if (given['invoke'] !== undefined) state['invoke'] = listOf(given['invoke']).map((each) => this.#invoke(each));
    if (depth === 1 && given['type'] === 'final')
      state['meta'] = { ...(given['meta'] as object | undefined), status: 'completed' };
    else if (isRecord(given['meta'])) delete state['meta'];
    if (isRecord(given['states']))
      state['states'] = Object.fromEntries(
        Object.entries(given['states']).map(([key, each]) => [key, this.#state(each as Config, depth + 1)]),
      );
    return state;
  }

  #transition(given: unknown): unknown {
    if (Array.isArray(given)) return given.map((each) => this.#transition(each));
    if (!isRecord(given) || given['actions'] === undefined) return given;
    return { ...given, actions: this.#actions(given['actions']) };
  }

  #invoke(given: unknown): Config {
    const { id, input, onDone, onError } = isRecord(given) ? given : {};
    return {
      id: typeof id === 'string' ? id : this.#id('invoked'),
      src: ACTIVITY,
      ...(input === undefined ? {} : { input }),
      ...(onDone === undefined ? {} : { onDone: this.#transition(onDone) }),
      ...(onError === undefined ? {} : { onError: this.#transition(onError) }),
    };
  }

  #actions(given: unknown): readonly unknown[] {
    return listOf(given).map((action) => {
      const name = typeof action === 'string' ? action : isRecord(action) ? action['type'] : undefined;
      if (typeof name !== 'string') return this.#action(action);
      this.#named.add(name);
      return action;
    });
  }

  #action(action: unknown): unknown {
    if (!isBuiltIn(action)) return emit({ type: this.#id('act') });
    switch (action.type) {
      case 'xstate.raise':
        return action.delay === undefined || action.id !== undefined ? action : this.#delayed(action);
      case 'xstate.sendTo':
        // The conversion of SCXML sends to the machine itself by a function.
        return typeof action.to === 'function' && action.to.length === 1 && String(action.to).includes('self')
          ? this.#delayed({ ...action, event: action.event, delay: action.delay ?? 0 })
          : emit({ type: this.#id('act.sendTo') });
      case 'xstate.spawnChild':
        return spawnChild(ACTIVITY, {
          id: typeof action.id === 'string' ? action.id : this.#id('spawned'),
          ...(action.input === undefined ? {} : { input: action.input }),
        });
      case 'xstate.log':
      case 'xstate.forwardTo':
      case 'xstate.sendParent':
        return emit({ type: this.#id('act') });
      case 'xstate.enqueueActions':
        return this.#enqueuing(action);
      default:
        return action;
    }
  }

  #delayed({ event, delay, id }: Pick<BuiltIn, 'event' | 'delay' | 'id'>): unknown {
    return raise(event as never, { delay, id: id ?? this.#id('raised') } as never);
  }

  /** Converts enqueued actions while they are enqueued; the same action gets the same id at each call. */
  #enqueuing({ collect }: BuiltIn): unknown {
    const known = new Map<string, unknown>();
    const convert = (action: unknown): unknown => {
      if (typeof action === 'string' || (!isBuiltIn(action) && isRecord(action))) return action;
      const key = isBuiltIn(action) ? keyOf(action) : String(action);
      if (!known.has(key)) known.set(key, this.#action(action));
      return known.get(key);
    };
    return enqueueActions((given) => {
      const { enqueue } = given as unknown as { readonly enqueue: Enqueue };
      const sendTo = (): void => enqueue(convert(() => 'sendTo'));
      const own = {
        sendTo,
        sendParent: sendTo,
        raise: (event: unknown, options: object = {}) => enqueue(convert(raise(event as never, options as never))),
        spawnChild: (_src: unknown, { id = 'enqueued', input }: { id?: string; input?: unknown } = {}) =>
          enqueue(spawnChild(ACTIVITY, { id, ...(input === undefined ? {} : { input }) })),
      };
      const converting = Object.assign((action: unknown) => enqueue(convert(action)), enqueue, own);
      collect?.({ ...given, enqueue: converting });
    });
  }

  #id(prefix: string): string {
    this.#ids += 1;
    return `${prefix}${this.#ids}`;
  }
}

function isBuiltIn(action: unknown): action is BuiltIn {
  const { type } = (typeof action === 'function' ? action : {}) as Partial<BuiltIn>;
  return typeof type === 'string' && type.startsWith('xstate.');
}

/** Key of an action: equal for the actions that one place in the source creates at each call. */
function keyOf({ type, id, event, delay }: BuiltIn): string {
  return [type, id, delay, event].map((each) => (isRecord(each) ? JSON.stringify(each) : String(each))).join(' ');
}

function isRecord(value: unknown): value is Config {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Repeats the last step of XState's conversion of SCXML, which changes the finished machine. */
function appendWildcards(state: AnyStateMachine['root']): void {
  state.transitions = new Map(
    [...state.transitions].map(([descriptor, transitions]) => [
      descriptor === '*' || descriptor.endsWith('.*') ? descriptor : `${descriptor}.*`,
      transitions,
    ]),
  );
  for (const child of Object.values(state.states)) appendWildcards(child);
}
