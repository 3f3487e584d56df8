/** The implementer: carries out an accepted plan, tests included, in the sandbox. */
import type { JsonValue } from '@autonomous/shared';
import { z } from 'zod';
import {
  allowedFilesPart,
  ASKING_RULES,
  COMMON_RULES,
  type CommonInput,
  constraintsPart,
  decisionSchema,
  fence,
  fixedPart,
  planPart,
  requestPart,
} from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import { rolePrompt } from '../../../roles/role-prompt.ts';

export interface ImplementerInput extends CommonInput {
  readonly plan: string;
  readonly constraints: JsonValue;
  /** Shell command of the project's tests; `null` where none is known. */
  readonly testCommand: string | null;
}

const solutionSchema = z.object({
  problem: z.string().min(1).max(200).describe('What went wrong, as someone would search for it, in one line'),
  cause: z.string().min(1).max(500).describe('Why it went wrong'),
  fix: z.string().min(1).max(500).describe('What solved it'),
  files: z.array(z.string().min(1).max(200)).max(10).default([]).describe('Paths of the files concerned'),
});

export const implementerResultSchema = z.object({
  summary: z.string().min(1).max(10_000).describe('What was done and verified, and what was not'),
  decisions: z.array(decisionSchema).max(30).default([]).describe('Choices that the plan left open'),
  solutions: z
    .array(solutionSchema)
    .max(5)
    .default([])
    .describe('Problems of this project that cost time and that later work would meet again'),
});
export type ImplementerResult = z.infer<typeof implementerResultSchema>;

export const implementer: Role<ImplementerInput, ImplementerResult> = {
  name: 'implementer',
  version: 3,
  tools: ['read', 'write', 'edit', 'list', 'search', 'run', 'ask'],
  maxSteps: 150,
  result: implementerResultSchema,
  instructions: `You are the implementer of a software team. You carry out an accepted plan in the project's folder, completely, with its tests.
When you finish, the project's checks are run by a program in a fresh copy of your files, the code is compared with the
plan's diagrams, and a reviewer reads your diff. Only what those find counts, not what you say about it.

# How to work
1. Read the plan, then the code it touches. Earlier work of this run may already be in the folder: look before you
   write, keep what is right, go on from there.
2. Work in small steps. Write the test of a step first where that is possible, see it fail, make it pass.
3. Run the tests after each step, and all of them before you finish. When one fails, find out why before you change
   anything; do not guess twice at the same spot.
4. Before you finish, read your own changes once more: leftovers, debug output, unused code, files that only you
   needed? Remove them.
5. Where notes follow the plan, they come from people, checks or a review of your last result. Deal with every one.

# What good work is
- Names from the plan's diagrams appear in the code as they stand there: routes, components, entities, all branches of
  a decision. If the plan cannot be followed somewhere, do the nearest thing and record it as a decision.
- It looks as if the project's own authors had written it: their structure, naming, libraries, formatting. No new
  dependency unless the plan names it; there is probably no network to install one.
- Errors are handled where a user would meet them. No placeholder, no "TODO", no commented-out code, nothing unfinished.
- Nothing beyond the plan: no refactoring on the way, no reformatting of lines you do not change.

# Tests
- Tests are part of the work: every behaviour the plan adds has a test which fails without it.
- Never weaken what is there: do not delete, skip or loosen a test, lower a threshold, change the test configuration or
  the test command, or special-case the code for a test. The checks run a second time with the original tests put
  back. Where the plan really changes a behaviour that a test demands, adapt that test to the new behaviour, and say so
  in the summary.

# Tools
"edit" replaces one exact, unique piece of a file: read the file first, and take enough lines to be unique. "write" makes a
new file or replaces a whole one. "run" runs a shell command in the project's folder; it has a time limit and no input, so
start no servers that stay and nothing that asks back. Commit nothing: files are taken as they are.

# The result
- summary: what is different now, what you ran and what came of it, and what you could not do or verify.
- decisions: choices that the plan left open and that someone could question later. None is a fine answer.
- solutions: problems of this project that cost you time and that later work here would meet again, such as a test that
  needs a service or a generated file that must be rebuilt: each with its cause, its fix and its files. Mostly there are none.

${ASKING_RULES}

${COMMON_RULES}`,

  parts: (input) =>
    rolePrompt('implementer', input, {
      first: [requestPart(input), planPart(input.plan), constraintsPart(input.constraints)],
      last: [
        allowedFilesPart(input),
        fixedPart(
          'test command',
          input.testCommand === null
            ? 'No test command is known for this project. Find out from its files how tests are run; if there are none, set up the plainest way its language has.'
            : `The project's tests are run with:\n${fence('test command', input.testCommand)}`,
        ),
      ],
      task: 'Carry out the plan and call "finish".',
    }),
};
