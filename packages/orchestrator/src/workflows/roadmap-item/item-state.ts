/** Reads and updates a roadmap item. Pure; activities call these functions in the worker. */
import { NeedsHuman, type OwnedFiles, showHidden } from '@autonomous/shared';
import type { OwnedUpdate } from '../../activities/git/commit-owned-files.ts';
import { besideOf } from '../../activities/git/ways-on.ts';
import { hashOf } from '../../documents/content-hash.ts';
import { parseFrontMatter } from '../../documents/front-matter.ts';
import { inWorker } from '../../foreign-text/in-worker.ts';
import { slugOf } from '../../documents/slug.ts';
import { mergeBlocker } from './awaiting-merge.ts';
import { documentPath, textIn } from './documents.ts';
import { chooseNextItem } from './next-item.ts';
import { readRoadmap, type Roadmap, type RoadmapItem, writeRoadmap } from './roadmap-file.ts';
import type {
  DocumentPhase,
  Finding,
  ItemDocument,
  ItemMetrics,
  ItemRead,
  KnownItem,
  ReadItemInput,
  SetStateInput,
  StateChange,
} from './types.ts';

/** Characters of the item's text that agents are given. */
const MAX_ITEM_TEXT = 20_000;
/** Faults that a message names. */
const MOST_FAULTS = 5;
/** Blockers that the roadmap keeps, and characters of each. */
const MOST_BLOCKERS = 10;
const LONGEST_BLOCKER = 500;

/** The functions on text of the project, as activities call them. */
export const readInWorker = inWorker(import.meta.url, 'The roadmap', { itemIn, withState });

const NOTHING_SPENT: ItemMetrics = { costUsd: 0, inputTokens: 0, outputTokens: 0 };

