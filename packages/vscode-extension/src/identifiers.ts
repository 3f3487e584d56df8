/**
 * Names under which the extension appears in the editor. They end up in people's key bindings and settings, so they never
 * change once published. `package.json` repeats them as contribution points when the extension is built.
 */

export const COMMANDS = {
  launchRun: 'autonomous.launchRun',
  openRun: 'autonomous.openRun',
  approve: 'autonomous.approve',
  reject: 'autonomous.reject',
  answer: 'autonomous.answer',
  cancelRun: 'autonomous.cancelRun',
  connect: 'autonomous.connect',
} as const;
export type CommandId = (typeof COMMANDS)[keyof typeof COMMANDS];

/** The container in the activity bar and the views inside it. */
export const VIEW_CONTAINER = 'autonomous';
export const VIEWS = {
  /** Runs and gates that wait for a person, longest wait first. */
  waiting: 'autonomous.waiting',
  runs: 'autonomous.runs',
} as const;
export type ViewId = (typeof VIEWS)[keyof typeof VIEWS];

export const SETTINGS = {
  /** Address of the server; the token is kept in the editor's secret storage, never in a setting. */
  serverUrl: 'autonomous.serverUrl',
} as const;
export type SettingId = (typeof SETTINGS)[keyof typeof SETTINGS];
