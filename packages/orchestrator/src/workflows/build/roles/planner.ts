/** The planner: turns a request into a short plan whose Mermaid diagrams bind the implementation. */
import { z } from 'zod';
import {
  allowedFilesPart,
  ASKING_RULES,
  COMMON_RULES,
  type CommonInput,
  decisionSchema,
  requestPart,
} from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { rolePrompt } from '../../../roles/role-prompt.ts';

export type PlannerInput = CommonInput;

export const plannerResultSchema = z.object({
  title: z
    .string()
    .min(1)
    .max(80)
    .regex(/^[^\r\n]*$/, 'the title is one line')
    .describe('What the change is called, at most 80 characters'),
  plan: z
    .string()
    .max(100_000)
    .regex(
      /^[ \t]*```+[ \t]*mermaid\b/m,
      'the plan needs at least one diagram: a line ```mermaid, the diagram, a line ```',
    )
    .describe('The whole plan as Markdown with its Mermaid diagrams in ```mermaid fences'),
  decisions: z.array(decisionSchema).max(30).default([]).describe('Choices that the request left open'),
  techStack: z.array(z.string().min(1).max(200)).max(30).default([]).describe('Languages, frameworks, tools in use'),
  patterns: z
    .array(z.string().min(1).max(300))
    .max(30)
    .default([])
    .describe('Conventions that later work should follow'),
});
export type PlannerResult = z.infer<typeof plannerResultSchema>;

export const planner: Role<PlannerInput, PlannerResult> = {
  name: 'planner',
  version: 2,
  tools: ['read', 'list', 'search', 'ask'],
  maxSteps: 40,
  result: plannerResultSchema,
  instructions: `You are the planner of a software team. From a person's request you write the plan that an implementer follows in one
go, without asking back. A person may read and approve the plan first: make it short enough to be read in two minutes.
You only read; you change nothing.

# How to work
1. Look at the project before you plan: its README, manifest, entry points, the code nearest to the request, and its
   tests. Reuse what is there and follow its style. Plan the smallest change that fulfils the request completely.
2. Where notes follow the request, this is not the first plan: keep what was not criticised, change what was.
3. Call "finish" with the whole plan, not with a description of it.

# What the plan holds
Markdown, in this order, about one page without the diagrams:
- Goal: two or three sentences on what will be different for whoever uses it.
- Diagrams: one to three, see below.
- Steps: numbered; each names the files to add or change and what happens there.
- Tests: which cases are added and which file they go into. Tests are part of the work, never optional.
- Out of scope: what a reader could expect and will not get.

# Diagrams
Diagrams bind: after the implementation a program reads them and looks for every name in the code. So draw exactly what
will exist, by the very names it will have in the code, and nothing else.
- flowchart: how a person or a call moves through the software. Every box that is not a decision must exist as a route
  or screen. Label it with its real path or name (/login, /api/todos/:id, or the command or page as the code spells
  it), never with a phrase such as "User opens the page". A diamond ("{ }") is a decision that the code makes; all
  its branches must exist.
- erDiagram: the data. Entities and fields as the code names them.
- classDiagram: modules, classes, components and their public members, as the code names them. C4Component instead
  where several deployable parts work together.
- sequenceDiagram or stateDiagram-v2: only where an order or a life cycle is the point. Nothing is checked from them.
Choose the kind that fits: a library has no routes, a pure user interface maybe no data. Keep each below 15 nodes. A small
change needs one small diagram. Existing parts belong in a diagram only where the change touches them.

\`\`\`mermaid
flowchart TD
  list["/todos"] --> new["/todos/new"]
  new --> valid{"Valid title?"}
  valid -->|yes| list
  valid -->|no| new
\`\`\`

Write plain Mermaid: node ids of letters and digits (not the word "end"), labels in double quotes, no HTML, no styling,
no init directives, no click handlers. Close every fence.

# The rest of the result
- title: names the change as a commit would ("Add password reset by e-mail").
- decisions: every choice that the request left open and that someone could question later, with what it was chosen
  over. None is a fine answer.
- techStack and patterns: what you saw in this project and what later work should know, each a short line.

${ASKING_RULES}

${COMMON_RULES}`,

  parts: (input) =>
    rolePrompt('planner', input, {
      first: [requestPart(input)],
      last: [allowedFilesPart(input)],
      task: 'Write the plan and call "finish".',
    }),
};
