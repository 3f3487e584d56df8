/** Script of a scripted model: calls by role, turn by turn, read from YAML. */
import { InvalidRequest } from '@autonomous/shared';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { CALL_TOOL_NAMES, type KnownRoles, roleNameFault, TOOL_NAMES } from '../roles/role.ts';

const toolCallSchema = z.strictObject({
  name: z.enum([...TOOL_NAMES, ...CALL_TOOL_NAMES, 'finish']),
  input: z.record(z.string(), z.json()),
});

const turnSchema = z
  .strictObject({
    text: z.string().min(1).optional(),
    tools: z.array(toolCallSchema).min(1).optional(),
    /** Milliseconds of silence before the answer begins. */
    delayMs: z.number().int().min(0).max(3_600_000).optional(),
  })
  .refine((turn) => turn.text !== undefined || turn.tools !== undefined, 'a turn needs `text`, `tools` or both');

const callSchema = z.strictObject({
  /** Plays this call only where all of it holds; without it a call is played by its number among those without. */
  when: z
    .strictObject({
      /** Number of the role's call within the run, from 1. */
      call: z.number().int().min(1).optional(),
      /** Text that the prompt has to contain. */
      contains: z.string().min(1).optional(),
    })
    .refine((when) => when.call !== undefined || when.contains !== undefined, '`when` needs `call`, `contains` or both')
    .optional(),
  turns: z
    .array(turnSchema)
    .min(1)
    .refine((turns) => turns.at(-1)?.tools?.some((tool) => tool.name === 'finish' || tool.name === 'ask') ?? false, {
      message: 'the last turn has to call `finish` or `ask`, else the call never ends',
    }),
});

const scriptSchema = z.strictObject({
  /** The model's id is `scripted:<name>`. */
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'a name has lower-case letters, digits and hyphens'),
  description: z.string().optional(),
  roles: z.record(z.string().regex(/^[a-z][a-z-]{0,63}$/), z.array(callSchema)),
});

export type Script = z.infer<typeof scriptSchema>;
export type ScriptCall = z.infer<typeof callSchema>;
export type ScriptTurn = z.infer<typeof turnSchema>;

/** @param content what the file holds, whatever that is */
function unknownRoles(content: unknown, known: KnownRoles): z.core.$ZodIssue[] {
  const roles = (content as { readonly roles?: unknown } | null)?.roles;
  const names = typeof roles === 'object' && roles !== null ? Object.keys(roles) : [];
  const unknown = names.filter((name) => roleNameFault(name, known) !== null);
  return unknown.length === 0
    ? []
    : [{ code: 'unrecognized_keys', keys: unknown, path: ['roles'], message: 'unknown roles', input: {} }];
}

/** Returns faults of results: the `finish` of each call's last turn must fit its role; earlier ones may be meant to fail. */
function resultIssues(script: Script, { results }: KnownRoles): z.core.$ZodIssue[] {
  return Object.entries(script.roles).flatMap(([role, calls]) =>
    calls.flatMap((call, callIndex) =>
      (call.turns.at(-1)?.tools ?? []).flatMap((tool, toolIndex) => {
        const schema = Object.hasOwn(results, role) ? results[role] : undefined;
        const result = tool.name === 'finish' ? schema?.safeParse(tool.input) : undefined;
        const path = ['roles', role, callIndex, 'turns', call.turns.length - 1, 'tools', toolIndex, 'input'];
        return (result?.error?.issues ?? []).map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
      }),
    ),
  );
}

/**
 * Reads a script.
 * @param fileName only for messages
 * @param known by default every name of a role is taken, and results are not checked
 * @throws {InvalidRequest} naming every fault with its line and path and what is allowed there
 */
export function parseScript(
  yaml: string,
  fileName: string,
  known: KnownRoles = { results: {}, hasOthers: true },
): Script {
  const lines = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: lines });
  if (document.errors.length > 0) {
    throw malformed(
      fileName,
      document.errors.map((error) => ({
        path: '',
        line: error.linePos?.[0].line ?? 1,
        message: firstLine(error.message),
      })),
    );
  }

  const content: unknown = document.toJS();
  const parsed = scriptSchema.safeParse(content);
  const issues = [
    ...unknownRoles(content, known),
    ...(parsed.success ? resultIssues(parsed.data, known) : parsed.error.issues),
  ];
  if (parsed.success && issues.length === 0) return parsed.data;
  throw malformed(
    fileName,
    issues
      .flatMap((issue) => faultsOf(issue, known))
      .map((fault) => ({ ...fault, path: pathText(fault.path), line: lineOf(fault.path) })),
  );

  function lineOf(path: readonly PropertyKey[]): number {
    for (let length = path.length; length > 0; length--) {
      const node: unknown = document.getIn(path.slice(0, length), true);
      const range = hasRange(node) ? node.range : undefined;
      if (range !== undefined) return lines.linePos(range[0]).line;
    }
    return 1;
  }
}

/**
 * The call that a role's prompt asks for: the first whose `when` holds, else the one with that number among those
 * without `when`.
 */
export function findScriptCall(script: Script, role: string, call: number, prompt: string): ScriptCall | undefined {
  const calls = callsOf(script, role);
  const fits = ({ when }: ScriptCall) =>
    when !== undefined &&
    (when.call === undefined || when.call === call) &&
    (when.contains === undefined || prompt.includes(when.contains));
  return calls.find(fits) ?? calls.filter((candidate) => candidate.when === undefined)[call - 1];
}

/** All calls scripted for a role; none for a role that the script does not know. */
export function callsOf(script: Script, role: string): readonly ScriptCall[] {
  return Object.entries(script.roles).find(([name]) => name === role)?.[1] ?? [];
}

interface ScriptFault {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

function malformed(fileName: string, faults: readonly ScriptFault[]): InvalidRequest {
  const texts = faults.map(
    (fault) => `line ${fault.line}${fault.path === '' ? '' : `, ${fault.path}`}: ${fault.message}`,
  );
  return new InvalidRequest(`The script ${fileName} cannot be played:\n  ${texts.join('\n  ')}`, {
    faults: faults.map((fault, index) => ({ path: fault.path, message: `${fileName}, ${texts[index]}` })),
  });
}

/** Unknown keys are faults of the keys, not of the object that holds them, and say what is known there. */
function faultsOf(
  issue: z.core.$ZodIssue,
  known: KnownRoles,
): { readonly path: readonly PropertyKey[]; readonly message: string }[] {
  if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, message: issue.message }];
  const allowed = issue.path.length === 1 ? Object.keys(known.results) : knownKeys(issue.path);
  return issue.keys.map((key) => ({
    path: [...issue.path, key],
    message: `unknown key "${key}"; known here: ${allowed.join(', ')}`,
  }));
}

function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  const last = path.findLast((part) => typeof part === 'string');
  if (path.length === 0) return Object.keys(scriptSchema.shape);
  if (last === 'when') return ['call', 'contains'];
  if (last === 'turns') return Object.keys(turnSchema.shape);
  if (last === 'tools') return Object.keys(toolCallSchema.shape);
  return Object.keys(callSchema.shape);
}

/** `roles.planner[0].turns[1]` */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`))
    .join('');
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text;
}

function hasRange(node: unknown): node is { readonly range: readonly [number, number, number] } {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range);
}
