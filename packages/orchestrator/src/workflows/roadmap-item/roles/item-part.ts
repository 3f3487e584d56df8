/** Input of the roles that work on a roadmap's item, and the parts of their prompts. */
import { allowedFilesPart, type CommonInput, requestPart, resultPart } from '../../../roles/prompt-parts.ts';
import type { PromptPart } from '../../../roles/prompt-budget.ts';
import { rolePrompt } from '../../../roles/role-prompt.ts';
import type { DocumentPhase } from '../types.ts';

export interface ItemRoleInput extends CommonInput {
  /** The item as the roadmap has it. */
  readonly item: string;
  /** Texts of the documents that were approved before, by phase. */
  readonly documents: Readonly<Partial<Record<DocumentPhase, string>>>;
  /** The last version of this document, which was sent back; `null`: there is none. */
  readonly before: string | null;
}

const LONGEST_DOCUMENT = 60_000;

/** Parts of a call's first message. */
export function itemParts(role: string, input: ItemRoleInput, task: string): readonly (PromptPart | null)[] {
  const { ideating, specifying, decomposing } = input.documents;
  const shown = [
    ['ideation', ideating],
    ['specification', specifying],
    ['tasks', decomposing],
  ] as const;
  return rolePrompt(role, input, {
    first: [
      requestPart(input),
      resultPart('item', 'The item of the roadmap:', input.item, LONGEST_DOCUMENT),
      ...shown.flatMap(([name, text]) =>
        text === undefined ? [] : [resultPart(name, `The ${name} of this item:`, text, LONGEST_DOCUMENT)],
      ),
      ...(input.before === null
        ? []
        : [resultPart('last version', 'Your last version, which was sent back:', input.before, LONGEST_DOCUMENT)]),
    ],
    last: [allowedFilesPart(input)],
    task,
  });
}
