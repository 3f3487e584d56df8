/** Dependencies between the items of a roadmap: those that are not there, circles, and the number of items that wait for each. Pure. */
import { z } from 'zod';
import {
  MAX_DEPENDENCIES,
  MAX_ITEMS,
  MAX_ROADMAP_CHARACTERS,
  readRoadmap,
  type RoadmapFault,
  type RoadmapItem,
} from './roadmap-file.ts';

/** Characters of a dependency that is not there, as it is shown. */
const LONGEST_VALUE = 100;

interface LinkedItem {
  readonly id: string;
  readonly dependencies?: readonly string[] | undefined;
}

type Items = readonly LinkedItem[];

/** A dependency that the roadmap does not have. */
export interface UnknownDependency {
  readonly item: string;
  readonly dependency: string;
}

/** All faults of a roadmap: those that keep it from being read, and those of the dependencies of the items that can be read. */
export function roadmapFaults(text: string): readonly RoadmapFault[] {
  const read = readRoadmap(text);
  return read.ok ? dependencyFaults(read.roadmap.items) : [...read.faults, ...dependencyFaults(readableItems(text))];
}

const rowsSchema = z.object({ items: z.array(z.unknown()).max(MAX_ITEMS) });
const linkedItemSchema = z.object({
  id: z.string(),
  dependencies: z.array(z.string()).max(MAX_DEPENDENCIES).catch([]),
});

/** Items with an id, whatever else is wrong with them. */
function readableItems(text: string): Items {
  if (text.length > MAX_ROADMAP_CHARACTERS) return [];
  try {
    const rows = rowsSchema.safeParse(JSON.parse(text.replace(/^\ufeff/, ''))).data?.items ?? [];
    return rows.flatMap((row) => linkedItemSchema.safeParse(row).data ?? []);
  } catch {
    // It is not JSON, which is a fault already.
    return [];
  }
}

/** Faults of the dependencies of a roadmap: on items that are not there, and in circles. By the ids of the items. */
export function dependencyFaults(items: Items): readonly RoadmapFault[] {
  return [...unknownDependencies(items).map(unknownFault), ...circlesOf(items).map(circleFault)];
}

/** Ascending by the ids of items, then of dependencies; each once. */
export function unknownDependencies(items: Items): readonly UnknownDependency[] {
  const known = new Set(items.map(({ id }) => id));
  return byId(items).flatMap((item) =>
    dependenciesOf(item)
      .filter((dependency) => !known.has(dependency))
      .toSorted()
      .map((dependency) => ({ item: item.id, dependency })),
  );
}

/**
 * Circles of dependencies, as ids in order: each depends on the next, and the last on the first, which is the lowest id. Every item that
 * depends on itself is in at least one of them. The same circles come of any order of the items.
 */
export function circlesOf(items: Items): readonly (readonly string[])[] {
  const graph = graphOf(byId(items), (item) => dependenciesOf(item).toSorted());
  const covered = new Set<number>();
  const circles: string[][] = [];
  for (const start of inCircles(graph)) {
    if (covered.has(start)) continue;
    const circle = shortestCircle(start, graph);
    for (const index of circle) covered.add(index);
    if (circle.length > 0) circles.push(fromLowest(circle).map((index) => graph.ids[index] ?? ''));
  }
  return circles.toSorted((one, other) => compareText(one.join(' '), other.join(' ')));
}

/** For each item that is not completed, how many others that are not completed wait for it, directly or by way of each other. */
export function waitingCounts(items: readonly RoadmapItem[]): ReadonlyMap<string, number> {
  const open = items.filter(({ status }) => status !== 'completed');
  const dependents = new Map<string, string[]>(open.map(({ id }) => [id, []]));
  for (const item of open) for (const id of dependenciesOf(item)) dependents.get(id)?.push(item.id);
  const graph = graphOf(open, ({ id }) => dependents.get(id) ?? []);
  const seenFrom = new Int32Array(open.length).fill(-1);
  return new Map(open.map(({ id }, index) => [id, reachedFrom(index, graph, seenFrom)]));
}

/** Dependencies of an item, each once. */
export function dependenciesOf({ dependencies = [] }: LinkedItem): readonly string[] {
  return [...new Set(dependencies)];
}

