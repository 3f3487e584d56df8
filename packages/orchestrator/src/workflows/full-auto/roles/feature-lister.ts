/** The feature lister: turns a plan into features, each of which is a run of its own. */
import { z } from 'zod';
import {
  type CommonInput,
  COMMON_RULES,
  filesPart,
  fixedPart,
  guideParts,
  memoryPart,
  noteParts,
  requestPart,
  resultPart,
  skillsPart,
} from '../../../roles/prompt-parts.ts';
import { callLine, type Role } from '../../../roles/role.ts';
import { listedFeatureSchema, MAX_FEATURES } from '../features.ts';
import { LONGEST_PLAN } from '../plan.ts';

export const featureListResultSchema = z.object({
  features: z.array(listedFeatureSchema).min(1).max(MAX_FEATURES),
  testCommand: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .regex(/^[^\r\n]*$/, 'it is one line')
    .nullable()
    .default(null)
    .describe('Where the project names no test command: the one that runs all its tests without a network. Else null'),
});

export interface FeatureListerInput extends CommonInput {
  /** The plan as JSON. */
  readonly plan: string;
  /** Test command of the project; `null`: it names none. */
  readonly test: string | null;
}

export const featureLister: Role<FeatureListerInput, z.infer<typeof featureListResultSchema>> = {
  name: 'feature-lister',
  version: 1,
  tools: ['read', 'list', 'search'],
  maxSteps: 40,
  result: featureListResultSchema,
  instructions: `You turn a plan into features. Each feature is implemented with its tests, checked and merged by itself, in the order of the
dependencies; the project's tests must pass after each of them. Nobody approves them one by one. You only read; you change nothing.

# How to work
1. Every task of the plan belongs to a feature: "tasks" names the ids of those that it carries out, and the server refuses a list
   that leaves one out. Make a feature as small as it can be while the product stays whole after it.
2. Give each feature all that it needs in its description: who carries it out sees the code and this text alone. Name files,
   functions, errors, limits, the acceptance criteria of the plan, and the tests that fail without the feature.
3. Tests are part of their feature, never a feature of their own: a feature passes only when a test of its own fails without it. What
   no test can show, such as documentation, belongs to the feature that it is about. Where the project names no test command, you name
   it as "testCommand": the first feature brings a runner that it starts and the first test, and all later ones use it.
4. A feature depends on those without which it cannot be built, and on no other: where one fails, all that depend on it are given up.
   There is no cycle.
5. Where notes follow the request, your last list was refused: mend what they say.

${COMMON_RULES}`,
  parts: (input) => [
    fixedPart('call', callLine('feature-lister', input.call)),
    fixedPart('tests', testsText(input)),
    requestPart(input),
    resultPart('plan', 'The plan:', input.plan, LONGEST_PLAN),
    ...guideParts(input),
    skillsPart(input),
    memoryPart(input),
    filesPart(input),
    ...noteParts(input),
    fixedPart('task', 'Turn the plan into features and call "finish".'),
  ],
};

function testsText({ test }: FeatureListerInput): string {
  return test === null
    ? 'The project names no test command: name it as "testCommand". It runs in a sandbox without a network, after the dependencies are installed.'
    : `The project is tested by: ${test.slice(0, 500)}`;
}
