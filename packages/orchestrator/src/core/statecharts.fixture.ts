/** Random statecharts of what workflows may use, as plain descriptions that shrink, and the workflows made from them. */
import fc from 'fast-check';
import {
  type AnyStateMachine,
  assign,
  cancel,
  emit,
  enqueueActions,
  raise,
  setup,
  spawnChild,
  stateIn,
  stopChild,
} from 'xstate';
import { z } from 'zod';
import { activity, defineWorkflow, type WorkflowDefinition } from './definition.ts';

/** Next action of a person or the outside; `pick` chooses among the open ones. */
export interface Move {
  readonly kind: 'signal' | 'outcome' | 'timer';
  readonly pick: number;
}

export interface Statechart {
  readonly root: ChartState;
}

interface ChartState {
  readonly kind: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly children: readonly ChartState[];
  readonly isDeep: boolean;
  readonly entry: readonly ChartAction[];
  readonly exit: readonly ChartAction[];
  readonly on: readonly (readonly [event: number, ChartTransition])[];
  readonly always: ChartTransition | null;
  readonly after: ChartTransition | null;
  readonly invoke: ChartTransition | null;
}

interface ChartTransition {
  readonly target: number | null;
  readonly isReentered: boolean;
  readonly guard: number;
  readonly actions: readonly ChartAction[];
}

type ChartAction = (typeof ACTIONS)[number];

export const SIGNALS = ['A', 'B', 'C'] as const;
const ACTIONS = [
  'count',
  'choose',
  'empty',
  'negate',
  'forget',
  'share',
  'tell',
  'raise',
  'later',
  'cancel',
  'spawn',
  'stop',
  'enqueue',
] as const;
const LONGEST = 30;

export const moves: fc.Arbitrary<readonly Move[]> = fc.array(
  fc.record({ kind: fc.constantFrom('signal', 'signal', 'outcome', 'timer'), pick: fc.nat(7) }) as fc.Arbitrary<Move>,
  { minLength: 1, maxLength: 12 },
);

export const statecharts: fc.Arbitrary<Statechart> = (() => {
  const actions = fc.array(fc.constantFrom(...ACTIONS), { maxLength: 3 });
  const transition = fc.record({
    target: fc.option(fc.nat(30), { freq: 5 }),
    isReentered: fc.boolean(),
    guard: fc.nat(7),
    actions,
  });
  const rarely = fc.option(transition, { freq: 1 });
  const own = {
    isDeep: fc.boolean(),
    entry: actions,
    exit: actions,
    on: fc.array(fc.tuple(fc.nat(2), transition), { maxLength: 3 }),
    always: rarely,
    after: rarely,
    invoke: rarely,
  };
  const leaf = (kind: 'atomic' | 'final' | 'history') =>
    fc.record({ kind: fc.constant(kind), children: fc.constant([] as readonly ChartState[]), ...own });
  const { state } = fc.letrec<{ state: ChartState }>((tie) => ({
    state: fc.oneof(
      { maxDepth: 3, depthSize: 'medium' },
      { weight: 3, arbitrary: leaf('atomic') },
      { weight: 1, arbitrary: leaf('final') },
      { weight: 2, arbitrary: leaf('history') },
      { weight: 3, arbitrary: inner('compound', tie('state')) },
      { weight: 3, arbitrary: inner('parallel', tie('state')) },
    ),
  }));
  function inner(kind: 'compound' | 'parallel', child: fc.Arbitrary<ChartState>): fc.Arbitrary<ChartState> {
    return fc.record({ kind: fc.constant(kind), children: fc.array(child, { minLength: 1, maxLength: 3 }), ...own });
  }
  return fc.record({ root: inner('compound', state) });
})();

/** Argument of functions of the machine. Its types come from the configuration, which is only generated here. */
interface Given {
  readonly context: Context;
}

interface Context {
  readonly n: number;
  readonly items: readonly { readonly id: number }[];
  readonly chosen: unknown;
  readonly maybe?: number | undefined;
}

