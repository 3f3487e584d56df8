/**
 * Derives a run's status, stage and gate from the machine's active states, and the standard facts that follow when they
 * change.
 */
import {
  FINAL_STATUSES,
  type GateOpening,
  type JsonObject,
  type JsonValue,
  type RunStatus,
  type Stage,
} from '@autonomous/shared';
import type { AnyMachineSnapshot, AnyStateNode } from 'xstate';
import type { StateMeta } from './definition.ts';
import { activeNodes, plain } from './persisted-state.ts';
import { isDecision } from './vocabulary.ts';

/** The engine's own reading of a snapshot: everything the standard facts are derived from. */
export interface StateView {
  readonly status: RunStatus;
  readonly stage: Stage | null;
  readonly state: JsonValue;
  readonly gate: (GateOpening & JsonObject) | null;
  readonly message: string | null;
  /** Parts of the work that came to nothing. Absent: none. */
  readonly failures?: readonly string[];
}

export interface Fact {
  readonly type: string;
  readonly payload: JsonObject;
}

export function viewOf(snapshot: AnyMachineSnapshot): StateView {
  const meta = mergedMeta(snapshot);
  const context: never = snapshot.context as never;
  const stage = typeof meta.stage === 'function' ? meta.stage(context) : (meta.stage ?? null);
  // Nobody decides anything of a run that has ended.
  const hasGate = meta.gate !== undefined && !FINAL_STATUSES.has(meta.status);
  const failures = meta.failures?.(context) ?? [];
  const gate =
    hasGate && meta.gate
      ? {
          gate: meta.gate.kind,
          stage,
          decisions: typeof meta.gate.decisions === 'function' ? meta.gate.decisions(context) : meta.gate.decisions,
          summary: meta.gate.summary(context),
          details: {},
          ...meta.gate.facts?.(context),
        }
      : null;
  if (gate) assertGate(gate, snapshot.value);
  if (gate && meta.status === 'awaiting_clarification') assertQuestion(gate, snapshot.value);
  return {
    status: meta.status,
    stage,
    state: snapshot.value as JsonValue,
    // Also inside its details: what is compared with the stored event has to be what was stored.
    gate: gate && plain(gate),
    message: meta.message?.(context) ?? null,
    ...(failures.length === 0 ? {} : { failures }),
  };
}

/**
 * False for a run that waits for a person, its child runs, a signal or a timer: such a run works again by an input alone.
 * @param activities how many are open
 */
export function needsRunSlot(view: Pick<StateView, 'status'> | null, activities: number): boolean {
  return view?.status === 'running' && activities > 0;
}

/**
 * The standard facts of one step, so that no definition can forget them: stages begun and completed, the new state,
 * gates opened, pauses and resumptions, the end.
 */
export function factsBetween(before: StateView | null, after: StateView): Fact[] {
  const facts: Fact[] = [];
  if (before?.status === 'paused' && !['paused', 'failed', 'cancelled'].includes(after.status)) {
    facts.push({ type: 'RUN_RESUMED', payload: { stage: after.stage } });
  }
  const wasIn = before?.stage ?? null;
  if (wasIn !== after.stage) {
    if (wasIn !== null && after.status !== 'cancelled' && after.status !== 'failed') {
      facts.push({ type: 'STAGE_COMPLETED', payload: { stage: wasIn } });
    }
    if (after.stage !== null) facts.push({ type: 'STAGE_STARTED', payload: { stage: after.stage } });
  }
  if (before === null || !sameState(before, after)) {
    facts.push(...restOf(after));
    if (after.status === 'completed') {
      const { message, failures } = after;
      const payload = { ...(message === null ? {} : { summary: message }), ...(failures ? { failures } : {}) };
      facts.push({ type: 'RUN_COMPLETED', payload });
    }
    if (after.status === 'failed') facts.push({ type: 'RUN_FAILED', payload: { message: after.message ?? 'failed' } });
  }
  return facts;
}

/**
 * Returns the facts to repeat when a step leaves the machine's state unchanged: the gate, when the input decided it or its
 * content changed; the whole state, when the run was to be cancelled and continues, or left the queue.
 */
export function restatedFacts(before: StateView | null, after: StateView, input: string, leftQueue: boolean): Fact[] {
  if (before === null || FINAL_STATUSES.has(after.status) || !sameState(before, after)) return [];
  if (leftQueue || input === 'RUN_CANCELLED') return restOf(after);
  if (!after.gate) return [];
  const isAsBefore = !isDecision(input) && JSON.stringify(before.gate) === JSON.stringify(after.gate);
  return isAsBefore ? [] : [openingOf(after.status, after.gate)];
}

/** Where the machine rests, and the gate that is open there. */
function restOf({ status, stage, state, gate }: StateView): Fact[] {
  const rest = { type: 'STATE_CHANGED', payload: { status, stage, state, gate: gate?.gate ?? null } };
  return gate ? [rest, openingOf(status, gate)] : [rest];
}

function openingOf(status: RunStatus, gate: JsonObject): Fact {
  return { type: gateEvent(status), payload: gate };
}

function mergedMeta(snapshot: AnyMachineSnapshot): StateMeta {
  const nodes = activeNodes(snapshot).filter(({ meta }) => meta !== undefined);
  const sorted = nodes.toSorted((a, b) => depthOf(a) - depthOf(b) || (a.id < b.id ? -1 : 1));
  return Object.assign({ status: 'running' }, ...sorted.map(({ meta }) => meta as StateMeta)) as StateMeta;
}

/** Checks the fields on which all clients of a gate rely. @throws {Error} when one is missing */
function assertGate({ gate, decisions, summary }: Readonly<Record<string, unknown>>, state: unknown): void {
  if (typeof gate === 'string' && Array.isArray(decisions) && typeof summary === 'string') return;
  throw new Error(
    `the gate of state ${JSON.stringify(state)} has to give a text as its kind, a list of decisions and a text as its summary`,
  );
}

/** Checks the question of a gate, without which clients cannot show or answer it. */
function assertQuestion(gate: JsonObject, state: unknown): void {
  const { question, attemptNumber } = gate as {
    readonly question?: { readonly question?: unknown };
    readonly attemptNumber?: unknown;
  };
  const text = question?.question;
  if (typeof text === 'string' && typeof attemptNumber === 'number') return;
  throw new Error(
    `state ${JSON.stringify(state)} awaits an answer; its gate's \`facts\` have to give { question: { question, context, responseType }, attemptNumber }`,
  );
}

function depthOf(node: AnyStateNode): number {
  return node.path.length;
}

function sameState(a: StateView, b: StateView): boolean {
  return a.status === b.status && a.stage === b.stage && JSON.stringify(a.state) === JSON.stringify(b.state);
}

function gateEvent(status: RunStatus): string {
  if (status === 'awaiting_clarification') return 'CLARIFICATION_REQUESTED';
  if (status === 'paused') return 'RUN_PAUSED';
  return 'APPROVAL_REQUESTED';
}
