/**
 * A machine as a Mermaid state diagram, with where a run is in it and how it came there. Everything that a machine may be
 * called is escaped, and the diagram stays within what Mermaid takes: what is too large is drawn with fewer levels.
 */
import type { JsonValue, PossibleEvents, RunView, StatechartStep, WorkflowEvent } from '@autonomous/shared';
import { DECISIONS } from '@autonomous/shared';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import type { RunState } from './run-state.ts';
import type { WorkflowDefinition } from './definition.ts';
import { nodesOf } from './machine-nodes.ts';
import { DECISION_SIGNALS } from './vocabulary.ts';

/** A run's way through the machine. */
export interface RunPath {
  /** The newest changes of state, oldest first. */
  readonly path: readonly StatechartStep[];
  /** How many there were in all. */
  readonly changes: number;
  /** How often each kind of change happened, by event and states. */
  readonly counts: readonly Change[];
}

interface Change {
  readonly eventType: string;
  readonly from: JsonValue;
  readonly to: JsonValue;
  readonly times: number;
}

/** Longer paths are cut at their beginning. */
const MAX_PATH = 500;
/** Mermaid takes 50,000 characters, and seconds over hundreds of lines. */
const MAX_CHARACTERS = 45_000;
const MAX_LINES = 300;
const MAX_LABEL = 80;

/** The machine's states and the transitions between them. Regions of a parallel state are divided by `--`. */
export function diagramOf({ machine }: Pick<WorkflowDefinition, 'machine'>): string {
  return drawWithin(machine, { current: new Set(), visited: new Set(), taken: new Map() });
}

/**
 * The diagram of a run: states of class `current` and `visited`, and transitions with how often they were taken.
 * @param state the run's state value; `null` before it has one
 */
export function diagramOfRun({ machine }: Pick<WorkflowDefinition, 'machine'>, state: JsonValue, way: RunPath): string {
  const current = leavesOf(machine.root, state);
  const visited = new Set(
    way.counts.flatMap(({ from, to }) => [...leavesOf(machine.root, from), ...leavesOf(machine.root, to)]),
  );
  return drawWithin(machine, { current, visited, taken: takenEdges(machine, way.counts) });
}

/** How a run came where it is. @param events the run's events in order, from the first */
export function pathOf({ machine }: Pick<WorkflowDefinition, 'machine'>, events: Iterable<WorkflowEvent>): RunPath {
  const labels = labelsOf(machine);
  const path: StatechartStep[] = [];
  const counts = new Map<string, { eventType: string; from: JsonValue; to: JsonValue; times: number }>();
  let changes = 0;
  let eventType = '';
  let from: JsonValue = null;
  for (const event of events) {
    if (event.origin === 'input') eventType = eventTypeOf(event);
    else if (event.type === 'STATE_CHANGED') {
      const to = event.payload['state'] ?? null;
      path.push({ sequence: event.sequence, at: event.timestamp, event: labelOf(eventType, labels), from, to });
      if (path.length > 2 * MAX_PATH) path.splice(0, path.length - MAX_PATH);
      changes += 1;
      const name = JSON.stringify([eventType, from, to]);
      const count = counts.get(name);
      if (count) count.times += 1;
      else counts.set(name, { eventType, from, to, times: 1 });
      from = to;
    }
  }
  return { path: path.slice(-MAX_PATH), changes, counts: [...counts.values()] };
}

/** Returns the events that can happen next in a run. @param state `null` when it cannot be read: no events */
export function possibleEvents(definition: WorkflowDefinition, state: RunState | null, view: RunView): PossibleEvents {
  if (state === null) return { signals: [], timers: [], activities: [] };
  const labels = labelsOf(definition.machine);
  const sources = new Map(activitiesOf(definition).map(({ id, source }) => [id, source]));
  const offered = view.gate?.decisions ?? [];
  return {
    signals: possibleSignals(definition, state).map((type) => ({
      type,
      decisions: DECISIONS.filter((each) => offered.includes(each) && DECISION_SIGNALS[each].includes(type)),
    })),
    timers: Object.values(state.timers)
      .map(({ event, dueAt }) => ({ event: labelOf(event, labels), dueAt }))
      .sort((a, b) => (a.dueAt < b.dueAt ? -1 : 1)),
    activities: Object.entries(state.activities).map(([id, key]) => ({ id, source: sources.get(id) ?? null, key })),
  };
}

