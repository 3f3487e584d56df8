/** Keeps apart runs whose input names the same work: a launch is refused while an unfinished run has the same. */
import path from 'node:path';
import { Conflict, InvalidRequest, type JsonObject, type JsonValue, type RunStart } from '@autonomous/shared';
import { ownedFilesOf, type WorkflowDefinition } from '../../core/definition.ts';
import type { EventStore } from '../../event-store/event-store.ts';

/** Runs that are read at once. */
const PAGE = 200;

/** The values that a run has for itself, by the field of its input. */
export type ExclusiveInput = Readonly<Record<string, string>>;

type Launched = Pick<RunStart, 'projectId' | 'input' | 'explorationId'> & {
  readonly workflow: { readonly name: string };
};

/** @returns `null` where any number of runs may have this input */
export function exclusiveInputOf(
  { exclusiveInput = [] }: Pick<WorkflowDefinition, 'exclusiveInput'>,
  input: JsonObject = {},
): ExclusiveInput | null {
  const values = exclusiveInput.flatMap((name) => {
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    return value === undefined || value === null ? [] : [[name, wordsOf(value)] as const];
  });
  return values.length === 0 ? null : Object.fromEntries(values);
}

/**
 * Refuses a launch while another run of the same workflow and project is not finished and has the same exclusive input. Runs of
 * its own exploration do not count.
 * @throws {Conflict} with a fault for each exclusive field, and the id of that run as `extra.runId`
 */
export async function refuseTakenInput(
  store: Pick<EventStore, 'listRuns' | 'readHistory'>,
  definition: WorkflowDefinition,
  runId: string,
  { projectId, workflow: { name: workflow }, input, explorationId }: Launched,
): Promise<void> {
  const wanted = exclusiveInputOf(definition, input);
  if (wanted === null) return;
  for (let cursor: string | undefined; ;) {
    const page = await store.listRuns({ projectId, workflow, open: true, limit: PAGE, cursor });
    for (const { id, explorationId: of } of page.items) {
      if (id === runId || (explorationId !== undefined && of === explorationId)) continue;
      const theirs = await inputOf(store, id);
      const other = exclusiveInputOf(definition, theirs);
      const isTaken = other !== null && (isSame(wanted, other) || haveOneResult(definition, input, theirs));
      if (isTaken) throw taken(workflow, wanted, id);
    }
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}

/** One name for all launches that keep each other out. */
export function exclusiveKey({ projectId, workflow }: Launched, input: ExclusiveInput): string {
  return JSON.stringify(['exclusive input', projectId, workflow.name, ...Object.entries(input).flat()]);
}

/** Have two of its runs with the same exclusive input files of the base to write that only one of them may? */
export function sharesFiles({
  ownedFiles,
  ownedResults,
}: Pick<WorkflowDefinition, 'ownedFiles' | 'ownedResults'>): boolean {
  return ownedFiles !== undefined && ownedResults !== 'all';
}

/**
 * Refuses variants of one exploration with the same exclusive input, where their runs would write the same engine-owned files.
 * Approaches to a plan may be compared; statuses of one table have one writer.
 * @throws {InvalidRequest}
 */
export function refuseSharedInput(
  definition: Pick<WorkflowDefinition, 'name' | 'exclusiveInput' | 'ownedFiles' | 'ownedResults'>,
  start: Pick<RunStart, 'input'>,
  variants: readonly { readonly start: Pick<RunStart, 'input'> }[],
): void {
  const wanted = sharesFiles(definition) ? exclusiveInputOf(definition, start.input) : null;
  if (wanted === null) return;
  const sharing = variants.flatMap((variant, index) => {
    const other = exclusiveInputOf(definition, variant.start.input);
    return other !== null && isSame(wanted, other) ? [index] : [];
  });
  if (sharing.length < 2) return;
  const message = `Runs of workflow '${definition.name}' cannot work on ${named(wanted)} side by side: each would write its files. Launch one run.`;
  const faults = sharing.flatMap((index) =>
    Object.keys(wanted).map((name) => ({ path: `variants.${index}.input.${name}`, message })),
  );
  throw new InvalidRequest(message, { faults });
}

/** Compares fields by their values, whatever their order. */
function isSame(one: ExclusiveInput, other: ExclusiveInput): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

/** Runs whose results are files of their own: topics that differ in spelling alone may have the same files. */
function haveOneResult(definition: WorkflowDefinition, one: JsonObject | undefined, other: JsonObject): boolean {
  if (definition.ownedFiles === undefined || definition.ownedResults !== 'all') return false;
  const files = (input: JsonObject | undefined): string => ownedFilesOf(definition, input).join('\n');
  return files(one) === files(other);
}

/** `'ai/backlog.md'`, or several values. */
function named(input: ExclusiveInput): string {
  return Object.values(input)
    .map((value) => `'${value}'`)
    .join(', ');
}

function taken(workflow: string, input: ExclusiveInput, runId: string): Conflict {
  const message = `Run ${runId} of workflow '${workflow}' works on ${named(input)} and is not finished. Follow or cancel that run, or launch this one after it.`;
  const faults = Object.keys(input).map((name) => ({ path: `input.${name}`, message }));
  return new Conflict(message, { faults, extra: { runId } });
}

/** `./ai/backlog.md` and `ai//backlog.md` are one file. */
function wordsOf(value: JsonValue): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return path.posix.normalize(value.trim().replaceAll('\\', '/')).replace(/^\/{1,10}/, '');
}

/** The input that a run was launched with. */
export async function inputOf(store: Pick<EventStore, 'readHistory'>, runId: string): Promise<JsonObject> {
  const [first] = await store.readHistory(runId, 0, 1);
  // A run that waited for a slot has its start in RUN_QUEUED.
  const { start, ...own } = (first?.payload ?? {}) as Partial<RunStart> & { readonly start?: Partial<RunStart> };
  return (start ?? own).input ?? {};
}
