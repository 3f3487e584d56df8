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
  type RunStatus,
  type Stage,
} from '@autonomous/shared';
import { type AnyStateMachine, type AnyStateNode, fromPromise } from 'xstate';
import type { z } from 'zod';

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
  /** Hash of the machine's source: tells whether a version is still the one that runs were started with. */
  readonly fingerprint: string;
}

const declared = new WeakSet<object>();

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
  const faults = [...signalFaults(definition), ...machineFaults(definition.machine)];
  if (faults.length > 0) {
    throw new InvalidRequest(`Workflow '${definition.name}' cannot be made durable: ${faults.join('; ')}.`);
  }
  return { ...definition, fingerprint: fingerprint(definition) };
}

function signalFaults({ signals }: Pick<WorkflowDefinition, 'signals'>): string[] {
  return Object.keys(signals)
    .filter((type) => type.startsWith('xstate.') || type.includes('*'))
    .map((type) => `signal '${type}' is reserved for the engine`);
}

function machineFaults(machine: AnyStateMachine): string[] {
  const faults: string[] = [];
  const ids = new Map<string, string>();
  for (const node of nodesOf(machine.root)) {
    for (const invoke of node.invoke) {
      const where = `state '${node.id}'`;
      if (typeof invoke.src !== 'string') {
        faults.push(`${where} invokes an inline actor; give it a name in setup({ actors })`);
        continue;
      }
      if (/^\d+\./.test(invoke.id)) faults.push(`${where} invokes '${invoke.src}' without an explicit id`);
      const other = ids.get(invoke.id);
      if (other) faults.push(`activity id '${invoke.id}' is used by both '${other}' and '${node.id}'`);
      ids.set(invoke.id, node.id);
    }
  }
  for (const [src, logic] of Object.entries(machine.implementations.actors)) {
    if (typeof logic !== 'object' || logic === null || !declared.has(logic)) {
      faults.push(`actor '${src}' is not an activity; declare it with activity<Input, Output>()`);
    }
  }
  return faults;
}

function* nodesOf(node: AnyStateNode): Generator<AnyStateNode> {
  yield node;
  for (const child of Object.values(node.states)) yield* nodesOf(child);
}

function fingerprint({ machine, signals }: Pick<WorkflowDefinition, 'machine' | 'signals'>): string {
  const source = JSON.stringify(
    [
      machine.config,
      machine.implementations.guards,
      machine.implementations.actions,
      machine.implementations.delays,
      Object.keys(signals).sort(),
    ],
    (_key, value: unknown) => (typeof value === 'function' ? value.toString() : value),
  );
  return createHash('sha256').update(source).digest('hex').slice(0, 32);
}
