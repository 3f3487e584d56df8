/**
 * The roadmap of a project, `roadmap/roadmap.json`: its schema, a reader that names each fault, a writer that keeps the layout of the
 * text, and a three-way merge by item. Pure; takes linear time in the length of the text.
 */
import { isDeepStrictEqual } from 'node:util';
import { createScanner, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { z } from 'zod';
import { repeatedKeys, writeLike } from './json-layout.ts';

/** Path in its repository where a person names no other. */
export const ROADMAP_PATH = 'roadmap/roadmap.json';

export const ITEM_TYPES = ['feature', 'bugfix', 'technical-debt', 'research', 'epic'] as const;
/** Highest priority first. */
export const MOSCOW = ['must-have', 'should-have', 'could-have', 'wont-have'] as const;
/** Nearest first. */
export const TIME_HORIZONS = ['now', 'next', 'later'] as const;
export const HEALTHS = ['on-track', 'at-risk', 'off-track', 'blocked'] as const;
export const ITEM_STATUSES = ['not-started', 'in-progress', 'completed', 'on-hold'] as const;
/** Phases of the work on an item, in their order. */
export const WORK_PHASES = [
  'not-started',
  'ideating',
  'specifying',
  'decomposing',
  'implementing',
  'testing',
  'committing',
  'releasing',
  'completed',
] as const;

/** Characters of a roadmap, at most. */
export const MAX_ROADMAP_CHARACTERS = 2_000_000;
/** Items of a roadmap, at most. */
export const MAX_ITEMS = 1_000;
/** Dependencies of an item, at most. */
export const MAX_DEPENDENCIES = 100;
/** Lists and objects within each other, at most. */
const DEEPEST = 50;
const LONGEST_TITLE = 200;
const LONGEST_VALUE = 60;

const time = z.iso.datetime({ offset: true });
const count = z.number().int().min(0);

const workflowStateSchema = z.looseObject({
  phase: z.enum(WORK_PHASES).optional(),
  specSlug: z.string().describe('Slug of the associated spec directory').optional(),
  tasksTotal: z.number().int().describe('Total tasks from decomposition').optional(),
  tasksCompleted: z.number().int().describe('Tasks marked complete').optional(),
  lastSession: time.describe('ISO timestamp of last work session').optional(),
  attempts: z.number().int().describe('Retry attempts for current phase').optional(),
  blockers: z.array(z.string()).describe('Current blocking issues').optional(),
  metrics: z
    .looseObject({
      costUsd: z.number().min(0).optional(),
      inputTokens: count.optional(),
      outputTokens: count.optional(),
    })
    .describe('Cost in US dollars and tokens of all work on the item')
    .optional(),
});

const itemSchema = z.looseObject({
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/),
  title: z.string().min(1).max(LONGEST_TITLE),
  type: z.enum(ITEM_TYPES),
  moscow: z.enum(MOSCOW),
  status: z.enum(ITEM_STATUSES),
  health: z.enum(HEALTHS),
  timeHorizon: z.enum(TIME_HORIZONS),
  dependencies: z
    .array(z.string())
    .max(MAX_DEPENDENCIES)
    .describe('Ids of items that have to be completed before')
    .optional(),
  createdAt: time.optional(),
  updatedAt: time.optional(),
  workflowState: workflowStateSchema.describe('State of the work; only the server writes it').optional(),
});

const roadmapSchema = z.looseObject({ items: z.array(itemSchema).max(MAX_ITEMS) });

/** Also has the fields of its file that are not named here. */
export type Roadmap = DeepReadonly<z.infer<typeof roadmapSchema>>;
/** An item of a roadmap. Without `dependencies` it has none; without `workflowState` nobody has worked on it. */
export type RoadmapItem = Roadmap['items'][number];
export type WorkflowState = NonNullable<RoadmapItem['workflowState']>;

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

