/**
 * Names under which the extension appears in the editor. They end up in people's key bindings and settings, so they never
 * change once published. `package.json` repeats them as contribution points; a test compares the two.
 */

export const COMMANDS = {
  // Connection
  connect: 'autonomous.connect',
  setToken: 'autonomous.setToken',
  refresh: 'autonomous.refresh',
  showLog: 'autonomous.showLog',
  startServer: 'autonomous.startServer',
  stopServer: 'autonomous.stopServer',
  openDashboard: 'autonomous.openDashboard',
  showMenu: 'autonomous.showMenu',
  // Models
  chooseModel: 'autonomous.chooseModel',
  tryDemo: 'autonomous.tryDemo',
  // New runs
  launchRun: 'autonomous.launchRun',
  openLaunchForm: 'autonomous.openLaunchForm',
  explore: 'autonomous.explore',
  runFile: 'autonomous.runFile',
  // Screens
  openRuns: 'autonomous.openRuns',
  openRun: 'autonomous.openRun',
  openPlan: 'autonomous.openPlan',
  openStatechart: 'autonomous.openStatechart',
  openExploration: 'autonomous.openExploration',
  openRoadmap: 'autonomous.openRoadmap',
  openMetrics: 'autonomous.openMetrics',
  // Decisions
  approve: 'autonomous.approve',
  reject: 'autonomous.reject',
  answer: 'autonomous.answer',
  ask: 'autonomous.ask',
  retry: 'autonomous.retry',
  accept: 'autonomous.accept',
  close: 'autonomous.close',
  extend: 'autonomous.extend',
  ignore: 'autonomous.ignore',
  // Runs
  sendMessage: 'autonomous.sendMessage',
  cancelRun: 'autonomous.cancelRun',
  showDiff: 'autonomous.showDiff',
  checkout: 'autonomous.checkout',
  resolveConflict: 'autonomous.resolveConflict',
  openPullRequest: 'autonomous.openPullRequest',
  copyId: 'autonomous.copyId',
  copyLink: 'autonomous.copyLink',
  // Comments on a result
  commentOnLine: 'autonomous.commentOnLine',
  addComment: 'autonomous.addComment',
  editComment: 'autonomous.editComment',
  saveComment: 'autonomous.saveComment',
  cancelEditComment: 'autonomous.cancelEditComment',
  deleteComment: 'autonomous.deleteComment',
  // Review threads of a pull request
  answerThread: 'autonomous.answerThread',
  resolveThread: 'autonomous.resolveThread',
} as const;
export type CommandId = (typeof COMMANDS)[keyof typeof COMMANDS];

/** The container in the activity bar and the views inside it. */
export const VIEW_CONTAINER = 'autonomous';
export const VIEWS = {
  /** Runs that wait for a person, longest wait first. */
  waiting: 'autonomous.waiting',
  /** Queued and running. */
  active: 'autonomous.active',
  /** Completed, failed and cancelled, newest first. */
  finished: 'autonomous.finished',
} as const;
export type ViewId = (typeof VIEWS)[keyof typeof VIEWS];

export const SETTINGS = {
  /** Address of the server; the token is kept in the editor's secret storage, never in a setting. */
  serverUrl: 'autonomous.serverUrl',
  /** npm registry from which the server's package is installed. */
  serverRegistry: 'autonomous.server.registry',
  /** Folder of an Autonomous checkout that a local server is started from, in place of the installed package. */
  serverFolder: 'autonomous.server.folder',
  /** Program and arguments of the local server, in place of those of the package or the checkout. */
  serverCommand: 'autonomous.server.command',
  /** Start the local server with the window. */
  serverAutoStart: 'autonomous.server.autoStart',
  /** End a local server that this window started when the window closes. */
  serverStopWithWindow: 'autonomous.server.stopWithWindow',
  /** Kinds of notifications that are shown. */
  notifications: 'autonomous.notifications',
} as const;
export type SettingId = (typeof SETTINGS)[keyof typeof SETTINGS];

/** Context keys for `when` clauses. */
export const CONTEXT_KEYS = {
  /** `unconfigured`, `signedOut`, `connecting`, `live`, `polling` or `offline`. */
  connection: 'autonomous.connection',
  hasRuns: 'autonomous.hasRuns',
  /** `stopped`, `starting` or `running`: the local server as far as this window started it. */
  localServer: 'autonomous.localServer',
  /** Does the local server play the demo? */
  isDemo: 'autonomous.isDemo',
  /** Does the connected server have models to work with? Not set before it has said so. */
  hasModel: 'autonomous.hasModel',
  /** Decisions that some open gate takes. */
  decisions: 'autonomous.decisions',
  /** Does the editor in front show all files of a result? */
  resultInFront: 'autonomous.resultInFront',
} as const;

/** Of every web-view panel; what it shows is in its state. */
export const PANEL_TYPE = 'autonomous.screen';
/** Scheme of documents that hold one side of a run's result. */
export const DIFF_SCHEME = 'autonomous-diff';