/** @throws {InvalidRequest} when it cannot be made durable, as where its first step does not end */
export function workflowOf({ root }: Statechart): WorkflowDefinition {
  const states: { readonly id: string; readonly state: ChartState }[] = [];
  const collect = (state: ChartState): void => {
    states.push({ id: `s${states.length}`, state });
    state.children.forEach(collect);
  };
  collect(root);
  const idOf = (state: ChartState): string => states.find((each) => each.state === state)?.id ?? '';
  const targets = [...states.slice(1).map(({ id }) => id), 'end'];
  let sites = 0;

  const configOf = (state: ChartState): Record<string, unknown> => {
    const id = idOf(state);
    if (state.kind === 'history') return { id, type: 'history', history: state.isDeep ? 'deep' : 'shallow' };
    const entry = state.entry.map(actionOf);
    if (state.kind === 'final') return { id, type: 'final', entry };
    const on: Record<string, unknown[]> = {};
    for (const [event, transition] of state.on) (on[SIGNALS[event] ?? 'A'] ??= []).push(transitionOf(transition));
    // One that counts comes to its end.
    const { always, after, invoke } = state;
    const counted = always && {
      ...transitionOf({ ...always, actions: [...always.actions, 'count'] }),
      guard: fewTimes,
    };
    return {
      id,
      entry,
      exit: state.exit.map(actionOf),
      on,
      ...(counted ? { always: counted } : {}),
      ...(after ? { after: { [1_000 * (1 + states.findIndex((each) => each.id === id))]: transitionOf(after) } } : {}),
      ...(invoke ? { invoke: { id: `work-${id}`, src: 'work', onDone: transitionOf(invoke) } } : {}),
      ...childrenOf(state),
    };
  };

  const childrenOf = ({ kind, children }: ChartState): Record<string, unknown> => {
    if (kind === 'atomic') return {};
    const first = children.find((child) => child.kind !== 'history');
    const filler = first === undefined ? { rest: {} } : {};
    const inner = { ...Object.fromEntries(children.map((child) => [idOf(child), configOf(child)])), ...filler };
    if (kind === 'parallel') return { type: 'parallel', states: inner };
    return { initial: first === undefined ? 'rest' : idOf(first), states: inner };
  };

  const transitionOf = ({ target, isReentered, guard, actions }: ChartTransition) => ({
    actions: actions.map(actionOf),
    ...(target === null ? {} : { target: `#${targets[target % targets.length]}`, reenter: isReentered }),
    ...guardOf(guard),
  });

  const fewTimes = ({ context }: Given): boolean => context.n < LONGEST;

  const guardOf = (guard: number): Record<string, unknown> => {
    const asked = states[guard % states.length];
    const guards = [
      ({ context }: Given) => context.items.indexOf(context.chosen as never) >= 0,
      ({ context }: Given) => 'maybe' in context,
      ({ context }: Given) => Object.is(context.maybe, -0),
      asked === undefined || asked.state.kind === 'history' ? fewTimes : stateIn(`#${asked.id}`),
    ];
    return guard < guards.length ? { guard: guards[guard] } : {};
  };

  const actionOf = (action: ChartAction): unknown => {
    const id = `${action}-${(sites += 1) % 3}`;
    switch (action) {
      case 'count':
        return assign({ n: ({ context }: Given) => context.n + 1 });
      case 'choose':
        return assign({ chosen: ({ context }: Given) => context.items[context.n % context.items.length] });
      case 'empty':
        return assign({ maybe: undefined });
      case 'negate':
        return assign({ maybe: -0 });
      case 'forget':
        return assign({ chosen: null });
      case 'share':
        return assign({
          items: ({ context }: Given) => [...context.items.slice(-3), ...context.items.slice(0, 1), { id: context.n }],
        });
      case 'tell':
        return emit(({ context }: Given) => ({ type: 'TOLD', n: context.n, has: 'maybe' in context }));
      case 'raise':
        return enqueueActions(({ context, enqueue }) => {
          const { n } = context as unknown as Context;
          enqueue.assign({ n: n + 1 });
          if (n < LONGEST) enqueue.raise({ type: 'C' });
        });
      case 'later':
        return raise({ type: 'B' }, { id: `later-${sites % 3}`, delay: 500 });
      case 'cancel':
        return cancel(`later-${sites % 3}`);
      case 'spawn':
        return spawnChild('work', { id: `child-${sites % 3}`, input: ({ context }: Given) => ({ n: context.n }) });
      case 'stop':
        return stopChild(`child-${sites % 3}`);
      case 'enqueue':
        return enqueueActions(({ context, enqueue }) => {
          const { items, chosen } = context as unknown as Context;
          if (items.includes(chosen as never)) enqueue.emit({ type: id });
        });
      default:
        return action satisfies never;
    }
  };

  const config = configOf(root);
  const machine = setup({
    types: { context: {} as Context },
    actors: { work: activity<unknown, unknown>() },
  }).createMachine({
    ...config,
    context: { n: 0, items: [{ id: 1 }, { id: 2 }], chosen: null },
    states: { ...(config['states'] as object), end: { id: 'end', type: 'final', meta: { status: 'completed' } } },
  } as never) as unknown as AnyStateMachine;
  const signals = Object.fromEntries(SIGNALS.map((type) => [type, z.looseObject({})]));
  return defineWorkflow({ name: 'chart', version: 1, description: 'A random statechart', machine, signals });
}
