/**
 * Checks the configurations and the branch that a recorded run names. Whoever can push could have written them, so each value must be of the
 * type that a server writes: what a person is shown of it is what acts.
 */
import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, runConfigSchema, SETTING_NAME, type WorkflowEvent } from '@autonomous/shared';
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
    const config = (type === 'RUN_QUEUED' ? fieldsOf(payload['start']) : payload)['config'];
    const field = config === undefined ? null : faultIn(config);
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

/** Names an event with an amount that makes spending less, to be read after the run's name; `null` when there is none. */
export function faultOfSpending(events: readonly WorkflowEvent[]): string | null {
  const wrong = events.find(({ type, payload }) => SPENDING.has(type) && hasNegative(payload));
  return wrong === undefined ? null : `line ${wrong.sequence} of its events.jsonl has spending below zero`;
}

function hasNegative(fields: JsonObject): boolean {
  return Object.values(fields).some((value) => {
    if (typeof value === 'number') return value < 0;
    // Reservations are one level down.
    return typeof value === 'object' && value !== null && Object.values(value).some((each) => Number(each) < 0);
  });
}

/** Why the branch of a run is not its own, to be read after the run's name; `null` when it is, or there is none. */
export function faultOfBranch(runId: string, events: readonly WorkflowEvent[]): string | null {
  const named = events.flatMap(({ type, payload }) => {
    if (type === 'RUN_QUEUED') return [fieldsOf(payload['start'])['branch']];
    return type === 'RUN_STARTED' || type === 'RUN_FORKED' ? [payload['branch']] : [];
  });
  // A fork has the beginning of another run, whose branch it does not use.
  const recorded = named.findLast((each) => each !== undefined);
  // A secret of the request that was taken out of its record is a part of no branch: git has none of this name.
  const branch = typeof recorded === 'string' ? recorded.replaceAll(SECRET_MARK, 'x') : recorded;
  if (branch === '' || (typeof branch === 'string' && isBranchOfRun(branch, runId) && !isRecordBranch(branch)))
    return null;
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

/** A name that others wrote. */
function shownKey(key: string): string {
  return SETTING_NAME.test(key) ? key : '(a name that is none)';
}
