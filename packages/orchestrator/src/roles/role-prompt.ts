/** The parts of a prompt that every role has that works in a project, in their order. Pure. */
import type { PromptPart } from './prompt-budget.ts';
import {
  type CommonInput,
  filesPart,
  fixedPart,
  guideParts,
  historyPart,
  memoryPart,
  noteParts,
  skillsPart,
} from './prompt-parts.ts';
import { callLine } from './role.ts';

export interface RolePrompt {
  /** The request and the material of this call, before the texts of the project. */
  readonly first: readonly (PromptPart | null)[];
  /** After the texts of the project, before what happened in the run. Default: nothing. */
  readonly last?: readonly (PromptPart | null)[];
  /** Sentence that says what to do now. */
  readonly task: string;
}

/** Returns the parts of a call's first message. */
export function rolePrompt(role: string, input: CommonInput, prompt: RolePrompt): readonly (PromptPart | null)[] {
  return [
    fixedPart('call', callLine(role, input.call)),
    ...prompt.first,
    ...guideParts(input),
    skillsPart(input),
    memoryPart(input),
    filesPart(input),
    ...(prompt.last ?? []),
    historyPart(input),
    ...noteParts(input),
    fixedPart('task', prompt.task),
  ];
}
