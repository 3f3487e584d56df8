/** Names that machines and activities share: ways on from a pause, and the activities that take commits in. */

/** Ids of ways on from a publication that a remote or a conflict stops. */
export const WAYS = {
  /** The pushed branch is the result. */
  leavePushed: 'leave_pushed',
  /** The same, and a pull request from it is opened by hand. */
  pullRequest: 'pull_request',
  /** The branch is pushed first, then it is the result. */
  leaveBranch: 'leave_branch',
  /** An agent resolves the conflicts with the base. */
  resolveBase: 'resolve_base',
  /** Commits that others pushed to the run's branch come into the run. */
  takeIn: 'take_in',
  /** The run's commits go to a branch beside it. */
  pushBeside: 'push_beside',
  /** An agent tries once more to resolve what is left of a conflict. */
  resolveRest: 'resolve_rest',
} as const;

/** Names of the activities that take in what a person chose at a pause, with the conflicts where there are any. */
export const TAKING_IN = { branch: 'takeIn', base: 'takeInBase' } as const;
