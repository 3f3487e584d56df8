/**
 * Adds the hooks of this program to the settings of Claude Code and takes them out. Pure; comments, layout and everything else of the text
 * stay as they are.
 */
import {
  createScanner,
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { type Hook, type HookEvent, HOOKS } from './claude-hooks.ts';
import { type HookCommands, hookOfCommand } from './hook-command.ts';
import { withEntry, withoutEntry, withValue } from './json-edit.ts';

/** Path of the settings in their repository. */
export const SETTINGS_PATH = '.claude/settings.json';
/** Settings in which nothing is set. */
export const EMPTY_SETTINGS = '{}\n';

/** Deeper settings than any program has: reading them is recursive. */
const MAX_NESTING = 100;
/** Kinds of tokens by jsonc-parser, whose enumeration exists for its types alone. */
const OPENS: ReadonlySet<number> = new Set([1, 3]);
const CLOSES: ReadonlySet<number> = new Set([2, 4]);
const END = 17;

export type Settings =
  | { readonly ok: true; readonly found: readonly FoundHook[] }
  | { readonly ok: false; readonly fault: string };

/** A hook of this program in the settings. */
export interface FoundHook {
  readonly event: HookEvent;
  readonly group: number;
  readonly place: number;
  readonly command: string;
}

/** Finds the hooks of this program. `fault` says why the settings cannot be edited, as a predicate of the file. */
export function findHooks(text: string): Settings {
  const errors: ParseError[] = [];
  if (isNestedTooDeeply(text)) return { ok: false, fault: `is nested deeper than ${MAX_NESTING} levels` };
  const root = valueIn(text, errors);
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split('\n').length;
    return { ok: false, fault: `is not JSON from line ${line} on (${printParseErrorCode(error.error)})` };
  }
  if (!isObject(root)) return { ok: false, fault: 'is not a JSON object' };
  const hooks = root['hooks'];
  if (hooks !== undefined && !isObject(hooks)) return { ok: false, fault: "has a field 'hooks' that is not an object" };
  const twice = twiceIn(text);
  if (twice !== null) return { ok: false, fault: `has the field '${twice}' more than once` };
  const found: FoundHook[] = [];
  for (const { event } of HOOKS) {
    const groups = hooks?.[event];
    if (groups !== undefined && !Array.isArray(groups))
      return { ok: false, fault: `has a field 'hooks.${event}' that is not a list` };
    found.push(...listOf(groups).flatMap((group, index) => hooksOf(event, group, index)));
  }
  return { ok: true, found };
}

/** The first field around the hooks that is there more than once: Claude Code reads the last one, an edit would change the first. */
function twiceIn(text: string): string | null {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined) return null;
  if (countOf(root, 'hooks') > 1) return 'hooks';
  const hooks = findNodeAtLocation(root, ['hooks']);
  const event = hooks && HOOKS.find((hook) => countOf(hooks, hook.event) > 1)?.event;
  return event === undefined ? null : `hooks.${event}`;
}

function countOf({ children = [] }: Node, name: string): number {
  return children.filter(({ children: [key] = [] }) => key?.value === name).length;
}

function hooksOf(event: HookEvent, group: unknown, index: number): readonly FoundHook[] {
  return handlersOf(group).flatMap((handler, place) => {
    const command = isObject(handler) && handler['type'] === 'command' ? handler['command'] : null;
    if (typeof command !== 'string' || hookOfCommand(command)?.event !== event) return [];
    return [{ event, group: index, place, command }];
  });
}

/** @param text settings without a fault, in which each hook gets its command or is added behind those of others */
export function withHooks(text: string, commands: HookCommands): string {
  return HOOKS.reduce((before, hook) => withHook(before, hook, commands[hook.event]), text);
}

function withHook(text: string, { event, matcher, timeoutSeconds }: Hook, command: string): string {
  const read = findHooks(text);
  const found = read.ok ? read.found.find((each) => each.event === event) : undefined;
  if (found !== undefined)
    return withValue(text, ['hooks', event, found.group, 'hooks', found.place, 'command'], command);
  const group = { matcher, hooks: [{ type: 'command', command, timeout: timeoutSeconds }] };
  const hooks = hooksIn(text);
  if (hooks === null) return withEntry(text, [], 'hooks', { [event]: [group] });
  if (!Array.isArray(hooks[event])) return withEntry(text, ['hooks'], event, [group]);
  return withEntry(text, ['hooks', event], null, group);
}

/** Takes out each hook of this program, and the lists and objects that are empty without it. @param text settings without a fault */
export function withoutHooks(text: string): string {
  const read = findHooks(text);
  // The last first: the hooks before it stand where they were added.
  const found = read.ok ? read.found.at(-1) : undefined;
  return found === undefined ? text : withoutHooks(withoutOne(text, found));
}

function withoutOne(text: string, { event, group, place }: FoundHook): string {
  const hooks = hooksIn(text) ?? {};
  const groups = listOf(hooks[event]);
  if (handlersOf(groups[group]).length > 1) return withoutEntry(text, ['hooks', event, group, 'hooks', place]);
  if (groups.length > 1) return withoutEntry(text, ['hooks', event, group]);
  return withoutEntry(text, Object.keys(hooks).length > 1 ? ['hooks', event] : ['hooks']);
}

function hooksIn(text: string): Readonly<Record<string, unknown>> | null {
  const root = valueIn(text, []);
  return isObject(root) && isObject(root['hooks']) ? root['hooks'] : null;
}

/** The whole text as a value, in which `__proto__` is a name as any other; `undefined` where it is none. */
function valueIn(text: string, errors: ParseError[]): unknown {
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  return tree && getNodeValue(tree);
}

function isNestedTooDeeply(text: string): boolean {
  const scanner = createScanner(text, true);
  let depth = 0;
  for (let kind: number = scanner.scan(); kind !== END; kind = scanner.scan()) {
    if (OPENS.has(kind)) depth += 1;
    if (CLOSES.has(kind)) depth -= 1;
    if (depth > MAX_NESTING) return true;
  }
  return false;
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