/** Types of declared signals that some active state handles; a guard may still refuse one. */
function possibleSignals(definition: WorkflowDefinition, state: RunState): readonly string[] {
  const declared = Object.keys(definition.signals);
  if (state.parked !== null) return declared.filter((type) => type === 'RETRY_REQUESTED' || type === 'RUN_CANCELLED');
  if (state.snapshot === null || state.snapshot.status !== 'active') return [];
  // The active nodes are XState's own bookkeeping; nothing public lists what they handle.
  const nodes = (state.snapshot as unknown as { readonly _nodes: readonly AnyStateNode[] })._nodes;
  const handled = nodes.flatMap((node): readonly string[] => node.ownEvents as string[]);
  return declared.filter((type) => handled.some((descriptor) => takes(descriptor, type)));
}

/** Does an event descriptor, such as `*` or `mouse.*`, mean this type? */
function takes(descriptor: string, type: string): boolean {
  if (descriptor === type || descriptor === '*') return true;
  return descriptor.endsWith('.*') && `${type}.`.startsWith(descriptor.slice(0, -1));
}

/** Returns the activities that a machine's states start, each once. Activities that an action spawns are not included. */
export function activitiesOf({
  machine,
}: Pick<WorkflowDefinition, 'machine'>): readonly { readonly id: string; readonly source: string }[] {
  return [...nodesOf(machine.root)].flatMap((node) =>
    node.invoke.map(({ id, src }: { readonly id: string; readonly src: unknown }) => ({ id, source: String(src) })),
  );
}

// ---- events and their labels

/** The event that an input becomes in the machine. */
function eventTypeOf({ type, payload }: WorkflowEvent): string {
  if (type === 'ACTIVITY_COMPLETED') return `xstate.done.actor.${String(payload['activity'])}`;
  if (type === 'ACTIVITY_FAILED') return `xstate.error.actor.${String(payload['activity'])}`;
  return type === 'TIMER_FIRED' ? String(payload['event']) : type;
}

/** XState's own event types in words. */
function labelsOf(machine: AnyStateMachine): ReadonlyMap<string, string> {
  const labels = new Map([['', 'always']]);
  for (const node of nodesOf(machine.root)) {
    labels.set(`xstate.done.state.${node.id}`, `done ${node.key}`);
    for (const { id } of node.invoke) {
      labels.set(`xstate.done.actor.${id}`, `done ${id}`);
      labels.set(`xstate.error.actor.${id}`, `error ${id}`);
    }
    for (const { eventType, delay } of node.after) {
      labels.set(String(eventType), typeof delay === 'number' ? `after ${delay} ms` : `after ${delayName(delay)}`);
    }
  }
  return labels;
}

function delayName(delay: unknown): string {
  return typeof delay === 'string' ? delay : 'a time';
}

function labelOf(eventType: string, labels: ReadonlyMap<string, string>): string {
  return labels.get(eventType) ?? eventType.replace(/^xstate\.(done|error)\.actor\./, '$1 ');
}

// ---- transitions and where a run was

interface Edge {
  readonly source: AnyStateNode;
  readonly target: AnyStateNode;
  readonly eventType: string;
}

const knownEdges = new WeakMap<AnyStateMachine, readonly Edge[]>();

/** Every transition of a machine, as the same object at each call. */
function edgesOf(machine: AnyStateMachine): readonly Edge[] {
  const known = knownEdges.get(machine);
  if (known) return known;
  const edges = [...nodesOf(machine.root)].flatMap((source) =>
    [...source.transitions.values(), source.always ?? []]
      .flat()
      .flatMap(({ target, eventType }) =>
        (target ?? []).map((each: AnyStateNode): Edge => ({ source, target: each, eventType: String(eventType) })),
      ),
  );
  knownEdges.set(machine, edges);
  return edges;
}

/** The active states of a state value, parents included; none that the machine does not have. */
function activeOf(root: AnyStateNode, value: JsonValue): Set<AnyStateNode> {
  const active = new Set<AnyStateNode>();
  const visit = (node: AnyStateNode, inner: JsonValue | undefined): void => {
    active.add(node);
    const children = typeof inner === 'string' ? { [inner]: undefined } : inner;
    if (typeof children !== 'object' || children === null || Array.isArray(children)) return;
    for (const [key, deeper] of Object.entries(children)) {
      const child = Object.hasOwn(node.states, key) ? node.states[key] : undefined;
      if (child) visit(child, deeper);
    }
  };
  if (value !== null) visit(root, value);
  return active;
}

function leavesOf(root: AnyStateNode, value: JsonValue): Set<AnyStateNode> {
  const active = activeOf(root, value);
  const parents = new Set([root, ...[...active].map((node) => node.parent)]);
  return new Set([...active].filter((node) => !parents.has(node)));
}

