/** The part of the extension that does not know the editor. */
export { COMMANDS, SETTINGS, VIEWS, VIEW_CONTAINER } from './identifiers.ts';
export type { CommandId, SettingId, ViewId } from './identifiers.ts';
