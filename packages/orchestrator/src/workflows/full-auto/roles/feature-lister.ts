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

export const featureListResultSchema = z.object({
  features: z.array(listedFeatureSchema).min(1).max(MAX_FEATURES),
});

export interface FeatureListerInput extends CommonInput {
  /** The plan as JSON. */
  readonly plan: string;
}

const LONGEST_PLAN = 200_000;

export const featureLister: Role<FeatureListerInput, z.infer<typeof featureListResultSchema>> = {
  name: 'feature-lister',
  version: 1,
  tools: ['read', 'list', 'search'],
  maxSteps: 40,
  result: featureListResultSchema,
  instructions: `You turn a plan into features. Each feature is implemented with its tests, checked and merged by itself, in the order of the
dependencies; the project's tests must pass after each of them. Nobody approves them one by one. You only read; you change nothing.

# How to work
1. Every task of the plan belongs to exactly one feature. Make a feature as small as it can be while the product stays whole after it.
2. Give each feature all that it needs in its description: who carries it out sees the code and this text alone. Name files,
   functions, errors, limits, the acceptance criteria of the plan, and the tests that fail without the feature.
3. Tests are part of their feature, never a feature of their own. A feature that sets the project up names its test command.
4. A feature depends on those without which it cannot be built, and on no other: where one fails, all that depend on it are given up.
   There is no cycle.
5. Where notes follow the request, your last list was refused: mend what they say.

${COMMON_RULES}`,
  parts: (input) => [
    fixedPart('call', callLine('feature-lister', input.call)),
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
