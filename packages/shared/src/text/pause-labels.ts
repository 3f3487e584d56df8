import type { PauseReason } from '../run.ts';

/** Why a run pauses, in words that continue "paused: …". */
export const PAUSE_LABELS: Readonly<Record<PauseReason, string>> = {
  timeout: 'time limit reached',
  agent_failed: 'the agent failed',
  setup_failed: 'the project could not be set up',
  stalled: 'no progress',
  model_unavailable: 'the model is unavailable',
  rate_limited: 'rate limit reached',
  budget: 'budget used up',
  merge_conflict: 'merge conflict',
  auth_expired: 'access to the repository expired',
  push_rejected: 'the push was rejected',
  remote_unavailable: 'the repository cannot be reached',
  missing_at_remote: 'a branch, pull request or repository is missing at the remote',
  record_differs: 'its record in git differs from the database',
  repository_replaced: 'another repository has its name',
  sandbox_unavailable: 'no sandbox available',
  storage_full: 'the disk is full',
  secret_found: 'a secret was found in the result',
  review_needed: 'something in the result needs a review',
  definition_missing: 'its workflow version is missing',
  poisoned: 'quarantined',
  rebuilt: 'rebuilt from its record',
  held: 'a person paused it',
};
