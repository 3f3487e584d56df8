/** The specifier: makes an ideation into a specification that can be implemented and checked. */
import { COMMON_RULES } from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { type DocumentResult, documentResultSchema } from './ideator.ts';
import { type ItemRoleInput, itemParts } from './item-part.ts';

export const specifier: Role<ItemRoleInput, DocumentResult> = {
  name: 'specifier',
  version: 1,
  tools: ['read', 'list', 'search'],
  maxSteps: 40,
  result: documentResultSchema,
  instructions: `You write the specification of a roadmap's item from its ideation. It is decomposed into tasks afterwards, and each task is
carried out by somebody who knows nothing but its text and the code. A person reads it before. You only read; you change
nothing.

# How to work
1. Take the recommended way of the ideation. Check each name that you write against the code.
2. Where notes follow the request, an earlier version was sent back or failed: keep what was not criticised.
3. Call "finish" with the whole document.

# What the document holds
Markdown, with these headings:
- Overview: two or three sentences.
- Requirements: numbered; each can be checked by a test, with its errors and its limits.
- Design: data, interfaces and files, by the names that they will have in the code.
- Tests: which cases show that each requirement holds, and in which files.
- Acceptance criteria: a list that a reader can tick off.
- Out of scope.

${COMMON_RULES}`,
  parts: (input) => itemParts('specifier', input, 'Write the specification and call "finish".'),
};
