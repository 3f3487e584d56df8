/** Role: instructions, tools, the schema of its result, and the prompt of one call. Pure. */
import type { z } from 'zod';
import type { PromptPart } from './prompt-budget.ts';

/** Roles of the server's workflows, for those who read names of roles from files of the operator. */
export interface KnownRoles {
  /** Result schema by role. */
  readonly results: Readonly<Record<string, z.ZodType>>;
  /** True: there are others, whose names are not known yet. */
  readonly hasOthers: boolean;
}

/** Why a name cannot be that of a role; `null` when it can. */
export function roleNameFault(name: string, { results, hasOthers }: KnownRoles): string | null {
  if (hasOthers || Object.hasOwn(results, name)) return null;
  return `'${name}' is not a role; there are ${Object.keys(results).join(', ')}`;
}

/** Tools that a role may use. `finish` is offered to every role; it and `ask` end the call. */
export const TOOL_NAMES = ['read', 'write', 'edit', 'list', 'search', 'run', 'ask'] as const;
export type ToolName = (typeof TOOL_NAMES)[number];

/** Tools of the server that an activity gives an agent for one call. */
export const CALL_TOOL_NAMES = ['fetch', 'web_search'] as const;

export interface Role<Input, Result> {
  /** Lower-case letters and dashes. */
  readonly name: string;
  /** Of its instructions and prompt: a change of meaning is a new one. The transcript says which a call was given. */
  readonly version: number;
  readonly instructions: string;
  readonly tools: readonly ToolName[];
  /** Answers of the model in one call, at most. */
  readonly maxSteps: number;
  readonly result: z.ZodType<Result>;
  /** Returns the parts of a call's first message. Its first line is `callLine(name, input.call)`. */
  parts(input: Input): readonly (PromptPart | null)[];
}

export interface RoleCall {
  readonly role: string;
  /** Counts the calls of this role within its run, from 1. */
  readonly call: number;
}

/**
 * First line of every prompt. It makes a call recognisable: the same call, repeated after a crash, has the same line,
 * so that a model which plays a script needs no memory of its own.
 */
export function callLine(role: string, call: number): string {
  return `Call: ${role} ${call}`;
}

/** Reads `callLine` back. Only the first line counts: what follows may hold text of others. */
export function parseCallLine(prompt: string): RoleCall | null {
  const match = /^Call: ([a-z][a-z-]*) ([1-9]\d{0,5})(?:\r?\n|$)/.exec(prompt);
  return match?.[1] === undefined ? null : { role: match[1], call: Number(match[2]) };
}
