/**
 * Workflow definition: an ordinary XState machine with a name, a version, the signals that it accepts, and `meta` that
 * describes its states to people. A machine that cannot be made durable is refused here, with each fault named.
 */
import { createHash } from 'node:crypto';
import {
  InvalidRequest,
  type Decision,
  type GateOpening,
  type JsonObject,
  type JsonValue,
  type ProjectConfig,
  type RunStatus,
  type Stage,
} from '@autonomous/shared';
import { eventTextFault } from '@autonomous/shared/presentation';
import { type AnyStateMachine, fromPromise } from 'xstate';
import { z } from 'zod';
import { ownedPathFaults } from '../documents/owned-files.ts';
import { childWorkflowOf, childrenOf } from './child-runs.ts';
import { durabilityFaults } from './durability.ts';

/** Description of a state for people while it is active. Deeper states override their parents. */
export interface StateMeta<Context = never> {
  readonly status: RunStatus;
  readonly stage?: Stage | null | ((context: Context) => Stage | null);
  readonly gate?: GateMeta<Context>;
  /** For a final state: the reason (`failed`) or the result (`completed`). */
  readonly message?: (context: Context) => string;
  /** For a final state `completed`: parts of the work that came to nothing, one sentence each. Such an end is no success. Default: none. */
  readonly failures?: (context: Context) => readonly string[];
}

/** A gate that is open while the state is active. */
export interface GateMeta<Context = never> {
  readonly kind: string;
  readonly decisions: readonly Decision[] | ((context: Context) => readonly Decision[]);
  readonly summary: (context: Context) => string;
  /** Facts that the gate shows and that an approval must name; merged into the event that opens it. */
  readonly facts?: (
    context: Context,
  ) => Partial<Pick<GateOpening, 'artifactHash' | 'codeTree' | 'details'>> & JsonObject;
}

/** Event with the outcome of an activity, for machines that handle `xstate.done.actor.*` themselves. */
export type ActivityEvent<Output = unknown> =
  | { readonly type: `xstate.done.actor.${string}`; readonly output: Output; readonly actorId: string }
  | { readonly type: `xstate.error.actor.${string}`; readonly error: unknown; readonly actorId: string };

/** Names that states and facts of a workflow may use. An absent list allows any name. */
export interface DeclaredNames {
  readonly stages?: readonly string[];
  /** Types of artifacts. */
  readonly documents?: readonly string[];
}

export interface WorkflowDefinition {
  readonly name: string;
  /** Incremented when the machine changes so that old histories would not replay identically. */
  readonly version: number;
  readonly description: string;
  readonly machine: AnyStateMachine;
  /** Signals that people and programs may send, with the schema of their payloads. All others are refused. */
  readonly signals: Readonly<Record<string, z.ZodType<object>>>;
  /** Schema of a run's `input`, which the machine gets as `input.input`. Absent: the workflow has no input. */
  readonly input?: z.ZodType<object>;
  /**
   * Fields of the input that a project's configuration gives to runs that are launched without them. Pure. Requires `input` and
   * `needsProject`. Default: none.
   */
  readonly configuredInput?: (config: ProjectConfig) => JsonObject;
  /**
   * Request of a run that is launched without one, with fields of its input in braces: `Work through {file}[: {item}]`. A part in
   * brackets is left out where one of its fields is empty. Absent: a run that needs a project needs a request.
   */
  readonly defaultRequest?: string;
  /**
   * Fields of the input that tell apart the work of unfinished runs: a launch is refused while a run of the same workflow and
   * project has the same values of all of them. Texts are compared as paths. Requires `input` and `needsProject`. Default: none,
   * and any number of runs may have the same input.
   */
  readonly exclusiveInput?: readonly string[];
  /**
   * Activities of one run that are performed at the same time, from 1; further ones wait for one of them. A run that is
   * started with a limit of its own keeps that. Default: the engine's, which is 4.
   */
  readonly maxConcurrency?: number;
  /** Whether its runs work on a project's repository. Such a run needs a project and a request, and gets a branch. Default: false. */
  readonly needsProject?: boolean;
  /**
   * Engine-owned files: repository paths and patterns that the server alone writes for a run, by `commitOwnedFiles`. A list, or a
   * pure function of the run's input. `*` stands for any characters of one name, and one name may be `**`, any number of folders.
   * Requires `needsProject`. Default: none.
   */
  readonly ownedFiles?: readonly string[] | ((input: JsonObject) => readonly string[]);
  /**
   * Engine-owned files that are the result of a run, wholly or in part: they are committed to its branch and published with it. Those
   * of `ownedFiles` that are named here, or all of them. Default: none.
   */
  readonly ownedResults?: 'all' | readonly string[];
  /**
   * Types of the workflow's own events, facts and signals, that activities read in the log of a run, also of another workflow. They act, so
   * that a person is shown them before a rebuilt run goes on, and events of other own types are not given to activities. Default: none.
   */
  readonly readsEvents?: readonly string[];
  /** Returns the head of the run's branch for a context, or `null` if it is unknown. A fork's branch starts there. */
  readonly workspace?: (context: never) => string | null;
  /**
   * Converts the state of a run of an older version whose history does not replay identically, by that version's number.
   * The function must be pure and must return a state that is stable and not final.
   */
  readonly migrations?: Readonly<Record<number, (state: StoredState) => StoredState>>;
  /** Stages and documents that its workflow declares. Default: any name may be used. */
  readonly declared?: DeclaredNames;
  /** Hash of the machine's source. It shows whether a version has changed since its runs were started. */
  readonly fingerprint: string;
}

