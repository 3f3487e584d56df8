/**
 * Composes the input of one call of a role: instructions, prompt and tools, and a report of them for the transcript.
 * Pure.
 */
import type { JsonObject } from '@autonomous/shared';
import { assemblePrompt, type PromptReport } from './prompt-budget.ts';
import type { CommonInput } from './prompt-parts.ts';
import type { Role, ToolName } from './role.ts';
import { instructionsWith, type RoleOverride } from './role-override.ts';
import { estimateTokens } from './tokens.ts';

export interface CallContext {
  readonly instructions: string;
  readonly prompt: string;
  readonly tools: readonly ToolName[];
  readonly report: PromptReport;
}

/** @param budgetTokens for instructions and prompt together */
export function composeCall<Input extends CommonInput, Result>(
  role: Role<Input, Result>,
  input: Input,
  override: RoleOverride | null,
  budgetTokens: number,
): CallContext {
  const instructions = instructionsWith(role.instructions, override);
  return {
    instructions,
    ...assemblePrompt(role.parts(input), budgetTokens, estimateTokens(instructions)),
    tools: override?.tools ?? role.tools,
  };
}

/** Returns the first transcript line of a call, as a sentence and as data. */
export function describeCall(call: {
  readonly role: Role<never, unknown>;
  readonly number: number;
  readonly model: string;
  readonly context: CallContext;
  readonly override: RoleOverride | null;
  /** Files that were not read and settings that do not apply, one sentence each. */
  readonly notices: readonly string[];
}): { readonly text: string; readonly data: JsonObject } {
  const { role, number, model, context, override, notices } = call;
  const { tokens, budgetTokens, parts, leftOut } = context.report;
  const changes = override === null ? [] : changesOf(override);
  const shown = parts.map((part) => `${part.name} ${part.tokens}${part.cut ? ' (shortened)' : ''}`);
  const sentences = [
    `${role.name} ${number}, prompt version ${role.version}, ${model}: about ${tokens} of ${budgetTokens} tokens (instructions ${estimateTokens(context.instructions)}, ${shown.join(', ')})`,
    leftOut.length === 0 ? '' : `left out: ${leftOut.map((part) => `${part.name} ${part.tokens}`).join(', ')}`,
    override === null ? '' : `${override.path} changes ${changes.join(', ') || 'nothing'}`,
    ...notices,
  ];
  return {
    text: sentences.filter((sentence) => sentence !== '').join('; '),
    data: {
      role: role.name,
      call: number,
      promptVersion: role.version,
      model,
      tools: context.tools,
      override: override === null ? null : { path: override.path, changes },
      tokens,
      budgetTokens,
      parts: parts.map((part) => ({ ...part })),
      leftOut: leftOut.map((part) => ({ ...part })),
      notices,
    },
  };
}

function changesOf({ prompt, tools, model }: RoleOverride): string[] {
  return [
    ...(prompt === '' ? [] : ['instructions']),
    ...(tools === null ? [] : ['tools']),
    ...(model === null ? [] : ['model']),
  ];
}