/** Compares by code units: the same on every machine. */
export function compareText(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function byId(items: Items): Items {
  return items.toSorted((a, b) => compareText(a.id, b.id));
}

/** Items by their place in the list: a roadmap within its limits has 100,000 edges, each of which is passed once for every item. */
interface Graph {
  readonly ids: readonly string[];
  /** Places that an item leads to, by its place. */
  readonly edges: readonly Int32Array[];
}

function graphOf<Item extends LinkedItem>(items: readonly Item[], leadsTo: (item: Item) => readonly string[]): Graph {
  const places = new Map(items.map(({ id }, place) => [id, place]));
  const edges = items.map((item) => Int32Array.from(leadsTo(item).flatMap((id) => places.get(id) ?? [])));
  return { ids: items.map(({ id }) => id), edges };
}

/**
 * Number of places that are reached by at least one step, without the start. Plain loops over numbers: for the largest roadmap they
 * take a tenth of a second, and others take more than one.
 * @param seenFrom by place: the last start from which it was reached
 */
function reachedFrom(start: number, { edges }: Graph, seenFrom: Int32Array): number {
  const reached = new Int32Array(edges.length);
  let count = 1;
  reached[0] = start;
  seenFrom[start] = start;
  for (let at = 0; at < count && count < edges.length; at++) {
    const nexts = edges[reached[at] as number] as Int32Array; // both are places of the list
    for (let index = 0; index < nexts.length; index++) {
      const next = nexts[index] as number; // within the loop's bounds
      if (seenFrom[next] === start) continue;
      seenFrom[next] = start;
      reached[count++] = next;
    }
  }
  return count - 1;
}

/** Places that may be in a circle: those that are left when items without open dependencies are taken out again and again. */
function inCircles({ edges }: Graph): readonly number[] {
  const left = new Set(edges.keys());
  for (let isFree = true; isFree;) {
    const free = [...left].filter((place) => !edges[place]?.some((next) => left.has(next)));
    for (const place of free) left.delete(place);
    isFree = free.length > 0;
  }
  return [...left];
}

/** A shortest circle through an item; empty: there is none. */
function shortestCircle(start: number, { edges }: Graph): readonly number[] {
  const cameFrom = new Int32Array(edges.length).fill(-1);
  const reached = [start];
  for (const place of reached) {
    for (const next of edges[place] ?? []) {
      if (next === start) return wayTo(place, start, cameFrom);
      if (cameFrom[next] !== -1) continue;
      cameFrom[next] = place;
      reached.push(next);
    }
  }
  return [];
}

function wayTo(end: number, start: number, cameFrom: Int32Array): readonly number[] {
  const way = [end];
  for (let at = end; at !== start;) way.push((at = cameFrom[at] ?? start));
  return way.toReversed();
}

/** From the lowest id on; places are in the order of the ids. */
function fromLowest(circle: readonly number[]): readonly number[] {
  const at = circle.indexOf(Math.min(...circle));
  return [...circle.slice(at), ...circle.slice(0, at)];
}

function unknownFault({ item, dependency }: UnknownDependency): RoadmapFault {
  const value = JSON.stringify(dependency.slice(0, LONGEST_VALUE));
  const message = `Field 'dependencies' of item '${item}' has ${value}, which is not in the roadmap. Allowed: ids of its items.`;
  return { item, field: 'dependencies', value, message };
}

function circleFault(circle: readonly string[]): RoadmapFault {
  const [first = ''] = circle;
  const way = circleText(circle);
  const message = `Field 'dependencies' of item '${first}' leads back to it: ${way}. Allowed: dependencies without a circle; take one of these out.`;
  return { item: first, field: 'dependencies', value: way, message };
}

/** Ids of a circle that a text names, at most. */
const MOST_NAMED = 10;

/** `a → b → a`; of a long circle the beginning: each of its items has this text in its reason. */
export function circleText(circle: readonly string[]): string {
  const beyond = circle.length - MOST_NAMED;
  const more = beyond > 0 ? [`… (${beyond} more)`] : [];
  return [...circle.slice(0, MOST_NAMED), ...more, circle[0] ?? ''].join(' → ');
}