/** State of a machine as JSON. */
export interface StoredState {
  /** State value in XState's form. */
  readonly value: JsonValue;
  readonly context: JsonObject;
  /** Ids of the states that each history state remembers, by the id of the history state. */
  readonly history: Readonly<Record<string, readonly string[]>>;
}

const declared = new WeakSet<object>();
const defined = new WeakSet<object>();

/** Declares an activity by its types. The engine performs it; starting it as an XState actor throws. */
export function activity<Input, Output>() {
  const logic = fromPromise<Output, Input>(() => Promise.reject(new Error('activities are carried out by the engine')));
  declared.add(logic);
  return logic;
}

/** Takes the faults of a definition instead of an error. */
type TakeFault = (message: string, definition: WorkflowDefinition) => void;
let takeFault: TakeFault | null = null;

/**
 * Lets `defineWorkflow` report faults and return all the same, so that a module with several faults can be read to its end.
 * @param work reads the modules, one after the other
 */
export async function takingFaults<Value>(take: TakeFault, work: () => Promise<Value>): Promise<Value> {
  takeFault = take;
  try {
    return await work();
  } finally {
    takeFault = null;
  }
}

/**
 * Makes a workflow definition from a machine.
 * @throws {InvalidRequest} naming every part of the machine that cannot be made durable
 */
export function defineWorkflow(definition: Omit<WorkflowDefinition, 'fingerprint' | 'declared'>): WorkflowDefinition {
  const message = faultOf(definition);
  if (message !== null && takeFault === null) throw new InvalidRequest(message);
  const workflow: WorkflowDefinition = {
    ...definition,
    fingerprint: message === null ? fingerprint(definition) : '',
  };
  defined.add(workflow);
  if (message !== null) takeFault?.(message, workflow);
  return workflow;
}

/** Every fault of a definition in one sentence; `null` where there is none. */
function faultOf(definition: Omit<WorkflowDefinition, 'fingerprint'>): string | null {
  const unfit = [...ownedFilesFaults(definition), ...launchFaults(definition)];
  if (unfit.length > 0) return `Workflow '${definition.name}' cannot be started: ${unfit.join('; ')}.`;
  const faults = durabilityFaults(
    definition,
    (logic) =>
      typeof logic === 'object' && logic !== null && (declared.has(logic) || childWorkflowOf(logic) !== undefined),
  );
  return faults.length > 0 ? `Workflow '${definition.name}' cannot be made durable: ${faults.join('; ')}.` : null;
}