/** Counts the transitions that a run took: by its events, and through transient states. */
function takenEdges(machine: AnyStateMachine, changes: readonly Change[]): ReadonlyMap<Edge, number> {
  const edges = edgesOf(machine);
  const taken = new Map<Edge, number>();
  const always = edges.filter((edge) => edge.eventType === '');
  for (const { eventType, from, to, times } of changes) {
    const before = activeOf(machine.root, from);
    const after = activeOf(machine.root, to);
    const entered = (node: AnyStateNode): boolean => after.has(node) || node.type === 'history';
    const first = edges.filter((edge) => before.has(edge.source) && takes(edge.eventType, eventType));
    const way = shortestWay(first, always, entered);
    for (const edge of way) taken.set(edge, (taken.get(edge) ?? 0) + times);
  }
  return taken;
}

function shortestWay(
  first: readonly Edge[],
  always: readonly Edge[],
  arrives: (node: AnyStateNode) => boolean,
): readonly Edge[] {
  let ways: (readonly Edge[])[] = first.map((edge) => [edge]);
  const seen = new Set<AnyStateNode>();
  while (ways.length > 0) {
    const arrived = ways.find((way) => arrives(way.at(-1)?.target as AnyStateNode));
    if (arrived) return arrived;
    ways = ways.flatMap((way) => {
      const at = way.at(-1)?.target;
      if (at === undefined || seen.has(at)) return [];
      seen.add(at);
      return always.filter(({ source }) => source === at || isWithin(source, at)).map((edge) => [...way, edge]);
    });
  }
  return [];
}

/** Is `node` somewhere below `ancestor`? */
function isWithin(node: AnyStateNode, ancestor: AnyStateNode): boolean {
  for (let at = node.parent; at !== undefined; at = at.parent) if (at === ancestor) return true;
  return false;
}

// ---- drawing

interface Marks {
  readonly current: ReadonlySet<AnyStateNode>;
  readonly visited: ReadonlySet<AnyStateNode>;
  readonly taken: ReadonlyMap<Edge, number>;
}

/** With fewer and fewer levels until it fits; at last not everything is drawn, and the diagram says so. */
function drawWithin(machine: AnyStateMachine, marks: Marks): string {
  const deepest = Math.max(...[...nodesOf(machine.root)].map((node) => node.path.length));
  for (let levels = deepest; levels > 0; levels -= 1) {
    const drawn = new Drawing(machine, marks, levels).lines();
    if (fits(drawn)) return drawn.join('\n');
  }
  const states = Object.keys(machine.root.states).length;
  const drawn = new Drawing(machine, marks, 1).lines();
  const kept = drawn.slice(0, MAX_LINES);
  while (!fits(kept)) kept.pop();
  return [...kept, `  %% cut here: the machine has ${states} states at its top, and not all of it is drawn`].join('\n');
}

function fits(lines: readonly string[]): boolean {
  return lines.length <= MAX_LINES && lines.reduce((sum, line) => sum + line.length + 1, 0) <= MAX_CHARACTERS;
}

class Drawing {
  readonly #machine: AnyStateMachine;
  readonly #marks: Marks;
  readonly #levels: number;
  readonly #ids = new Map<AnyStateNode, string>();
  /** Transitions by the state in whose block they stand. */
  readonly #inside = new Map<AnyStateNode, string[]>();
  /** States with transitions of their own into themselves, which a node `any state` inside them stands for. */
  readonly #withAny = new Set<AnyStateNode>();

  constructor(machine: AnyStateMachine, marks: Marks, levels: number) {
    this.#machine = machine;
    this.#marks = marks;
    this.#levels = levels;
    const used = new Set<string>();
    for (const node of nodesOf(machine.root)) {
      const plainId = `s_${node.id.replaceAll(/[^A-Za-z0-9_]+/g, '_')}`.slice(0, 60);
      let id = plainId;
      for (let count = 2; used.has(id); count += 1) id = `${plainId}_${count}`;
      used.add(id);
      this.#ids.set(node, id);
    }
    this.#placeTransitions();
  }

  lines(): string[] {
    const { root } = this.#machine;
    const current = this.#idsOf(this.#marks.current);
    const visited = this.#idsOf(this.#marks.visited).filter((id) => !current.includes(id));
    return [
      'stateDiagram-v2',
      ...(current.length > 0 ? ['  classDef current fill:#ffe08a,stroke:#b26a00,stroke-width:3px,color:#000'] : []),
      ...(visited.length > 0 ? ['  classDef visited fill:#e3f1e6,stroke:#3c7d4f,color:#000'] : []),
      ...this.#block(root, '  '),
      ...(current.length > 0 ? [`  class ${current.join(',')} current`] : []),
      ...(visited.length > 0 ? [`  class ${visited.join(',')} visited`] : []),
    ];
  }

