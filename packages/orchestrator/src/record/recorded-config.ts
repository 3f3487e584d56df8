/**
 * Checks the configurations and the branch that a recorded run names. Whoever can push could have written them, so each value must be of the
 * type that a server writes: what a person is shown of it is what acts.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  type JsonObject,
  runConfigRequestSchema,
  runConfigSchema,
  SETTING_NAME,
  type WorkflowEvent,
} from '@autonomous/shared';
import { z } from 'zod';
import { isBranchOfRun } from '../documents/run-branch.ts';
import { isRecordBranch } from '../repository/repository.ts';
import { isBranchName, isOwnBranch } from '../path-rules/branch-names.ts';

const { git } = runConfigSchema.shape;
/** The mark that replaces a secret in a record. */
const SECRET_MARK = /\[secret(?:: [a-z -]{1,60})?\]/g;

const recordedConfigSchema = runConfigSchema.extend({
  // A person may have extended them beyond what a request may ask for.
  timeoutMinutes: z.record(z.string().regex(SETTING_NAME), z.number().positive()),
  // A pull request names them as they are.
  modelRouting: z.record(z.string().regex(SETTING_NAME), z.string().regex(/^\S{1,200}$/)),
  git: git
    // Without a project the base branch is empty.
    .extend({ baseBranch: z.string().refine((name) => name === '' || (isBranchName(name) && !isRecordBranch(name))) })
    // A child starts from the branch of its parent, and publishes nothing by itself.
    .refine(({ baseBranch, createPR, autoMerge }) => !isOwnBranch(baseBranch) || !(createPR || autoMerge), {
      path: ['baseBranch'],
    }),
});

/** Events whose payload has a configuration, and where in it. */
const CONFIGURING = new Set(['RUN_QUEUED', 'RUN_STARTED', 'RUN_CONFIGURED', 'RUN_FORKED']);

/** Names the fault of a configuration in the history of a run, to be read after the run's name; `null` when there is none. */
export function faultOfConfigs(events: readonly WorkflowEvent[]): string | null {
  for (const { type, sequence, payload } of events) {
    if (!CONFIGURING.has(type)) continue;
    const { config, requestedConfig, parent } = type === 'RUN_QUEUED' ? fieldsOf(payload['start']) : payload;
    const field =
      (config === undefined ? null : faultIn(config)) ??
      (requestedConfig === undefined ? null : faultOfRequest(requestedConfig, parent !== undefined));
    if (field !== null)
      return `line ${sequence} of its events.jsonl has a configuration that no server writes: ${field} is not valid`;
  }
  return null;
}

/**
 * Why a history begins twice, to be read after the run's name; `null` when it begins once. People are shown what its first event says, and
 * a run that was queued acts on what the later one says: a server writes the same there.
 */
export function faultOfBeginning(events: readonly WorkflowEvent[]): string | null {
  const [first, ...later] = events;
  let start = first?.type === 'RUN_QUEUED' ? first.payload['start'] : undefined;
  for (const { type, sequence, payload } of later) {
    if (type === 'RUN_QUEUED' && payload['start'] !== undefined)
      return `line ${sequence} of its events.jsonl begins the run a second time`;
    if (type !== 'RUN_STARTED') continue;
    if (start === undefined) return `line ${sequence} of its events.jsonl begins the run a second time`;
    if (!isDeepStrictEqual(payload, start))
      return `line ${sequence} of its events.jsonl begins another run than line 1`;
    start = undefined;
  }
  return null;
}

/** Events with spending. */
const SPENDING = new Set(['CALL_BOOKED', 'CALL_SETTLED', 'COST_RECORDED']);

/**
 * Names an event that makes spending less than it was, to be read after the run's name; `null` when there is none. A settlement takes back
 * what was booked for its call, once.
 */
export function faultOfSpending(events: readonly WorkflowEvent[]): string | null {
  const booked = new Map<unknown, unknown>();
  for (const { type, sequence, payload } of events) {
    // A fork begins what was under way anew: the calls of its source stay as they were booked.
    if (type === 'RUN_FORKED') booked.clear();
    if (!SPENDING.has(type)) continue;
    if (hasOddAmount(payload))
      return `line ${sequence} of its events.jsonl has spending below zero, or that is no number`;
    const { call } = payload;
    if (type === 'CALL_BOOKED') booked.set(call, amountsOf(payload));
    if (type !== 'CALL_SETTLED') continue;
    if (!isDeepStrictEqual(booked.get(call), amountsOf(fieldsOf(payload['booked']))))
      return `line ${sequence} of its events.jsonl settles a call that was not booked so`;
    booked.delete(call);
  }
  return null;
}

