/**
 * Checks the configurations and the branch that a recorded run names. Whoever can push could have written them, so each value must be of the
 * type that a server writes: what a person is shown of it is what acts.
 */
import { runConfigSchema, SETTING_NAME, type WorkflowEvent } from '@autonomous/shared';
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
