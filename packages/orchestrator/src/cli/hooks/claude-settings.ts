/**
 * Adds the Stop hook to the settings of Claude Code and takes it out. Pure; comments, layout and everything else of the text stay as they
 * are.
 */
import { parse, type ParseError, printParseErrorCode } from 'jsonc-parser';
import { isHookCommand } from './hook-command.ts';
import { withEntry, withoutEntry, withValue } from './json-edit.ts';

/** Path of the settings in their repository. */
export const SETTINGS_PATH = '.claude/settings.json';
/** Settings in which nothing is set. */
export const EMPTY_SETTINGS = '{}\n';

/** Seconds that Claude Code waits for the hook. */
const TIMEOUT_SECONDS = 30;

export type Settings =
  | { readonly ok: true; readonly found: readonly FoundHook[] }
  | { readonly ok: false; readonly fault: string };

/** A Stop hook of this program in the settings. */
export interface FoundHook {
  readonly group: number;
  readonly place: number;
  readonly command: string;
}

/** Finds the Stop hooks of this program. `fault` says why the settings cannot be edited, as a predicate of the file. */
export function findStopHooks(text: string): Settings {
  const errors: ParseError[] = [];
  const root: unknown = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split('\n').length;
    return { ok: false, fault: `is not JSON from line ${line} on (${printParseErrorCode(error.error)})` };
  }
  if (!isObject(root)) return { ok: false, fault: 'is not a JSON object' };
  const hooks = root['hooks'];
  if (hooks !== undefined && !isObject(hooks)) return { ok: false, fault: "has a field 'hooks' that is not an object" };
  const groups = hooks?.['Stop'];
  if (groups !== undefined && !Array.isArray(groups))
    return { ok: false, fault: "has a field 'hooks.Stop' that is not a list" };
  return { ok: true, found: listOf(groups).flatMap(hooksOf) };
}

function hooksOf(group: unknown, index: number): readonly FoundHook[] {
  return handlersOf(group).flatMap((handler, place) => {
    const command = isObject(handler) && handler['type'] === 'command' ? handler['command'] : null;
    return typeof command === 'string' && isHookCommand(command) ? [{ group: index, place, command }] : [];
  });
}

/** @param text settings without a fault, in which the hook gets this command or is added behind the others */
export function withStopHook(text: string, command: string): string {
  const read = findStopHooks(text);
  const [found] = read.ok ? read.found : [];
  if (found !== undefined)
    return withValue(text, ['hooks', 'Stop', found.group, 'hooks', found.place, 'command'], command);
  const group = { matcher: '', hooks: [{ type: 'command', command, timeout: TIMEOUT_SECONDS }] };
  const { hooks, stop } = listsOf(text);
  if (hooks === null) return withEntry(text, [], 'hooks', { Stop: [group] });
  if (stop === null) return withEntry(text, ['hooks'], 'Stop', [group]);
  return withEntry(text, ['hooks', 'Stop'], null, group);
}

/** Takes out each Stop hook of this program, and the lists and objects that are empty without it. @param text settings without a fault */
export function withoutStopHooks(text: string): string {
  const read = findStopHooks(text);
  const [found] = read.ok ? read.found : [];
  return found === undefined ? text : withoutStopHooks(withoutOne(text, found));
}

function withoutOne(text: string, { group, place }: FoundHook): string {
  const { hooks, stop } = listsOf(text);
  const groups = listOf(stop);
  if (handlersOf(groups[group]).length > 1) return withoutEntry(text, ['hooks', 'Stop', group, 'hooks', place]);
  if (groups.length > 1) return withoutEntry(text, ['hooks', 'Stop', group]);
  return withoutEntry(text, Object.keys(hooks ?? {}).length > 1 ? ['hooks', 'Stop'] : ['hooks']);
}

interface Lists {
  readonly hooks: Readonly<Record<string, unknown>> | null;
  readonly stop: readonly unknown[] | null;
}

function listsOf(text: string): Lists {
  const root: unknown = parse(text, [], { allowTrailingComma: true });
  const hooks = isObject(root) && isObject(root['hooks']) ? root['hooks'] : null;
  return { hooks, stop: Array.isArray(hooks?.['Stop']) ? listOf(hooks['Stop']) : null };
}

function handlersOf(group: unknown): readonly unknown[] {
  return isObject(group) ? listOf(group['hooks']) : [];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []; // any list is one
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
