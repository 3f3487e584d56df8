/** Decides whether a run takes a signal or an input: by the workflow's schemas, then by where the run is. */
import { Conflict, InvalidRequest, type JsonObject, type RunStart, type ShownGate } from '@autonomous/shared';
import { z } from 'zod';
import { canTake, isFinal } from '../../core/advance.ts';
import type { WorkflowDefinition } from '../../core/definition.ts';
import { findNonJson } from '../../core/plain-json.ts';
import { jsonCopy } from '../json-copy.ts';
import type { LiveRun } from '../live/live-run.ts';
import { otherGate, unseen } from './shown-gate.ts';

/** Payload of a retry of a quarantined run whose workflow declares no retry. */
const RETRY_OF_QUARANTINED = z.looseObject({ by: z.string() });

/**
 * Parses the payload of a signal by the workflow's schema.
 * @throws {InvalidRequest} naming the signals that the workflow accepts, or the faults of the payload
 */
export function parseSignal(
  { definition, state }: Pick<LiveRun, 'definition' | 'state'>,
  type: string,
  payload: JsonObject,
): JsonObject {
  const { name, signals } = definition;
  // The engine itself retries a run that it has quarantined, also when the run's workflow declares no retry.
  const own = state.parked !== null && type === 'RETRY_REQUESTED' ? RETRY_OF_QUARANTINED : undefined;
  const schema = (Object.hasOwn(signals, type) ? signals[type] : undefined) ?? own;
  if (!schema || type.startsWith('xstate.')) {
    const known = Object.keys(signals).join(', ');
    throw new InvalidRequest(`Workflow '${name}' does not accept the signal '${type}'. It accepts ${known || 'none'}.`);
  }
  const parsed = schema.safeParse(payload);
  if (parsed.success) return jsonCopy(parsed.data) as JsonObject;
  throw invalid(`The payload of ${type}`, parsed.error.issues);
}

/** Parses the input of a run by the workflow's schema; empty when it has none. @throws {InvalidRequest} */
export function parseRunInput(
  definition: WorkflowDefinition,
  start: Pick<RunStart, 'input'>,
): { readonly input?: JsonObject } {
  if (!definition.input) return {};
  const what = `The input of workflow '${definition.name}'`;
  const parsed = definition.input.safeParse(start.input ?? {});
  if (!parsed.success) throw invalid(what, parsed.error.issues);
  const unfit = findNonJson(parsed.data);
  if (unfit) throw new InvalidRequest(`${what} is not JSON: input${unfit.path} ${unfit.what}.`);
  return { input: parsed.data as JsonObject }; // Found to be JSON just before.
}

export interface JudgedSignal {
  /** The payload as the workflow's schema gives it. */
  readonly payload: JsonObject;
  /** Why the run cannot take it now; `null` when it can. */
  readonly refusal: Error | null;
}

/**
 * Looks at a signal once for each state of its run: a run that has not stepped since has the same answer.
 * @throws {InvalidRequest} as {@link parseSignal} does
 */
export function signalJudge(type: string, payload: JsonObject, shown: ShownGate | undefined) {
  let last: (JudgedSignal & Pick<LiveRun, 'state'>) | null = null;
  return (run: LiveRun): JudgedSignal => {
    if (last?.state === run.state) return last;
    const parsed = parseSignal(run, type, payload);
    last = { state: run.state, payload: parsed, refusal: refusalOf(run, type, parsed, shown) };
    return last;
  };
}

/** Why a run cannot take a signal now; `null` when it can. */
export function refusalOf(
  { state, view }: Pick<LiveRun, 'state' | 'view'>,
  type: string,
  payload: JsonObject,
  shown: ShownGate | undefined,
): Error | null {
  if (isFinal(view.status)) return new Conflict(`Run ${view.id} has already ended: it is ${view.status}.`);
  const other = otherGate(view, shown?.gateId);
  if (other) return other;
  if (state.parked !== null) {
    if (type === 'RETRY_REQUESTED' || type === 'RUN_CANCELLED') return null;
    const what = view.gate?.reason === 'held' ? 'paused' : 'quarantined';
    return new Conflict(
      `Run ${view.id} is ${what} (${state.parked}) and does not accept ${type}. Retry or cancel it first.`,
    );
  }
  const blind = unseen(view, type, payload, shown);
  if (blind) return blind;
  if (canTake(state, type, payload)) return null;
  const where = view.gate
    ? `its gate '${view.gate.kind}' takes ${view.gate.decisions.join(', ')}`
    : `it is ${view.status}${view.currentStage ? ` in stage ${view.currentStage}` : ''} and no gate is open`;
  return new Conflict(`Run ${view.id} cannot take ${type} now: ${where}.`);
}

function invalid(
  what: string,
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): InvalidRequest {
  const faults = issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  const list = faults.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  return new InvalidRequest(`${what} is not valid: ${list}`, { faults });
}