export interface RoadmapFault {
  /** Id of the item, or `items[3]` for one without an id; `null`: of the whole file. */
  readonly item: string | null;
  /** Way to the field within the item or the file, such as `workflowState.phase`; `null`: of all of it. */
  readonly field: string | null;
  /** The value as JSON, at most 60 characters; `null`: there is none. */
  readonly value: string | null;
  /** A sentence with all of these and with what is allowed. */
  readonly message: string;
}

export type ReadRoadmap =
  | { readonly ok: true; readonly roadmap: Roadmap }
  | { readonly ok: false; readonly faults: readonly RoadmapFault[] };

/**
 * Reads a roadmap. Unknown fields are kept. Refused are values that the schema does not allow, two items with one id, and a field
 * that stands twice in one object. Dependencies are not followed: `dependencyFaults` does that.
 */
export function readRoadmap(text: string): ReadRoadmap {
  const unreadable = lengthFault(text) ?? syntaxFault(text);
  if (unreadable !== null) return { ok: false, faults: [unreadable] };
  const json: unknown = JSON.parse(withoutMark(text));
  const parsed = roadmapSchema.safeParse(json);
  const faults = [
    ...repeatedKeys(text).map((way) => repeatedFault(way, json)),
    ...(parsed.error?.issues ?? []).map(({ path }) => valueFault(path.filter(isStep), json)),
    ...duplicateFaults(json),
  ];
  // Unlike the schema's copy, the value has its fields in the order of the file. The schema has just accepted it and transforms nothing.
  return faults.length === 0 ? { ok: true, roadmap: json as Roadmap } : { ok: false, faults };
}

/**
 * The text of a roadmap, in the layout of the one that it was read from: order of fields, unknown fields, indentation, line ends and the end of
 * the file stay, and what did not change keeps its characters.
 * @param source text that `readRoadmap` accepts; `null`: there is none
 */
export function writeRoadmap(roadmap: Roadmap, source: string | null): string {
  return writeLike(roadmap, source);
}

/** JSON Schema of a roadmap, as `docs/schemas/roadmap.schema.json` has it. */
export function roadmapJsonSchema(): object {
  const json = z.toJSONSchema(roadmapSchema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // The format says it.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return { ...json, title: `${ROADMAP_PATH}: roadmap of a project` };
}

// ---- faults

function lengthFault({ length }: string): RoadmapFault | null {
  if (length <= MAX_ROADMAP_CHARACTERS) return null;
  const message = `The roadmap has ${length} characters; at most ${MAX_ROADMAP_CHARACTERS} are taken. Move completed items to another file.`;
  return { item: null, field: null, value: null, message };
}

function syntaxFault(text: string): RoadmapFault | null {
  const of = (message: string): RoadmapFault => ({ item: null, field: null, value: null, message });
  const plain = withoutMark(text);
  // Before the parser, which recurses.
  if (depthOf(plain) > DEEPEST)
    return of(`The roadmap has lists and objects more than ${DEEPEST} deep within each other. Take some of them out.`);
  try {
    JSON.parse(plain);
    return null;
  } catch {
    const errors: ParseError[] = [];
    parseTree(plain, errors, { disallowComments: true });
    const [first] = errors;
    if (first === undefined) return of('The roadmap is not JSON. Check its quotes, commas and brackets.');
    const { line, column } = placeOf(plain, first.offset);
    const words = printParseErrorCode(first.error)
      .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
      .toLowerCase();
    return of(`The roadmap is not JSON from line ${line}, column ${column} on: ${words}.`);
  }
}

/** Depth of the text as the parser reads it, also where it is not JSON: a bracket that closes nothing counts for nothing. */
function depthOf(text: string): number {
  const scanner = createScanner(text, true);
  const open: string[] = [];
  let deepest = 0;
  // The length of a token does not tell the end: behind a text that ends with `/*`, it is 1 for ever.
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const start = text.charAt(scanner.getTokenOffset());
    const closing = CLOSING.get(start);
    if (closing !== undefined) deepest = Math.max(deepest, open.push(closing));
    else if (start === open.at(-1)) open.pop();
  }
  return deepest;
}

