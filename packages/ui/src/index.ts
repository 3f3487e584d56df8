/** Entry point: functions that every client uses to show a run. The panels and the dashboard page build on it. */
export * from './bridge.ts';
export { offlineNews, RESUMING, sentence } from './connection-news.ts';
export { gateLine, pullRequestOf, stageTitle, statusLabel } from './labels.ts';
export {
  type Choice,
  choiceFor,
  choiceLine,
  choiceOf,
  explorationOf,
  type KeptChoices,
  type Launchable,
  keptAfter,
  keptFor,
  type LaunchDraft,
  launchOf,
} from './launch-choice.ts';
export { childrenByParent, type ChildrenOf, familyOf, isTop, progressText } from './run-children.ts';
export { isWaiting, waitingFirst } from './run-order.ts';
export { documentTab, gateTab, tabsOf } from './run-tabs.ts';
