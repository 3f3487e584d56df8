/** The role `surveyor`: reads the project and splits a request in two changes that can be reviewed one after the other. */
import { COMMON_RULES, type CommonInput, requestPart, type Role, rolePrompt } from '@autonomous/orchestrator/workflow';
import { z } from 'zod';

const change = z.object({
  title: z.string().trim().min(1).max(80).describe('Title of the change, such as that of a commit'),
  request: z.string().trim().min(1).max(8_000).describe('Everything that whoever builds this change has to know'),
  reason: z.string().trim().min(1).max(2_000).describe('Why this change can be built and reviewed by itself'),
});

export const splitSchema = z.object({
  title: z.string().trim().min(1).max(80).describe('Title of the whole'),
  summary: z.string().trim().min(1).max(4_000).describe('How the request is split, in two or three sentences'),
  changes: z.array(change).length(2).describe('The two changes, in the order in which they are to be built'),
});
export type Split = z.infer<typeof splitSchema>;

export const surveyor: Role<CommonInput, Split> = {
  name: 'surveyor',
  version: 1,
  tools: ['read', 'list', 'search'],
  maxSteps: 40,
  result: splitSchema,
  instructions: `You split a request to change a project in two changes. Each is built, checked and reviewed by itself, the
second on top of the first. You only read; you change nothing.

# What a good split is
- After the first change alone the project works and its tests pass.
- Each change can be understood without the other. Preparing the ground first, then building on it, is often a good split.
- Together they are exactly the request: nothing is left out, nothing is added.
- The request of a change names the files and the behaviour that it is about. Whoever builds it sees that text alone.

${COMMON_RULES}`,

  parts: (input) =>
    rolePrompt('surveyor', input, {
      first: [requestPart(input)],
      task: 'Split the request in two changes and call "finish".',
    }),
};