/** Files of the base that the run begins with. */
export interface BaseFiles {
  readonly commit: string;
  /** Text of the roadmap; `null`: there is no such file. */
  readonly roadmap: string | null;
  /** Paths below `specs/`. */
  readonly paths: readonly string[];
  /** Texts of documents that are there, by path. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Reads the item, and decides whether it can be worked on now. */
export function itemIn({ baseBranch, roadmap: path, item: id }: ReadItemInput, base: BaseFiles): ItemRead {
  if (base.roadmap === null)
    return {
      kind: 'faults',
      faults: [
        `${baseBranch} has no file '${path}' (a link to one does not count). Commit the roadmap and push it, or name another file.`,
      ],
    };
  const read = readRoadmap(base.roadmap);
  if (!read.ok) return { kind: 'faults', faults: read.faults.slice(0, MOST_FAULTS).map(({ message }) => message) };
  const { items } = read.roadmap;
  const item = items.find((each) => each.id === id);
  if (item === undefined) return { kind: 'ends', message: `Item not found: ${id}` };
  const { selected, inProgress, others } = chooseNextItem(items, id);
  if (selected?.id === id || inProgress.some((each) => each.id === id))
    return { kind: 'item', item: knownItem(item, items, base) };
  const why = others.find((each) => each.id === id)?.rationale ?? '';
  return { kind: 'ends', message: `Item '${item.title}' (${id}) cannot be started: ${why}` };
}

function knownItem(item: RoadmapItem, items: readonly RoadmapItem[], base: BaseFiles): KnownItem {
  const { workflowState, ...fields } = item;
  const { costUsd = 0, inputTokens = 0, outputTokens = 0 } = workflowState?.metrics ?? {};
  const slug = slugFor(item, items, base);
  const ideation = documentOf('ideating', slug, base);
  const specification = ideation === null ? null : documentOf('specifying', slug, base);
  return {
    id: item.id,
    title: titleOf(item),
    type: item.type,
    text: JSON.stringify(fields, null, 2).slice(0, MAX_ITEM_TEXT).toWellFormed(),
    slug,
    before: { costUsd, inputTokens, outputTokens },
    documents: {
      ...(ideation === null ? {} : { ideating: ideation }),
      ...(specification === null ? {} : { specifying: specification }),
    },
  };
}

/** On one line, for messages and commits: a title of several lines would write lines of its own there. */
function titleOf({ id, title }: RoadmapItem): string {
  return showHidden(title.replaceAll(/\s+/g, ' ').trim()) || id;
}

/** The folder of its documents: that which the roadmap names, else one that no other item has or will have. */
function slugFor(item: RoadmapItem, items: readonly RoadmapItem[], base: BaseFiles): string {
  const { id, title, workflowState } = item;
  const others = items.filter((each) => each !== item);
  const named = workflowState?.specSlug;
  if (named !== undefined && /^[a-z0-9][a-z0-9-]{0,79}$/.test(named) && !isOfAnother(named, id, others, base))
    return named;
  const slug = slugOf(title);
  const isTaken =
    base.paths.some((path) => path.startsWith(`specs/${slug}/`)) ||
    others.some((other) => other.workflowState?.specSlug === slug || slugOf(other.title) === slug);
  return isTaken ? `${slug}-${hashOf(id).slice(0, 8)}` : slug;
}

/** Does the roadmap or a document there say that the folder belongs to another item? */
function isOfAnother(slug: string, id: string, others: readonly RoadmapItem[], { texts }: BaseFiles): boolean {
  if (others.some(({ workflowState }) => workflowState?.specSlug === slug)) return true;
  const owners = (['ideating', 'specifying'] as const).map((phase) => ownerOf(texts.get(documentPath(slug, phase))));
  return owners.some((owner) => owner !== null && owner !== id);
}

/** Id of the item that a document is of; `null`: it does not say. */
function ownerOf(text: string | undefined): string | null {
  const parsed = text === undefined ? null : parseFrontMatter(text);
  const owner = parsed?.ok ? parsed.fields['item'] : undefined;
  return typeof owner === 'string' ? owner : null;
}

function documentOf(phase: DocumentPhase, slug: string, { commit, texts }: BaseFiles): ItemDocument | null {
  const path = documentPath(slug, phase);
  const text = texts.get(path);
  return text === undefined ? null : { path, artifactHash: hashOf(text), commit, text: textIn(text), scripted: false };
}

/** Facts that a new state is made of beside the change. */
export interface StateNow {
  /** Sums of this run and the runs below it. */
  readonly spent: ItemMetrics;
  /** ISO 8601. */
  readonly at: string;
  /** Earlier states of this run are on its branch. */
  readonly isOnBranch: boolean;
}

/** The change of the roadmap that a new state is. */
export function stateUpdate({ roadmap: path, item, branch, change }: SetStateInput, now: StateNow): OwnedUpdate {
  const { phase, blockers } = change;
  const blocked = blockers.length === 0 ? '' : ', blocked';
  return {
    message: `Roadmap: ${item} ${phase}${blocked}`,
    files: {
      [path]: (text, to) => readInWorker.withState(path, text, { ...now, item, branch, change, to }),
    },
  };
}

interface NewState extends StateNow {
  readonly item: string;
  /** The run's. */
  readonly branch: string;
  readonly change: StateChange;
  /** The branch that gets the state. */
  readonly to: OwnedFiles['to'];
}

export function withState(path: string, text: string | null, asked: NewState): string {
  const roadmap = readable(path, text);
  const { item: id, at } = asked;
  const item = roadmap.items.find((each) => each.id === id);
  if (item === undefined)
    throw new NeedsHuman(
      'merge_conflict',
      `${path} has no item ${id} any more: somebody has taken it out meanwhile. Put it back and push, then retry; or cancel the run.`,
    );
  // The run's branch has not seen what the base took before it refused a state, or it has the base's lines since a merge.
  const isBehind = asked.to === 'branch' && (!asked.isOnBranch || item.status === 'not-started');
  const change: StateChange = isBehind ? { ...asked.change, begins: true } : asked.change;
  const state = { ...asked, change };
  assertNoOtherResult(path, item, state.branch);
  const known = new Set(roadmap.items.map((each) => each.id));
  const bugs = change.adding.filter((bug) => !known.has(bug.id));
  const blocking = change.adding.filter(({ blocks }) => blocks).map((bug) => bug.id);
  const items = roadmap.items.map((each) => (each === item ? changedItem(path, each, state, blocking) : each));
  const at0 = items.findIndex((each) => each.id === id) + 1;
  const all = [...items.slice(0, at0), ...bugs.map((bug) => itemOfBug(bug, at)), ...items.slice(at0)];
  const written = writeRoadmap({ ...roadmap, items: all }, text);
  // A file that nobody could read any more would hold up every item.
  const fault = firstFault(written);
  if (fault === null) return written;
  throw new NeedsHuman(
    'merge_conflict',
    `${path} cannot take the state of ${id}: ${fault} Make room there and push, then retry.`,
  );
}

/** A run of another server, or of a second project with this repository, may have finished the item meanwhile. */
function assertNoOtherResult(path: string, item: RoadmapItem, branch: string): void {
  const blocker = mergeBlocker(item);
  const isOwn = [branch, besideOf(branch)].some((own) => blocker?.startsWith(`Its result is on the branch ${own}:`));
  if (blocker === null || isOwn) return;
  throw new NeedsHuman(
    'merge_conflict',
    `${path} says of ${item.id} that another run has finished it: ${blocker} Cancel this run. Or, to do without that result, set the item back with the command "roadmap reset ${item.id}" and push, then retry.`,
  );
}

function firstFault(text: string): string | null {
  const read = readRoadmap(text);
  return read.ok ? null : (read.faults[0]?.message ?? '');
}

function readable(path: string, text: string | null): Roadmap {
  if (text === null)
    throw new NeedsHuman(
      'merge_conflict',
      `${path} is not there any more: somebody has removed it meanwhile. Put it back and push, then retry; or cancel the run.`,
    );
  const read = readRoadmap(text);
  if (read.ok) return read.roadmap;
  const faults = read.faults.slice(0, MOST_FAULTS).map(({ message }) => message);
  throw new NeedsHuman(
    'merge_conflict',
    `${path} cannot be read any more: ${faults.join(' ')} Correct it and push, then retry.`,
  );
}

function changedItem(
  path: string,
  item: RoadmapItem,
  { change, spent, at }: NewState,
  blocking: readonly string[],
): RoadmapItem {
  const { before } = change;
  const dependencies = [...new Set([...(item.dependencies ?? []), ...blocking])];
  return {
    ...item,
    status: statusAfter(path, item, change),
    ...(blocking.length === 0 ? {} : { dependencies }),
    updatedAt: at,
    workflowState: {
      ...item.workflowState,
      phase: change.phase,
      specSlug: change.slug,
      tasksTotal: change.tasksTotal,
      tasksCompleted: change.tasksCompleted,
      lastSession: at,
      attempts: change.attempts,
      blockers: change.blockers
        .slice(0, MOST_BLOCKERS)
        .map((blocker) => blocker.slice(0, LONGEST_BLOCKER).toWellFormed()),
      metrics: {
        ...item.workflowState?.metrics,
        costUsd: rounded(before.costUsd + spent.costUsd),
        inputTokens: before.inputTokens + spent.inputTokens,
        outputTokens: before.outputTokens + spent.outputTokens,
      },
    },
  };
}

/** @throws {NeedsHuman} `merge_conflict` where a person has set another status while the item was worked on */
function statusAfter(
  path: string,
  { id, status }: RoadmapItem,
  { phase, begins, isLast }: StateChange,
): RoadmapItem['status'] {
  const state = begins ? 'in-progress' : status;
  if (phase !== 'completed' && !isLast) return state;
  if (state === 'in-progress' || state === 'completed') return isLast ? state : 'completed';
  throw new NeedsHuman(
    'merge_conflict',
    `${path} says that ${id} is '${status}', and this run would set it to completed: somebody has changed it meanwhile. Set it to in-progress or to completed there and push, then retry; or cancel the run.`,
  );
}

/** Sums in cents of a cent, without the tail of a binary fraction. */
function rounded(costUsd: number): number {
  return Math.round(costUsd * 1e6) / 1e6;
}

function itemOfBug({ id, title, description, size }: Finding, at: string): RoadmapItem {
  return {
    id,
    title,
    description,
    type: 'bugfix',
    moscow: 'must-have',
    status: 'not-started',
    health: 'on-track',
    timeHorizon: 'now',
    effort: size,
    dependencies: [],
    createdAt: at,
    updatedAt: at,
  };
}

/** Sums of a run and the runs below it. */
export function spentBy(
  runs: readonly {
    readonly cost: { readonly costUsd?: number; readonly inputTokens: number; readonly outputTokens: number };
  }[],
): ItemMetrics {
  return runs.reduce(
    (sums, { cost }) => ({
      costUsd: sums.costUsd + (cost.costUsd ?? 0),
      inputTokens: sums.inputTokens + cost.inputTokens,
      outputTokens: sums.outputTokens + cost.outputTokens,
    }),
    NOTHING_SPENT,
  );
}
