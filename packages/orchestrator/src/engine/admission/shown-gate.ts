/**
 * Checks that a person's decision is about the gate that is open and about what that gate shows. It stands in the engine, so
 * that it holds for every workflow and every version of one.
 */
import {
  Conflict,
  type Gate,
  type GateOutcome,
  hashesOf,
  InvalidRequest,
  type JsonObject,
  missingOf,
  movedOf,
  type RunView,
  type ShownFields,
  Stale,
} from '@autonomous/shared';

/** Why a run does not take a signal that was given for another gate than the open one; `null` where it does. */
export function otherGate(view: RunView, gateId: string | undefined): Conflict | null {
  if (gateId === undefined || view.gate?.id === gateId) return null;
  const winner = view.gates.findLast((outcome) => outcome.gateId === gateId);
  const where = `run ${view.id} is ${view.status}${view.currentStage ? ` in stage ${view.currentStage}` : ''}`;
  const open =
    view.gate === null ? '' : ` Gate ${view.gate.id} ('${view.gate.kind}') is open now: look at that one first.`;
  return winner
    ? new Conflict(`Gate ${gateId} is already decided: ${describeOutcome(winner)}.${open}`, {
        extra: { winner: winner as unknown as JsonObject },
      })
    : new Conflict(`Run ${view.id} has no open gate '${gateId}': it was changed or never opened, ${where}.${open}`);
}

/**
 * Why a decision is not taken that names other hashes than the open gate shows, or that vouches for what the gate shows without
 * naming all of it; `null` where it is taken.
 * @param payload of the signal; one that vouches may name the hashes itself
 * @param shown what the sender saw; its hashes count where the payload has none
 */
export function unseen(
  view: RunView,
  type: string,
  payload: JsonObject,
  shown: ShownFields | undefined,
): InvalidRequest | Stale | null {
  const { gate } = view;
  if (gate === null) return null;
  const isVouched = isVouching(type, payload);
  const given = {
    gateId: gate.id,
    artifactHash: (isVouched ? hashOf(payload, 'artifactHash', 'accepts') : undefined) ?? shown?.artifactHash,
    codeTree: (isVouched ? hashOf(payload, 'codeTree') : undefined) ?? shown?.codeTree,
    concernsHash: shown?.concernsHash,
  };
  const hashes = hashesOf(gate);
  // A payload's hash that the gate does not have is of something else.
  const moved = movedOf(gate, given).filter((name) => hashes[name] !== undefined || shown?.[name] !== undefined);
  if (moved.length > 0) return changed(gate, moved);
  const missing = isVouched ? missingOf(gate, given) : [];
  return missing.length === 0 ? null : incomplete(view.id, gate.id, missing);
}

/** A decision of something else than the gate shows now. */
export function changed(gate: Gate, moved: readonly string[]): Stale {
  const { artifactHash = null, codeTree = null, concernsHash = null } = hashesOf(gate);
  return new Stale(`The ${moved.join(' and ')} of gate ${gate.id} changed since it was shown: look at it again.`, {
    extra: { artifactHash, codeTree, concernsHash },
  });
}

/** A decision that does not say what was shown to the person who made it. */
export function incomplete(runId: string, gateId: string, missing: readonly string[]): InvalidRequest {
  const names = missing.length > 1 ? `${missing.slice(0, -1).join(', ')} and ${missing.at(-1)}` : missing[0];
  const message = `The decision of gate ${gateId} does not name what was shown: ${names} ${missing.length > 1 ? 'are' : 'is'} missing. Send what the gate shows, as GET /api/gates?runId=${runId} and the command 'show ${runId}' print it.`;
  return new InvalidRequest(message, {
    faults: missing.map((path) => ({ path, message: 'is missing: send what was shown' })),
  });
}

function describeOutcome({ decision, by, at }: GateOutcome): string {
  return `'${decision}' by ${by} at ${at}`;
}

function isVouching(type: string, payload: JsonObject): boolean {
  switch (type) {
    case 'APPROVAL_GRANTED':
      return true;
    case 'FIX_DECIDED':
      return payload['decision'] === 'accept';
    case 'RETRY_REQUESTED':
      return payload['accepts'] !== undefined;
    default:
      return false;
  }
}

function hashOf(payload: JsonObject, ...names: readonly string[]): string | undefined {
  return names.map((name) => payload[name]).find((value) => typeof value === 'string');
}
