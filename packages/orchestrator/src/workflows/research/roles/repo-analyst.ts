/** The repository analyst: answers one question from the files of the project. */
import { COMMON_RULES } from '../../../roles/prompt-parts.ts';
import type { Role } from '../../../roles/role.ts';
import type { AgentFindings } from '../types.ts';
import { FINDING_RULES, findingsSchema, researchParts, type ResearcherInput } from './researcher.ts';

export const repoAnalyst: Role<ResearcherInput, AgentFindings> = {
  name: 'repo-analyst',
  version: 1,
  tools: ['read', 'list', 'search'],
  maxSteps: 40,
  result: findingsSchema,
  instructions: `You are one of several who research a topic at the same time. The others search the web; you read the project in
/workspace, its code and its documents, and report what they say to your question.

# How to work
1. Find the files that matter with "list" and "search", and read them.
2. The address of a passage is file:<path>, such as file:src/main.ts. Quote it without the numbers of lines.
3. Call "finish".

${FINDING_RULES}

${COMMON_RULES}`,
  parts: (input) => researchParts('repo-analyst', input),
};