const amountsOf = ({ inputTokens, outputTokens, costUsd }: Readonly<Record<string, unknown>>) => [
  inputTokens,
  outputTokens,
  costUsd,
];

/** Id of a run or a tree, as a record may have it. */
export const recordedId = z.string().regex(/^[\w-]{1,100}$/);
const forkSchema = z.looseObject({ from: recordedId, at: z.int().positive(), tree: recordedId.optional() });

/** Names a fork that points at no run, to be read after the run's name; `null` when there is none. */
export function faultOfForks(events: readonly WorkflowEvent[]): string | null {
  const wrong = events.find(({ type, payload }) => type === 'RUN_FORKED' && !forkSchema.safeParse(payload).success);
  return wrong === undefined ? null : `line ${wrong.sequence} of its events.jsonl forks no run`;
}

/** Fields with amounts. */
const AMOUNT = /^(?:\w*[tT]okens|\w*Usd|calls|toolCalls)$/;

function hasOddAmount(fields: JsonObject): boolean {
  return Object.entries(fields).some(([name, value]) => {
    // Reservations are one level down. A price may be unknown.
    if (typeof value === 'object' && value !== null) return hasOddAmount(value as JsonObject);
    return typeof value === 'number' ? value < 0 : AMOUNT.test(name) && value !== null && value !== undefined;
  });
}

/** Events that name the branch of their run. */
const BRANCH_NAMING = new Set(['RUN_STARTED', 'RUN_FORKED', 'CHANGES_PUBLISHED']);

/** Names an event whose base commit is none, to be read after the run's name; `null` when there is none. */
export function faultOfBase(events: readonly WorkflowEvent[]): string | null {
  const wrong = events.find(({ type, payload }) => type === 'RUN_CONFIGURED' && !isCommit(payload['baseCommit']));
  return wrong === undefined ? null : `line ${wrong.sequence} of its events.jsonl names a base that is no commit`;
}

/** Without a project there is none. */
const isCommit = (id: unknown): boolean => typeof id === 'string' && /^(?:[0-9a-f]{40}(?:[0-9a-f]{24})?)?$/.test(id);

/** Why the branch of a run is not its own, to be read after the run's name; `null` when it is, or there is none. */
export function faultOfBranch(runId: string, events: readonly WorkflowEvent[]): string | null {
  const named = events.flatMap(({ type, payload }) => {
    if (type === 'RUN_QUEUED') return [fieldsOf(payload['start'])['branch']];
    // A published branch stands in the commands of a pull request.
    return BRANCH_NAMING.has(type) ? [payload['branch']] : [];
  });
  // The beginning that a fork has of another run is written with its own branch.
  const isOwn = (recorded: unknown): boolean => {
    // A secret of the request that was taken out of its record is a part of no branch: git has none of this name.
    const branch = typeof recorded === 'string' ? recorded.replaceAll(SECRET_MARK, 'x') : null;
    return branch === '' || (branch !== null && isBranchOfRun(branch, runId) && !isRecordBranch(branch));
  };
  const [first, ...later] = named;
  if (isOwn(first) && later.every((each) => each === undefined || isOwn(each))) return null;
  return `its events.jsonl names another branch than 'autonomous/${runId}-…', and a run writes to its own alone`;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

/** Name of the first field that is not valid. */
function faultIn(config: unknown): string | null {
  const [issue] = recordedConfigSchema.safeParse(config).error?.issues ?? [];
  if (issue === undefined) return null;
  const keys = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  return ['config', ...issue.path, ...keys].map((part) => shownKey(String(part))).join('.');
}

/** The same of what was asked for: a run that is not prepared yet acts on it. A child run begins at the branch of its parent, whatever is asked. */
function faultOfRequest(requested: unknown, isChild: boolean): string | null {
  // A person may have extended time limits beyond what a request may ask for.
  const { timeoutMinutes: _extended, ...others } = fieldsOf(requested);
  const parsed = runConfigRequestSchema.safeParse(others);
  if (!parsed.success)
    return ['requestedConfig', ...(parsed.error.issues[0]?.path ?? [])].map((part) => shownKey(String(part))).join('.');
  const branch = parsed.data.git?.baseBranch ?? '';
  const isFit = branch === '' || (isBranchName(branch) && !isRecordBranch(branch) && (isChild || !isOwnBranch(branch)));
  return isFit ? null : 'requestedConfig.git.baseBranch';
}

/** A name that others wrote. */
function shownKey(key: string): string {
  return SETTING_NAME.test(key) ? key : '(a name that is none)';
}