const CLOSING: ReadonlyMap<string, string> = new Map([
  ['{', '}'],
  ['[', ']'],
]);

function placeOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** A name of a field, or the place in a list. */
type Step = string | number;

function isStep(step: PropertyKey): step is Step {
  return typeof step !== 'symbol';
}

interface FieldPlace {
  readonly item: string | null;
  readonly field: string | null;
  readonly value: unknown;
  /** "the roadmap", or the item with its id. */
  readonly owner: string;
}

function fieldPlace(way: readonly Step[], json: unknown): FieldPlace {
  const [list, index, ...rest] = way;
  const isItem = list === 'items' && typeof index === 'number';
  const item = isItem ? labelOf(valueAt(json, way.slice(0, 2)), index) : null;
  const steps = isItem ? rest : way;
  const field = steps.length === 0 ? null : steps.map(stepText).join('').replace(/^\./, '');
  return { item, field, value: valueAt(json, way), owner: item === null ? 'the roadmap' : `item '${item}'` };
}

function stepText(step: Step): string {
  return typeof step === 'number' ? `[${step}]` : `.${step.slice(0, LONGEST_VALUE)}`;
}

function labelOf(item: unknown, index: number): string {
  const id = valueAt(item, ['id']);
  return typeof id === 'string' && id !== '' ? id.slice(0, LONGEST_VALUE) : `items[${index}]`;
}

function valueAt(json: unknown, way: readonly Step[]): unknown {
  return way.reduce<unknown>((at, step) => (isRecord(at) && Object.hasOwn(at, step) ? at[step] : undefined), json);
}

function isRecord(value: unknown): value is Readonly<Record<Step, unknown>> {
  return typeof value === 'object' && value !== null;
}

function valueFault(way: readonly Step[], json: unknown): RoadmapFault {
  const { item, field, value: found, owner } = fieldPlace(way, json);
  const allowed = allowedAt(item === null ? 'roadmap' : 'item', field);
  const value = found === undefined ? null : shownValue(found);
  const thing = field === null ? `${owner.charAt(0).toUpperCase()}${owner.slice(1)}` : `Field '${field}' of ${owner}`;
  const message = `${thing} is ${value ?? 'missing'}. Allowed: ${allowed}.`;
  return { item, field, value, message };
}

/** A value as faults have it: JSON, at most 60 characters. */
export function shownValue(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length <= LONGEST_VALUE ? json : `${json.slice(0, LONGEST_VALUE - 1)}…`;
}

function repeatedFault(way: readonly Step[], json: unknown): RoadmapFault {
  const { item, field, value, owner } = fieldPlace(way, json);
  const message = `Field '${field}' of ${owner} stands more than once. Allowed: once.`;
  return { item, field, value: shownValue(value), message };
}

