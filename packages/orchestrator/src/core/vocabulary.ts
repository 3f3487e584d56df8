/**
 * Event types that have a meaning for the engine and the read model, and who may write them. Everything that reads the
 * log trusts an event with such a name.
 */
import type { Decision, JsonObject } from '@autonomous/shared';

/** Facts that the engine itself writes: a machine that emitted one would make the view say what is not so. */
const ENGINE_FACTS: ReadonlySet<string> = new Set([
  'RUN_QUEUED',
  'RUN_STARTED',
  'RUN_ADMITTED',
  'RUN_FORKED',
  'RUN_MIGRATED',
  'RUN_PAUSED',
  'RUN_RESUMED',
  'RUN_COMPLETED',
  'RUN_FAILED',
  'STAGE_STARTED',
  'STAGE_COMPLETED',
  'STATE_CHANGED',
  'APPROVAL_REQUESTED',
  'CLARIFICATION_REQUESTED',
  'ACTIVITY_COMPLETED',
  'ACTIVITY_FAILED',
  'TIMER_FIRED',
  'CALL_BOOKED',
  'CALL_SETTLED',
  'REVIEW_COMMENT_ADDED',
  'REVIEW_COMMENT_EDITED',
  'REVIEW_COMMENT_DELETED',
]);

/** Inputs that the engine itself gives a run, whatever signals its workflow declares. */
const ENGINE_INPUTS: ReadonlySet<string> = new Set([
  'RUN_QUEUED',
  'RUN_STARTED',
  'RUN_ADMITTED',
  'RUN_FORKED',
  'RUN_MIGRATED',
  'RUN_PAUSED',
  'RUN_CANCELLED',
  'RETRY_REQUESTED',
  'NOTICE',
  'ACTIVITY_COMPLETED',
  'ACTIVITY_FAILED',
  'TIMER_FIRED',
]);

/** Inputs that are not passed to the machine. */
const VIEW_ONLY: ReadonlySet<string> = new Set([
  'CALL_BOOKED',
  'CALL_SETTLED',
  'REVIEW_COMMENT_ADDED',
  'REVIEW_COMMENT_EDITED',
  'REVIEW_COMMENT_DELETED',
]);

/** The signals as which a gate's decisions reach the machine; one of them suffices. */
export const DECISION_SIGNALS: Readonly<Record<Decision, readonly string[]>> = {
  approve: ['APPROVAL_GRANTED'],
  reject: ['APPROVAL_REJECTED'],
  answer: ['CLARIFICATION_ANSWERED'],
  ignore: ['CLARIFICATION_IGNORED'],
  ask: ['QUESTION_ASKED'],
  retry: ['RETRY_REQUESTED', 'FIX_DECIDED'],
  accept: ['FIX_DECIDED', 'RETRY_REQUESTED'],
  extend: ['STAGE_EXTENDED', 'BUDGET_CHANGED'],
  close: ['FIX_DECIDED'],
};

const DECISIONS: ReadonlySet<string> = new Set(Object.values(DECISION_SIGNALS).flat());
/** Events that only people may send. A machine must not emit them. */
const PEOPLES: ReadonlySet<string> = new Set([...DECISIONS, 'MESSAGE_SENT', 'RUN_CANCELLED']);

type Kind = 'text' | 'number' | 'list' | 'object' | 'boolean';

/** Fields that the read model requires in emitted facts: path within the fact → kind. */
const FACTS: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  RUN_CONFIGURED: {
    baseCommit: 'text',
    'config.maxConcurrency': 'number',
    'config.timeoutMinutes': 'object',
    notices: 'list',
  },
  ARTIFACT_CREATED: { 'artifact.type': 'text', 'artifact.hash': 'text' },
  QUESTION_REPLIED: {},
  IMPLEMENTATION_SUCCEEDED: { commit: 'text', codeTree: 'text' },
  IMPLEMENTATION_FAILED: {},
  EVIDENCE_RECORDED: { mode: 'text', passed: 'boolean', commands: 'list' },
  BASELINE_RECORDED: { passed: 'boolean', command: 'object' },
  VALIDATION_PASSED: {},
  VALIDATION_FAILED: {},
  PROGRESS_CHANGED: { done: 'number', total: 'number' },
  DECISION_RECORDED: { topic: 'text', choice: 'text' },
  COST_RECORDED: { inputTokens: 'number', outputTokens: 'number', calls: 'number' },
  NOTICE: { message: 'text' },
  BASE_INTEGRATED: { baseBranch: 'text', baseCommit: 'text', commit: 'text', codeTree: 'text' },
  OWNED_FILES_COMMITTED: { to: 'text', branch: 'text', commit: 'text', paths: 'list' },
  CHANGES_PUBLISHED: { branch: 'text', commit: 'text' },
  RUN_MERGED: { baseBranch: 'text', commit: 'text' },
};

/** Does an event of this type belong to its workflow alone, a fact or a signal? No reader of the log knows what it says. */
export function isOwnEvent(type: string): boolean {
  return !ENGINE_FACTS.has(type) && !PEOPLES.has(type) && !Object.hasOwn(FACTS, type);
}

/** Does an input of this type leave the machine where it is, whatever it says? */
export function changesViewOnly(type: string): boolean {
  return VIEW_ONLY.has(type);
}

/**
 * Can an event of this type be an input of a run? The view folds an event whatever its origin, and the machine ignores what it does not know:
 * a fact among the inputs would change the one alone.
 * @param signals of the run's workflow, by type
 */
export function isInput(type: string, signals: Readonly<Record<string, unknown>>): boolean {
  return ENGINE_INPUTS.has(type) || VIEW_ONLY.has(type) || Object.hasOwn(signals, type);
}

/** Does an input of this type decide the gate that is open? */
export function isDecision(type: string): boolean {
  return DECISIONS.has(type);
}

/** Why a workflow may not declare a signal of this name, to be read after it; `null` when it may. */
export function signalFault(type: string): string | null {
  if (type.startsWith('xstate.')) return 'is reserved for XState; give it a name of its own';
  if (type.includes('*')) return 'is a wildcard; declare each signal by its name';
  if (ENGINE_FACTS.has(type)) return 'is an event that the engine writes; give it another name';
  return Object.hasOwn(FACTS, type) ? 'is a fact of the read model, which machines emit; give it another name' : null;
}

/** Why a machine may not emit this, to be read after its type; `null` when it may. */
export function emissionFault(type: string, payload: JsonObject): string | null {
  if (ENGINE_FACTS.has(type)) return 'was emitted, which only the engine writes';
  if (PEOPLES.has(type) && !(type === 'FIX_DECIDED' && payload['by'] === 'policy'))
    return 'was emitted, but only people may send it; emit a fact with a name of its own';
  const fields = Object.hasOwn(FACTS, type) ? FACTS[type] : undefined;
  for (const path in fields) {
    const kind = fields[path];
    if (kind !== undefined && !isOfKind(valueAt(payload, path), kind))
      return `was emitted, whose '${path}' has to be a ${kind}; give it, or emit a fact with a name of its own`;
  }
  return null;
}

function valueAt(payload: JsonObject, path: string): unknown {
  let value: unknown = payload;
  for (const key of path.split('.')) value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[key];
  return value;
}

function isOfKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'text':
      return typeof value === 'string';
    case 'list':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null;
    default:
      // A number that is none is `null` as JSON.
      return typeof value === kind;
  }
}
