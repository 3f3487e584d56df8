/** Turns the decision of a person at a gate into the signal that the workflow takes. */
import {
  type FilesTaken,
  type Gate,
  type GateDecision,
  InvalidRequest,
  type JsonObject,
  type Question,
} from '@autonomous/shared';
import { describeTakenFiles } from './taken-files.ts';
import type { Uploads } from './uploads.ts';

/**
 * The signal that a decision is, with what the gate itself knows. At a gate of a failed result, where a person may accept it
 * or have it fixed, `retry` is a FIX_DECIDED.
 * @param signals that the run's workflow declares
 */
export async function signalOf(
  decision: GateDecision,
  gate: Gate,
  uploads: Uploads,
  take: FilesTaken | undefined,
  signals: Readonly<Record<string, unknown>>,
): Promise<{ readonly type: string; readonly payload: JsonObject }> {
  switch (decision.decision) {
    case 'approve': {
      const { artifactHash, codeTree, notes, editedPlan } = decision;
      return {
        type: 'APPROVAL_GRANTED',
        payload: present({ gateId: gate.id, artifactHash, codeTree, notes, editedPlan }),
      };
    }
    case 'reject':
      return {
        type: 'APPROVAL_REJECTED',
        payload: present({
          gateId: gate.id,
          feedback:
            take === undefined ? needed(decision.feedback, 'feedback', 'reject') : textOr(decision.feedback, take),
          take: asJson(take),
        }),
      };
    case 'answer':
      return {
        type: 'CLARIFICATION_ANSWERED',
        payload: { gateId: gate.id, ...(await answerOf(decision.response, gate.question, uploads)) },
      };
    case 'ignore':
      return { type: 'CLARIFICATION_IGNORED', payload: { gateId: gate.id } };
    case 'ask':
      return {
        type: 'QUESTION_ASKED',
        payload: { gateId: gate.id, question: needed(decision.question, 'question', 'ask') },
      };
    case 'retry':
      return gate.kind !== 'pause' && Object.hasOwn(signals, 'FIX_DECIDED') && gate.decisions.includes('accept')
        ? {
            type: 'FIX_DECIDED',
            payload: present({
              gateId: gate.id,
              decision: 'retry',
              reason: take === undefined ? decision.notes : textOr(decision.notes, take),
              take: asJson(take),
              attempt: Number(gate.details['attempts'] ?? 0) + 1,
            }),
          }
        : { type: 'RETRY_REQUESTED', payload: present({ gateId: gate.id, notes: decision.notes }) };
    case 'accept': {
      const reason = needed(decision.reason, 'reason', 'accept');
      if (gate.kind === 'pause') return acceptanceOf(gate, decision, reason);
      const accepted = gate.details['accepts'];
      return {
        type: 'FIX_DECIDED',
        payload: present({
          gateId: gate.id,
          decision: 'accept',
          reason,
          accepted: Array.isArray(accepted) ? accepted : [],
        }),
      };
    }
    case 'close':
      return {
        type: 'FIX_DECIDED',
        payload: { gateId: gate.id, decision: 'close', reason: needed(decision.reason, 'reason', 'close') },
      };
    case 'extend':
      return { type: 'STAGE_EXTENDED', payload: { minutes: minutesOf(decision) } };
    default:
      return decision.decision satisfies never;
  }
}

/** At a pause nothing but concerns can be accepted, and exactly those that were shown. @throws {InvalidRequest} */
function acceptanceOf(gate: Gate, { artifactHash }: GateDecision, reason: string) {
  const accepts = needed(artifactHash, 'artifactHash', 'accept');
  return { type: 'RETRY_REQUESTED', payload: present({ gateId: gate.id, notes: reason, accepts }) };
}

/** The person's own words, or else a description of the files that they took. */
function textOr(words: string | undefined, take: FilesTaken): string {
  return words !== undefined && words.trim() !== '' ? words : describeTakenFiles(take);
}

/** It is JSON by its type; interfaces are no index types. */
function asJson(take: FilesTaken | undefined): JsonObject | undefined {
  return take as JsonObject | undefined;
}

/** An answer as its question wants it: text, one option, several, or files. */
async function answerOf(
  response: GateDecision['response'],
  question: Question | undefined,
  uploads: Uploads,
): Promise<JsonObject> {
  const given = response === undefined ? [] : typeof response === 'string' ? [response] : response;
  const values = given.map((value) => value.trim()).filter((value) => value !== '');
  const refuse = (message: string): never => {
    throw new InvalidRequest(message, { faults: [{ path: 'response', message }] });
  };
  if (values.length === 0) refuse('The answer is empty.');
  const options = question?.options ?? [];
  const unknown = values.filter((value) => !options.includes(value));
  switch (question?.responseType ?? 'text') {
    case 'single_choice':
      if (values.length !== 1) refuse('The question takes exactly one of its options.');
      if (unknown.length > 0)
        refuse(
          `'${unknown[0]}' is not an option; the options are ${options.map((option) => `'${option}'`).join(', ')}.`,
        );
      return { response: values[0], choices: values };
    case 'multiple_choice':
      if (unknown.length > 0)
        refuse(
          `'${unknown.join("', '")}' is not an option; the options are ${options.map((option) => `'${option}'`).join(', ')}.`,
        );
      return { response: values.join(', '), choices: values };
    case 'file_upload': {
      const files: { id: string; name: string }[] = [];
      for (const id of values) {
        const upload = await uploads.get(id);
        if (upload) files.push({ id: upload.id, name: upload.name });
        else refuse(`There is no upload '${id}'. Send the file to POST /api/uploads first and answer with its id.`);
      }
      return { response: files.map((file) => file.name).join(', '), uploads: files };
    }
    case 'text':
      return { response: values.join('\n') };
    default:
      return {};
  }
}

/** @throws {InvalidRequest} when the field is absent or empty */
export function needed(value: string | undefined, field: string, decision: string): string {
  if (value !== undefined && value.trim() !== '') return value;
  const message = `'${decision}' needs '${field}'.`;
  throw new InvalidRequest(message, { faults: [{ path: field, message }] });
}

/** @throws {InvalidRequest} when the decision names no minutes */
export function minutesOf(decision: GateDecision): number {
  if (decision.minutes !== undefined) return decision.minutes;
  const message = "'extend' needs 'minutes'.";
  throw new InvalidRequest(message, { faults: [{ path: 'minutes', message }] });
}

/** The fields that are not `undefined`. */
export function present(fields: Record<string, JsonObject[string]>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