function duplicateFaults(json: unknown): readonly RoadmapFault[] {
  const items = valueAt(json, ['items']);
  if (!Array.isArray(items)) return [];
  const counts = new Map<string, number>();
  for (const item of items) {
    const id = valueAt(item, ['id']);
    if (typeof id === 'string') counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return [...counts].flatMap(([id, times]) => {
    if (times === 1) return [];
    const item = id.slice(0, LONGEST_VALUE);
    const message = `Field 'id' of item '${item}' is ${shownValue(id)}, which ${times} items have. Allowed: an id of its own for each item.`;
    return [{ item, field: 'id', value: shownValue(id), message }];
  });
}

const TIME_WORDS = 'a date and time with its offset, such as 2026-02-01T10:00:00Z';
const COUNT_WORDS = 'a whole number from 0';
const oneOf = (values: readonly string[]): string => `one of ${values.join(', ')}`;

/** By the way to the field; elements of lists have `[]`. */
const ALLOWED: Readonly<Record<'roadmap' | 'item', Readonly<Record<string, string>>>> = {
  roadmap: { '': 'an object with a list of items', items: `a list of at most ${MAX_ITEMS} items` },
  item: {
    '': 'an object',
    id: "a text of 1 to 100 letters (a-z), digits, '.', '_' and '-' that begins with a letter or a digit",
    title: `a text of 1 to ${LONGEST_TITLE} characters`,
    type: oneOf(ITEM_TYPES),
    moscow: oneOf(MOSCOW),
    status: oneOf(ITEM_STATUSES),
    health: oneOf(HEALTHS),
    timeHorizon: oneOf(TIME_HORIZONS),
    dependencies: `a list of at most ${MAX_DEPENDENCIES} ids of items`,
    'dependencies[]': 'the id of an item',
    createdAt: TIME_WORDS,
    updatedAt: TIME_WORDS,
    workflowState: 'an object',
    'workflowState.phase': oneOf(WORK_PHASES),
    'workflowState.specSlug': 'a text',
    'workflowState.tasksTotal': 'a whole number',
    'workflowState.tasksCompleted': 'a whole number',
    'workflowState.lastSession': TIME_WORDS,
    'workflowState.attempts': 'a whole number',
    'workflowState.blockers': 'a list of texts',
    'workflowState.blockers[]': 'a text',
    'workflowState.metrics': 'an object',
    'workflowState.metrics.costUsd': 'a number from 0',
    'workflowState.metrics.inputTokens': COUNT_WORDS,
    'workflowState.metrics.outputTokens': COUNT_WORDS,
  },
};

function allowedAt(of: keyof typeof ALLOWED, field: string | null): string {
  const words = ALLOWED[of][(field ?? '').replaceAll(/\[\d{1,10}\]/g, '[]')];
  if (words === undefined) throw new Error(`no words say what '${field}' of the ${of} may be`);
  return words;
}

function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

// ---- merge

/** A field that both sides changed, each in another way. */
export interface CellConflict {
  /** Id of the item; `null`: a field of the roadmap itself. */
  readonly item: string | null;
  /** `null`: the whole item, which one side removed and the other changed. */
  readonly field: string | null;
  /** `undefined`: removed. */
  readonly ours: unknown;
  /** `undefined`: removed. */
  readonly theirs: unknown;
}

export type MergedRoadmap =
  | {
      readonly ok: true;
      readonly roadmap: Roadmap;
      /** Ids of the items whose `workflowState` the other side had changed as well; that change is not in the result. */
      readonly overwritten: readonly string[];
    }
  | { readonly ok: false; readonly conflicts: readonly CellConflict[] };

type Fields = Readonly<Record<string, unknown>>;

/** Only the engine writes it, so that our side's counts. */
const OWN_FIELD = 'workflowState';
/** They tell when the last change was: of two, the later one. */
const TIMES_OF_CHANGE: ReadonlySet<string> = new Set(['updatedAt', 'lastUpdated']);

/**
 * Merges the engine's roadmap with one that a person edited, by item and field. A field that one side changed has that side's value, and
 * one that both changed alike has it too. `workflowState` is ours alone; `updatedAt` and `lastUpdated` are the later of both. Items have
 * the order of `theirs`; one that we added stands after the item that it followed. Fields count as a whole: two changes to one list are a conflict.
 * @param base what both sides began with
 */
export function mergeRoadmaps(base: Roadmap, ours: Roadmap, theirs: Roadmap): MergedRoadmap {
  const conflicts: CellConflict[] = [];
  const [baseItems, ourItems, theirItems] = [itemsById(base), itemsById(ours), itemsById(theirs)] as const;
  const merged = new Map<string, Fields>();
  for (const id of new Set([...theirItems.keys(), ...ourItems.keys()])) {
    const item = mergeItem(id, baseItems.get(id), ourItems.get(id), theirItems.get(id), conflicts);
    if (item !== null) merged.set(id, item);
  }
  const { items: _base, ...baseFields } = base;
  const { items: _ours, ...ourFields } = ours;
  const { items: _theirs, ...theirFields } = theirs;
  const fields = mergeFields(null, baseFields, ourFields, theirFields, conflicts);
  if (conflicts.length > 0) return { ok: false, conflicts };
  const order = mergedOrder([...theirItems.keys()], [...ourItems.keys()]);
  const items = order.flatMap((id) => merged.get(id) ?? []);
  const all: Fields = { ...fields, items };
  const names = new Set([...Object.keys(theirs), ...Object.keys(fields)].filter((name) => Object.hasOwn(all, name)));
  return {
    ok: true,
    // Each field has the value that it has on one of the sides, and both are roadmaps.
    roadmap: Object.fromEntries([...names].map((name) => [name, all[name]])) as Roadmap,
    overwritten: [...merged.keys()].filter((id) =>
      isOverwritten(baseItems.get(id), ourItems.get(id), theirItems.get(id)),
    ),
  };
}

function itemsById({ items }: Roadmap): ReadonlyMap<string, RoadmapItem> {
  return new Map(items.map((item) => [item.id, item]));
}

/** @returns `null`: removed, or in conflict */
function mergeItem(
  id: string,
  base: RoadmapItem | undefined,
  ours: RoadmapItem | undefined,
  theirs: RoadmapItem | undefined,
  conflicts: CellConflict[],
): Fields | null {
  if (ours !== undefined && theirs !== undefined) return mergeFields(id, base ?? {}, ours, theirs, conflicts);
  const left = ours ?? theirs;
  if (left === undefined) return null;
  if (base === undefined) return ours ?? withoutOwnField(left);
  if (!isDeepStrictEqual(left, base)) conflicts.push({ item: id, field: null, ours, theirs });
  return null;
}

function withoutOwnField({ [OWN_FIELD]: _own, ...item }: RoadmapItem): Fields {
  return item;
}

/** Fields in the order of `theirs`, then those that we added. */
function mergeFields(
  item: string | null,
  base: Fields,
  ours: Fields,
  theirs: Fields,
  conflicts: CellConflict[],
): Fields {
  const names = new Set([...Object.keys(theirs), ...Object.keys(ours)]);
  return Object.fromEntries(
    [...names].flatMap((field): [string, unknown][] => {
      const [was, our, their] = [own(base, field), own(ours, field), own(theirs, field)];
      const cell = mergeCell(field, item !== null, was, our, their);
      if (cell.isConflict) conflicts.push({ item, field, ours: our, theirs: their });
      return cell.value === undefined ? [] : [[field, cell.value]];
    }),
  );
}

interface Cell {
  /** `undefined`: removed. */
  readonly value: unknown;
  readonly isConflict?: boolean;
}

function mergeCell(field: string, isOfItem: boolean, was: unknown, ours: unknown, theirs: unknown): Cell {
  if ((isOfItem && field === OWN_FIELD) || isDeepStrictEqual(ours, theirs)) return { value: ours };
  if (isDeepStrictEqual(ours, was)) return { value: theirs };
  if (isDeepStrictEqual(theirs, was)) return { value: ours };
  if (TIMES_OF_CHANGE.has(field) && typeof ours === 'string' && typeof theirs === 'string')
    return { value: Date.parse(theirs) > Date.parse(ours) ? theirs : ours };
  return { value: ours, isConflict: true };
}

function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function mergedOrder(theirs: readonly string[], ours: readonly string[]): readonly string[] {
  const order = [...theirs];
  const has = new Set(theirs);
  let at = 0;
  for (const id of ours) {
    if (has.has(id)) at = order.indexOf(id) + 1;
    else order.splice(at++, 0, id);
  }
  return order;
}

function isOverwritten(
  base: RoadmapItem | undefined,
  ours: RoadmapItem | undefined,
  theirs: RoadmapItem | undefined,
): boolean {
  if (theirs === undefined) return false;
  const state = theirs[OWN_FIELD];
  return !isDeepStrictEqual(state, base?.[OWN_FIELD]) && !isDeepStrictEqual(state, ours?.[OWN_FIELD]);
}
