/** The decomposer: breaks a specification into tasks with dependencies, each of which is a run of its own. */
import { z } from 'zod';
import { COMMON_RULES } from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { type ItemRoleInput, itemParts } from './item-part.ts';

/** Tasks of one item, at most. */
export const MAX_TASKS = 50;

const taskId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,30}$/);

export const tasksResultSchema = z.object({
  tasks: z
    .array(
      z.object({
        id: taskId.describe('Short and its own, such as T1'),
        title: z
          .string()
          .trim()
          .min(1)
          .max(120)
          .regex(/^[^\r\n]*$/, 'the title is one line'),
        description: z
          .string()
          .trim()
          .min(1)
          .max(8_000)
          .describe('Everything that somebody needs who sees only this text and the code, with the tests to add'),
        dependsOn: z.array(taskId).max(MAX_TASKS).default([]).describe('Ids of tasks that have to be done before'),
      }),
    )
    .min(1)
    .max(MAX_TASKS),
});
export type TasksResult = z.infer<typeof tasksResultSchema>;

export const decomposer: Role<ItemRoleInput, TasksResult> = {
  name: 'decomposer',
  version: 1,
  tools: ['read', 'list', 'search'],
  maxSteps: 40,
  result: tasksResultSchema,
  instructions: `You break the specification of a roadmap's item into tasks. Each task is planned, implemented with its tests, checked and
merged by itself, in the order of the dependencies; the project's tests must pass after each of them. You only read; you
change nothing.

# How to work
1. Make as few tasks as the work allows: one is enough for a small item, more than ten are rarely right. Each task leaves
   the product whole.
2. Give each task all that it needs of the specification in its description: who carries it out sees the code and this text
   alone. Name files, functions, errors, limits and the tests to add.
3. Every requirement of the specification belongs to exactly one task. Tests are part of their task, never a task of their own.
4. Where notes follow the request, an earlier version was sent back or failed: mend what they say.

${COMMON_RULES}`,
  parts: (input) => itemParts('decomposer', input, 'Break the specification into tasks and call "finish".'),
};
