/**
 * What makes an ordinary XState machine a workflow: its name and version, the signals it takes, and `meta` that says
 * what a person sees. What cannot be made durable is refused here, by name.
 */
import { createHash } from 'node:crypto';
import {
  InvalidRequest,
  type Decision,
  type GateOpening,
  type JsonObject,
  type JsonValue,
  type RunStatus,
  type Stage,
} from '@autonomous/shared';
import { type AnyStateMachine, fromPromise } from 'xstate';
import { z } from 'zod';
import { childWorkflowOf, childrenOf } from './child-runs.ts';
import { durabilityFaults } from './durability.ts';

/** What a person sees while a state is active. Deeper states override what their parents say. */
export interface StateMeta<Context = never> {
  readonly status: RunStatus;
  readonly stage?: Stage | null | ((context: Context) => Stage | null);
  readonly gate?: GateMeta<Context>;
  /** For a final state `failed`: why. For `completed`: what came of it. */
  readonly message?: (context: Context) => string;
}

/** A gate that is open while the state is active. */
export interface GateMeta<Context = never> {
  readonly kind: string;
  readonly decisions: readonly Decision[] | ((context: Context) => readonly Decision[]);
  readonly summary: (context: Context) => string;
  /** What the gate shows and what an approval binds to; merged into the event that opens it. */
  readonly facts?: (
    context: Context,
  ) => Partial<Pick<GateOpening, 'artifactHash' | 'codeTree' | 'details'>> & JsonObject;
}

/** The event by which the outcome of an activity reaches a machine that handles `xstate.done.actor.*` itself. */
export type ActivityEvent<Output = unknown> =
  | { readonly type: `xstate.done.actor.${string}`; readonly output: Output; readonly actorId: string }
  | { readonly type: `xstate.error.actor.${string}`; readonly error: unknown; readonly actorId: string };

export interface WorkflowDefinition {
  readonly name: string;
  /** Raised when the machine changes so that old histories would not replay identically. */
  readonly version: number;
  readonly description: string;
  readonly machine: AnyStateMachine;
  /** Signals that people and programs may send, with their payloads. All others are refused before the machine sees them. */
  readonly signals: Readonly<Record<string, z.ZodType<object>>>;
  /** What a run's `input` has to be, which the machine gets as `input.input`; absent where the workflow takes none. */
  readonly input?: z.ZodType<object>;
  /**
   * Activities of one run that are performed at the same time, from 1; further ones wait for one of them. A run that is
   * started with a limit of its own keeps that. Default: the engine's, which is 4.
   */
  readonly maxConcurrency?: number;
  /** Its runs work on a project's repository: they need one, a request, and get a branch. */
  readonly needsProject?: boolean;
  /** The commit at which the run's branch is in a state, where its context knows: a fork's branch begins there. */
  readonly workspace?: (context: never) => string | null;
  /**
   * How a run of an older version becomes one of this version where its history does not replay identically: by the older
   * version, a pure function of its state. It has to give a state in which the machine rests and is not final.
   */
  readonly migrations?: Readonly<Record<number, (state: StoredState) => StoredState>>;
  /** Hash of the machine's source: tells whether a version is still the one that runs were started with. */
  readonly fingerprint: string;
}

/** Where a machine is, as JSON. */
export interface StoredState {
  /** As XState writes state values. */
  readonly value: JsonValue;
  readonly context: JsonObject;
  /** Ids of the states that a history state remembers, by the history state's own id. */
  readonly history: Readonly<Record<string, readonly string[]>>;
}

const declared = new WeakSet<object>();
const defined = new WeakSet<object>();

/** Declares an activity by its types alone. The engine carries it out; starting it as an XState actor is a bug, and says so. */
export function activity<Input, Output>() {
  const logic = fromPromise<Output, Input>(() => Promise.reject(new Error('activities are carried out by the engine')));
  declared.add(logic);
  return logic;
}

/**
 * A workflow from a machine.
 * @throws {InvalidRequest} naming every part of the machine that cannot be made durable
 */
export function defineWorkflow(definition: Omit<WorkflowDefinition, 'fingerprint'>): WorkflowDefinition {
  const faults = durabilityFaults(
    definition,
    (logic) =>
      typeof logic === 'object' && logic !== null && (declared.has(logic) || childWorkflowOf(logic) !== undefined),
  );
  if (faults.length > 0) {
    throw new InvalidRequest(`Workflow '${definition.name}' cannot be made durable: ${faults.join('; ')}.`);
  }
  const workflow: WorkflowDefinition = { ...definition, fingerprint: fingerprint(definition) };
  defined.add(workflow);
  return workflow;
}

/** Names of the activities that a workflow's machine may start, without its child runs. */
export function sourcesOf({ machine }: WorkflowDefinition): readonly string[] {
  const children = childrenOf({ machine });
  return Object.keys(machine.implementations.actors).filter((src) => !children.has(src));
}

/** Was this made by `defineWorkflow`, so that what cannot be made durable is refused already? */
export function isWorkflow(value: unknown): value is WorkflowDefinition {
  return typeof value === 'object' && value !== null && defined.has(value);
}

/** A schema as JSON schema, for those who have to send such a value. */
export function jsonSchemaOf(schema: z.ZodType): JsonObject {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonObject;
}

/**
 * Covers what the machine's own file says: configuration, guards, actions, delays, inputs of activities, and the schemas
 * of signals and input. What its functions call elsewhere is not seen here, and a build step may write functions in other
 * words: what a released version must keep to is the hash of its sources, which `golden/versions.json` pins.
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
