/** The hooks of Claude Code that this program installs: their events, and its own subcommand for each. */

export const HOOKS = [
  { event: 'Stop', subcommand: 'stop', matcher: '', timeoutSeconds: 30 },
  { event: 'PreCompact', subcommand: 'checkpoint', matcher: '', timeoutSeconds: 60 },
  // Sessions that start or are resumed have nothing to be given back.
  { event: 'SessionStart', subcommand: 'resume', matcher: 'compact|clear', timeoutSeconds: 30 },
] as const;

export type Hook = (typeof HOOKS)[number];
export type HookEvent = Hook['event'];

/** Names of the events, to be read in a sentence. */
export const HOOK_NAMES = HOOKS.map(({ event }) => event)
  .join(', ')
  .replace(/, (?=\w+$)/, ' and ');