/** @returns faults that are known before a run is started */
function ownedFilesFaults({ ownedFiles, needsProject }: Omit<WorkflowDefinition, 'fingerprint'>): readonly string[] {
  if (ownedFiles === undefined) return [];
  if (needsProject !== true) return ['it has ownedFiles and needs no project; set needsProject to true'];
  return typeof ownedFiles === 'function' ? [] : ownedPathFaults(ownedFiles);
}

/** @returns faults of fields that name fields of the input */
function launchFaults({
  input,
  needsProject,
  defaultRequest,
  exclusiveInput,
}: Omit<WorkflowDefinition, 'fingerprint'>): readonly string[] {
  const fault = defaultRequest === undefined ? null : eventTextFault(defaultRequest);
  const faults = fault === null ? [] : [`its defaultRequest ${fault}; write fields as {name} and optional parts in []`];
  if (exclusiveInput === undefined) return faults;
  if (needsProject !== true) faults.push('it has exclusiveInput and needs no project; set needsProject to true');
  const { properties = {} } = input === undefined ? {} : jsonSchemaOf(input);
  const known = Object.keys(properties as JsonObject); // those of an object, by JSON Schema
  return [
    ...faults,
    ...exclusiveInput
      .filter((name) => !known.includes(name))
      .map((name) => `its exclusiveInput names '${name}', which is no field of its input; it has ${known.join(', ')}`),
  ];
}

/**
 * Returns the paths and patterns that a run of a workflow owns.
 * @param input of the run, as parsed by the workflow's schema
 * @throws {InvalidRequest} when the workflow's function throws, or gives paths that are not allowed
 */
export function ownedFilesOf({ name, ownedFiles }: WorkflowDefinition, input: JsonObject = {}): readonly string[] {
  if (typeof ownedFiles !== 'function') return ownedFiles ?? [];
  const refused = (why: string, cause?: unknown): InvalidRequest => {
    const message = `Workflow '${name}' cannot own files with this input: ${why}.`;
    return new InvalidRequest(message, {
      faults: [{ path: 'input', message }],
      ...(cause === undefined ? {} : { cause }),
    });
  };
  let paths: readonly string[];
  try {
    paths = ownedFiles(input);
  } catch (error) {
    throw refused(error instanceof Error ? error.message : String(error), error);
  }
  const faults = ownedPathFaults(paths);
  if (faults.length > 0) throw refused(faults.join('; '));
  return paths;
}

/** Names of the activities that a workflow's machine may start, without its child runs. */
export function sourcesOf({ machine }: WorkflowDefinition): readonly string[] {
  const children = childrenOf({ machine });
  return Object.keys(machine.implementations.actors).filter((src) => !children.has(src));
}

/** Checks whether a value was made by `defineWorkflow`, which has already refused machines that cannot be durable. */
export function isWorkflow(value: unknown): value is WorkflowDefinition {
  return typeof value === 'object' && value !== null && defined.has(value);
}

/** Converts a schema to JSON schema, for clients that send such values. */
export function jsonSchemaOf(schema: z.ZodType): JsonObject {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonObject;
}

/**
 * Hashes the machine's configuration, guards, actions, delays, inputs of activities, and the schemas of signals and input.
 * Code that its functions call is not included, and a build step may change the text of functions. Released versions are
 * therefore pinned by the hash of their source files (`golden/pins.json`).
 */
function fingerprint({ machine, signals, input }: Omit<WorkflowDefinition, 'fingerprint'>): string {
  const source = JSON.stringify(
    [
      machine.config,
      machine.implementations.guards,
      machine.implementations.actions,
      machine.implementations.delays,
      Object.fromEntries(
        Object.keys(signals)
          .sort()
          .map((type) => [type, schemaOf(signals[type])]),
      ),
      schemaOf(input),
    ],
    (_key, value: unknown) => (typeof value === 'function' ? value.toString() : value),
  );
  return createHash('sha256').update(source).digest('hex').slice(0, 32);
}

function schemaOf(schema: z.ZodType | undefined): unknown {
  return schema === undefined ? null : jsonSchemaOf(schema);
}
