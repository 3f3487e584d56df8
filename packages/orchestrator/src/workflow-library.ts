/**
 * Entry point for authors of custom workflows: `@autonomous/orchestrator/workflow`. The first part is promised, as the table in
 * docs/workflow-reference.md lists it. The second is what the shipped workflows are made of: it is shown, and may change with them.
 */

// ---- promised: the workflow as a value
export type { WorkflowValue } from './workflows/complete-workflow.ts';
export { activity, defineWorkflow, type StateMeta, type WorkflowDefinition } from './core/definition.ts';
export { defineVersions } from './core/versions.ts';
export { childRun, type ChildRequest, type ChildResult } from './core/child-runs.ts';
export {
  type Activity,
  type ActivityContext,
  type ActivityRegistry,
  ONE_TRY,
  type RetryPolicy,
  THREE_TRIES,
} from './core/activity.ts';

// ---- promised: workflows of attempts
export {
  attemptFailedAt,
  type AttemptRun,
  type AttemptRunContext,
  type AttemptSetup,
  attemptWorkflow,
  type OwnStates,
  type Unit,
  type UnitEnd,
  type Work,
} from './workflows/attempt-run.ts';
export { approvalGate, approves } from './workflows/parts/gate.ts';

// ---- promised: tests of workflows
export { driveAttempts, type DrivenAttempts } from './workflows/driven-attempts.ts';
export { type DrivenRequest, type DrivenRun, driveRun } from './workflows/driven-run.ts';

// ---- promised: errors and data of runs
export {
  Conflict,
  InvalidRequest,
  type JsonObject,
  type JsonValue,
  NeedsHuman,
  NotFound,
  RetryableFailure,
  type RunConfig,
  type RunView,
  TerminalFailure,
  type WorkflowEvent,
} from '@autonomous/shared';

// ---- shown, may change: the workflow as a value
export type { Workflow, WorkflowRole } from './workflows/workflow.ts';
export type { ActivityEvent } from './core/definition.ts';
export type { WorkflowVersions } from './core/versions.ts';
export { ONE_TRY_A_SANDBOX } from './core/activity.ts';

// ---- shown, may change: roles
export type { Role, ToolName } from './roles/role.ts';
export { callLine } from './roles/role.ts';
export type { PromptPart } from './roles/prompt-budget.ts';
export {
  allowedFilesPart,
  ASKING_RULES,
  COMMON_RULES,
  type CommonInput,
  fence,
  filesPart,
  fixedPart,
  guideParts,
  historyPart,
  memoryPart,
  noteParts,
  requestPart,
  resultPart,
  skillsPart,
} from './roles/prompt-parts.ts';
export { rolePrompt, type RolePrompt } from './roles/role-prompt.ts';

// ---- shown, may change: parts of machines
export type { ApprovalGate, Shown } from './workflows/parts/gate.ts';
export { decisionSignals, type DecisionSignal, type Forked, type RunFact } from './workflows/parts/signals.ts';
export { ownedFilesActions, ownedFilesInput, type OwningContext } from './workflows/parts/owned-files.ts';
export { headerOf } from './workflows/parts/run-context.ts';
export { callActions, callEnded, type CallingContext, notTaken } from './workflows/parts/costs.ts';
export {
  budgetActions,
  type BudgetedContext,
  changeBudget,
  type NotedContext,
  noteFeedback,
  notingActions,
  takenEverywhere,
} from './workflows/parts/notes.ts';
export {
  type Pause,
  type PausableContext,
  pausedState,
  pausesAt,
  pausingActions,
  pausingDelays,
  pausingGuards,
} from './workflows/parts/pausing.ts';
export { clockActions, clockDelays, clockTo, type TimedContext } from './workflows/parts/stage-clock.ts';
export {
  clarificationStates,
  clarifyingActions,
  type ClarifyingContext,
  clarifyingGuards,
} from './workflows/parts/clarification.ts';
export {
  choosingState,
  mergingState,
  publishingActions,
  type PublishingContext,
  publishingGuards,
  pushInput,
  pushingState,
} from './workflows/parts/publishing.ts';
export { choosingToFollow, followingStates } from './workflows/parts/following.ts';
export {
  type Following,
  type FollowingContext,
  heldText,
  outcomeOf,
  pullRequestActions,
  pullRequestGuards,
  withInherited,
} from './workflows/parts/pull-request.ts';
export {
  failed,
  type FailurePolicy,
  type FanOut,
  fanOut,
  type FanOutcome,
  startable,
  started,
  succeeded,
  verdictOf,
} from './workflows/parts/fan-out.ts';

// ---- shown, may change: activities
export type { ActivityTools } from './activities/tools.ts';
export type {
  BaselineInput,
  Checked,
  CheckInput,
  CommittedCode,
  Cost,
  Note,
  ProjectCommand,
  Published,
  RunHeader,
} from './activities/types.ts';
export {
  type AgentCall,
  callAgent,
  type ProjectFacts,
  projectFacts,
  promptNotes,
} from './activities/agents/agent-call.ts';
export { withReadOnlyCheckout } from './activities/agents/read-only-checkout.ts';
export { answerReviewers, type Answering, type AnswerInput } from './activities/pull-request/answer-reviewers.ts';
export { type Asked, askedText } from './activities/pull-request/review-remarks.ts';
export { baseline } from './activities/evidence/baseline.ts';
export { check } from './activities/evidence/check.ts';
export {
  type ClosedPullRequest,
  closePullRequest,
  type ClosePullRequestInput,
} from './activities/pull-request/close-pull-request.ts';
export { type Followed, type FollowInput, followPullRequest } from './activities/pull-request/follow-pull-request.ts';
export {
  type MergedPullRequest,
  mergePullRequest,
  type MergePullRequestInput,
} from './activities/pull-request/merge-pull-request.ts';
export { checkpoint, commitCode, committed, setUp } from './activities/git/code-commits.ts';
export {
  commitOwnedFiles,
  type CommitOwnedInput,
  type OwnedCommitted,
  type OwnedUpdate,
} from './activities/git/commit-owned-files.ts';
export { commitOnBranch, type NewCommit } from './activities/git/commits.ts';
export {
  type ChildIntegrated,
  type ChildMerged,
  integrateChild,
  mergeChild,
  type MergeChildInput,
} from './activities/git/merge-child.ts';
export { integrate, type IntegratedBase, type IntegrateInput } from './activities/git/integrate-base.ts';
export { merge, type Merged, type MergeInput } from './activities/git/merge-into-base.ts';
export { type Prepared, prepare, type PrepareInput } from './activities/prepare.ts';
export { pushBranch } from './activities/git/push-branch.ts';
export { fetchRemote } from './activities/git/remote.ts';
export { tidiedAll } from './activities/tidied.ts';
export { type WorkFolder, closeFolder, openFolder } from './activities/work-folders.ts';
export { hashOf } from './documents/content-hash.ts';

// ---- shown, may change: data of runs
export type {
  ActivityError,
  AllowedFiles,
  Baseline,
  DocumentInfo,
  EventPayloads,
  GateInfo,
  Projected,
  ProjectionSection,
  RunStart,
  TrustLevel,
} from '@autonomous/shared';
