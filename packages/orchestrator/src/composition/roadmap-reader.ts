/** Reads a project's roadmap for the server: its items, the choice of the next one, or its faults with their lines. Pure; in the worker. */
import type { RoadmapBoardItem, RoadmapContent, RoadmapFileFault } from '@autonomous/shared';
import { findNodeAtLocation, getNodeValue, type Node, parseTree } from 'jsonc-parser';
import { inWorker } from '../foreign-text/in-worker.ts';
import type { ItemAtWork, RoadmapReader } from '../server/roadmap-boards.ts';
import { chooseNextItem } from '../workflows/roadmap-item/next-item.ts';
import {
  MAX_ROADMAP_CHARACTERS,
  readRoadmap,
  ROADMAP_PATH,
  shownValue,
  type RoadmapFault,
  type RoadmapItem,
} from '../workflows/roadmap-item/roadmap-file.ts';

/** Faults that are shown. */
const MOST_FAULTS = 50;
/** Characters of a description that are shown. */
const LONGEST_DESCRIPTION = 600;

export const roadmapReader: RoadmapReader = {
  path: ROADMAP_PATH,
  workflow: 'roadmap-item',
  read: inWorker(import.meta.url, 'The roadmap', { contentOf }).contentOf,
};

/** @param atWork items that live runs work on */
export function contentOf(text: string, atWork: readonly ItemAtWork[]): RoadmapContent {
  const read = readRoadmap(text);
  if (!read.ok) return { kind: 'faulty', faults: placed(read.faults, text), total: read.faults.length };
  const works = new Map(atWork.map((each) => [each.item, each]));
  const items = read.roadmap.items.map((item) => itemAtWork(item, works.get(item.id)));
  const startable = startableIds(items);
  return {
    kind: 'items',
    items: items.map((item) => boardItem(item, startable.has(item.id))),
    choice: chooseNextItem(items),
  };
}

/** An item with a live run is in progress, also before the run has written that. What the run's own branch says of it counts. */
function itemAtWork(item: RoadmapItem, work: ItemAtWork | undefined): RoadmapItem {
  if (work === undefined) return item;
  const written = (work.roadmap === null ? null : itemIn(work.roadmap, item.id)) ?? item;
  const status = written.status === 'completed' ? 'completed' : 'in-progress';
  const { workflowState } = written;
  return { ...item, status, ...(workflowState === undefined ? {} : { workflowState }) };
}

function itemIn(text: string, id: string): RoadmapItem | null {
  const read = readRoadmap(text);
  return (read.ok ? read.roadmap.items.find((item) => item.id === id) : undefined) ?? null;
}

/** Items under way, and those that can be started when a person names them. */
function startableIds(items: readonly RoadmapItem[]): ReadonlySet<string> {
  // Naming a wont-have only lifts the bar of its MoSCoW priority. So all of them are named at once.
  const named = items.map((item) => (item.moscow === 'wont-have' ? { ...item, moscow: 'could-have' as const } : item));
  const { eligible, inProgress } = chooseNextItem(named);
  return new Set([...eligible, ...inProgress].map(({ id }) => id));
}

function boardItem(item: RoadmapItem, canStart: boolean): RoadmapBoardItem {
  const { id, title, type, moscow, timeHorizon, health, status, dependencies = [], workflowState } = item;
  const description = descriptionOf(item);
  return {
    id,
    title,
    ...(description === null ? {} : { description }),
    type,
    moscow,
    timeHorizon,
    health,
    status,
    dependencies: [...new Set(dependencies)],
    ...(workflowState === undefined ? {} : { workflowState: knownState(workflowState) }),
    canStart,
  };
}

/** The schema does not know the field. Roadmaps have it all the same. */
function descriptionOf(item: RoadmapItem): string | null {
  const { description } = item;
  if (typeof description !== 'string') return null;
  const text = description.trim();
  if (text === '') return null;
  if (text.length <= LONGEST_DESCRIPTION) return text;
  // No half of a character is left at the end.
  const beginning = text.slice(0, LONGEST_DESCRIPTION - 1).replace(/[\uD800-\uDBFF]$/, '');
  return `${beginning.trimEnd()}…`;
}

/** Without fields of a person's own. */
function knownState(state: NonNullable<RoadmapItem['workflowState']>): RoadmapBoardItem['workflowState'] {
  const { phase, specSlug, tasksTotal, tasksCompleted, lastSession, attempts, blockers, metrics } = state;
  const { costUsd, inputTokens, outputTokens } = metrics ?? {};
  return {
    phase,
    specSlug,
    tasksTotal,
    tasksCompleted,
    lastSession,
    attempts,
    blockers,
    ...(metrics === undefined ? {} : { metrics: { costUsd, inputTokens, outputTokens } }),
  };
}

// ---- lines of faults

function placed(faults: readonly RoadmapFault[], text: string): readonly RoadmapFileFault[] {
  const shown = faults.slice(0, MOST_FAULTS);
  // A fault of the whole file may be that it is too deep or too long to be parsed.
  const isParsed = text.length <= MAX_ROADMAP_CHARACTERS && shown.some(({ item, field }) => (item ?? field) !== null);
  // Offsets of the tree count from behind a byte order mark.
  const plain = text.replace(/^\uFEFF/, '');
  const root = isParsed ? parseTree(plain) : undefined;
  return shown.map((fault) => ({ line: lineOf(root, fault, plain), message: fault.message }));
}

/** Line of the field, else of the item that lacks it. `null` where neither is in the file. */
function lineOf(root: Node | undefined, fault: RoadmapFault, text: string): number | null {
  if (root === undefined) return null;
  const { item, field } = fault;
  const within = item === null ? root : itemNode(root, item, fault);
  if (within === undefined) return null;
  const found = (field === null ? undefined : findNodeAtLocation(within, stepsOf(field))) ?? within;
  // A field begins with its name.
  const start = found.parent?.type === 'property' ? found.parent.offset : found.offset;
  return text.slice(0, start).split('\n').length;
}

/**
 * The item of a fault. Where several have its id, it is the one whose field has the fault's value.
 * @param item an id, its beginning where it is long, or `items[3]`, as faults name it
 */
function itemNode(root: Node, item: string, { field, value }: RoadmapFault): Node | undefined {
  const items = findNodeAtLocation(root, ['items'])?.children ?? [];
  const index = /^items\[(\d{1,9})\]$/.exec(item)?.[1];
  if (index !== undefined) return items[Number(index)];
  const idOf = (node: Node): unknown => findNodeAtLocation(node, ['id'])?.value;
  const same = items.filter((node) => idOf(node) === item);
  const named = same.length > 0 ? same : items.filter((node) => String(idOf(node)).startsWith(item));
  const valueIn = (node: Node): string | null => {
    const found = field === null ? node : findNodeAtLocation(node, stepsOf(field));
    return found === undefined ? null : shownValue(getNodeValue(found));
  };
  return named.find((node) => valueIn(node) === value) ?? named[0];
}

/** `workflowState.blockers[2]` as steps of the tree. */
function stepsOf(field: string): (string | number)[] {
  return field.split('.').flatMap((part) => {
    const [name = '', ...indexes] = part.split('[');
    return [name, ...indexes.map((index) => Number.parseInt(index, 10))];
  });
}
