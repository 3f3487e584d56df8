/** Entry point for programs that use the engine without the server: `@autonomous/orchestrator/engine`. */
export { createEngine, type EngineSetup } from './engine/create-engine.ts';
export type { Engine, FinishedRun, NewWorkflowRun } from './engine/engine.ts';
export type { EngineMessage } from './engine/step-feed.ts';
export type { Clock } from './engine/clock.ts';
export type { EventStore } from './event-store/event-store.ts';
export { openSqliteEventStore } from './event-store/sqlite/sqlite-event-store.ts';
export {
  type Activity,
  type ActivityContext,
  type ActivityRegistry,
  ONE_TRY,
  type RetryPolicy,
  THREE_TRIES,
} from './core/activity.ts';
export { childRun, type ChildRequest, type ChildResult } from './core/child-runs.ts';
export { activity, defineWorkflow, type StateMeta, type WorkflowDefinition } from './core/definition.ts';
export { defineVersions, type WorkflowVersions } from './core/versions.ts';
export {
  Conflict,
  InvalidRequest,
  NeedsHuman,
  NotFound,
  RetryableFailure,
  type RunView,
  shownAt,
  type ShownGate,
  type SpendingFact,
  StorageFull,
  TerminalFailure,
  Unavailable,
  type WorkflowEvent,
} from '@autonomous/shared';