  #block(node: AnyStateNode, indent: string): string[] {
    const children = Object.values(node.states);
    const first = this.#initialChild(node);
    const lines: string[] = first ? [`${indent}[*] --> ${this.#id(first)}`] : [];
    for (const [index, child] of children.entries()) {
      if (index > 0 && node.type === 'parallel') lines.push(`${indent}--`);
      lines.push(...this.#state(child, indent));
    }
    if (this.#withAny.has(node)) {
      if (node.type === 'parallel') lines.push(`${indent}--`);
      lines.push(`${indent}state "any state" as ${this.#anyOf(node)}`);
    }
    // Twice the same line says nothing more, such as two guards that lead to the same place.
    for (const line of new Set(this.#inside.get(node))) lines.push(`${indent}${line}`);
    return lines;
  }

  #state(node: AnyStateNode, indent: string): string[] {
    const title = `${indent}state "${escape(titleOf(node))}" as ${this.#id(node)}`;
    const end = node.type === 'final' ? [`${indent}${this.#id(node)} --> [*]`] : [];
    if (!this.#isOpen(node)) return [title, ...end];
    return [`${title} {`, ...this.#block(node, `${indent}  `), `${indent}}`];
  }

  /**
   * Transitions between neighbours stand in the block of both, all others outside of every block: Mermaid takes a state for
   * a part of the block in which it is last named. None joins a state with one that it contains, which Mermaid cannot draw.
   */
  #placeTransitions(): void {
    const { root } = this.#machine;
    const labels = labelsOf(this.#machine);
    const places = new Map<AnyStateNode, Map<string, number>>();
    for (const edge of edgesOf(this.#machine)) {
      const source = this.#shown(edge.source);
      const target = this.#shown(edge.target);
      // Transitions within a state that is drawn closed are left out.
      if (source === target && source !== edge.source) continue;
      const isInto = source === target ? this.#isOpen(source) || source === root : isWithin(target, source);
      if (isInto) this.#withAny.add(source);
      const from = isInto ? this.#anyOf(source) : this.#id(source);
      const goal = this.#entrance(target, source);
      const to = this.#id(goal);
      const container = isInto ? source : source.parent;
      const place =
        container !== undefined && goal.parent === container && container.type !== 'parallel' ? container : root;
      const line = `${from} --> ${to} : ${escape(labelOf(edge.eventType, labels))}`;
      const lines = places.get(place) ?? new Map<string, number>();
      lines.set(line, (lines.get(line) ?? 0) + (this.#marks.taken.get(edge) ?? 0));
      places.set(place, lines);
    }
    for (const [place, lines] of places) {
      this.#inside.set(
        place,
        [...lines].map(([line, times]) => (times > 0 ? `${line} ×${times}` : line)),
      );
    }
  }

  /** Where a transition into a state that contains its source really goes: the state that is entered first. */
  #entrance(target: AnyStateNode, source: AnyStateNode): AnyStateNode {
    let at = target;
    while (this.#isOpen(at) && (at === source || isWithin(source, at))) {
      const children = Object.values(at.states);
      const next =
        this.#initialChild(at) ?? children.find((child) => child !== source && !isWithin(source, child)) ?? children[0];
      if (next === undefined) break;
      at = next;
    }
    return at;
  }

  /** The direct child in which a compound state begins. */
  #initialChild(node: AnyStateNode): AnyStateNode | undefined {
    if (node.type !== 'compound') return undefined;
    const target = node.initial.target?.[0] as AnyStateNode | undefined;
    return Object.values(node.states).find(
      (child) => child === target || (target !== undefined && isWithin(target, child)),
    );
  }

  /** The state itself, or the one in which it disappears where not all levels are drawn. */
  #shown(node: AnyStateNode): AnyStateNode {
    let at = node;
    while (at.path.length > this.#levels && at.parent) at = at.parent;
    return at;
  }

  #isOpen(node: AnyStateNode): boolean {
    return Object.keys(node.states).length > 0 && node.path.length < this.#levels;
  }

  #idsOf(nodes: Iterable<AnyStateNode>): string[] {
    return [...new Set([...nodes].map((node) => this.#id(this.#shown(node))))].sort();
  }

  #id(node: AnyStateNode): string {
    return this.#ids.get(node) ?? '';
  }

  #anyOf(node: AnyStateNode): string {
    return `any_${this.#id(node)}`;
  }
}

function titleOf(node: AnyStateNode): string {
  if (node.type !== 'history') return node.key;
  return `${node.key} (${node.history === 'deep' ? 'H*' : 'H'})`;
}

/** Text as Mermaid reads it back: everything that might mean something to it as a character code, cut to one short line. */
function escape(text: string): string {
  const characters = Array.from(text.replaceAll(/\s+/g, ' ').trim());
  const cut = characters.length > MAX_LABEL ? [...characters.slice(0, MAX_LABEL - 1), '…'] : characters;
  const escaped = cut.map((character) =>
    /[\p{L}\p{N} _.,()*…-]/u.test(character) ? character : `#${character.codePointAt(0) ?? 63};`,
  );
  return escaped.join('') || '#8203;';
}
