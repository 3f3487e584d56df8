/** What a machine's active states say to a person, and the standard facts that follow when that changes. */
import type { GateOpening, JsonObject, JsonValue, RunStatus, Stage } from '@autonomous/shared';
import type { AnyMachineSnapshot } from 'xstate';
import type { StateMeta } from './definition.ts';
import { plain } from './persisted-state.ts';

/** The engine's own reading of a snapshot: everything the standard facts are derived from. */
export interface StateView {
  readonly status: RunStatus;
  readonly stage: Stage | null;
  readonly state: JsonValue;
  readonly gate: (GateOpening & JsonObject) | null;
  readonly message: string | null;
}

export interface Fact {
  readonly type: string;
  readonly payload: JsonObject;
}

export function viewOf(snapshot: AnyMachineSnapshot): StateView {
  const meta = mergedMeta(snapshot);
  const context: never = snapshot.context as never;
  const stage = typeof meta.stage === 'function' ? meta.stage(context) : (meta.stage ?? null);
  const gate = meta.gate
    ? {
        gate: meta.gate.kind,
        stage,
        decisions: typeof meta.gate.decisions === 'function' ? meta.gate.decisions(context) : meta.gate.decisions,
        summary: meta.gate.summary(context),
        details: {},
        ...meta.gate.facts?.(context),
      }
    : null;
  if (gate && meta.status === 'awaiting_clarification') assertQuestion(gate, snapshot.value);
  return {
    status: meta.status,
    stage,
    state: snapshot.value as JsonValue,
    // Also inside its details: what is compared with the stored event has to be what was stored.
    gate: gate && plain(gate),
    message: meta.message?.(context) ?? null,
  };
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
    facts.push({
      type: 'STATE_CHANGED',
      payload: { status: after.status, stage: after.stage, state: after.state, gate: after.gate?.gate ?? null },
    });
    if (after.gate) facts.push({ type: gateEvent(after.status), payload: after.gate });
    if (after.status === 'completed') {
      facts.push({ type: 'RUN_COMPLETED', payload: after.message === null ? {} : { summary: after.message } });
    }
    if (after.status === 'failed') facts.push({ type: 'RUN_FAILED', payload: { message: after.message ?? 'failed' } });
  }
  return facts;
}

function mergedMeta(snapshot: AnyMachineSnapshot): StateMeta {
  const metas = Object.entries(snapshot.getMeta() as Record<string, StateMeta | undefined>);
  metas.sort(([a], [b]) => depth(a) - depth(b) || (a < b ? -1 : 1));
  return Object.assign({ status: 'running' }, ...metas.map(([, meta]) => meta)) as StateMeta;
}

/** Without it nobody could answer, and nothing could be shown. */
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

function depth(stateId: string): number {
  return stateId.split('.').length;
}

function sameState(a: StateView, b: StateView): boolean {
  return a.status === b.status && a.stage === b.stage && JSON.stringify(a.state) === JSON.stringify(b.state);
}

function gateEvent(status: RunStatus): string {
  if (status === 'awaiting_clarification') return 'CLARIFICATION_REQUESTED';
  if (status === 'paused') return 'RUN_PAUSED';
  return 'APPROVAL_REQUESTED';
}
