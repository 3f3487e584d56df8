/** Entry point: functions that every client uses to show a run. The panels and the dashboard page build on it. */
export * from './bridge.ts';
export { offlineNews, RESUMING, sentence } from './connection-news.ts';
export { gateLine, pullRequestOf, stageTitle, statusLabel } from './labels.ts';
export {
  type Choice,
  choiceLine,
  choiceOf,
  configOf,
  DEFAULT_TRUST,
  type LaunchDraft,
  STAGES,
} from './launch-choice.ts';
export { isWaiting, waitingFirst } from './run-order.ts';
