/** What a role is: instructions, tools, the shape of its result, and the prompt that one call of it gets. Pure. */
import type { z } from 'zod';
import type { PromptPart } from './prompt-budget.ts';

/** Roles of the built-in workflows; a script names its calls by them. */
export const ROLE_NAMES = ['planner', 'plan-reply', 'implementer', 'validator'] as const;
export type RoleName = (typeof ROLE_NAMES)[number];

/** Tools that a role may use. `finish` is offered to every role; it and `ask` end the call. */
export const TOOL_NAMES = ['read', 'write', 'edit', 'list', 'search', 'run', 'ask'] as const;
export type ToolName = (typeof TOOL_NAMES)[number];

export interface Role<Input, Result> {
  readonly name: RoleName;
  /** Of its instructions and prompt: a change of meaning is a new one. The transcript says which a call was given. */
  readonly version: number;
  readonly instructions: string;
  readonly tools: readonly ToolName[];
  /** Answers of the model in one call, at most. */
  readonly maxSteps: number;
  readonly result: z.ZodType<Result>;
  /** What the first message of a call is made of. Its first line is `callLine(name, input.call)`. */
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
