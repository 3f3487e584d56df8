/** The roles of a research run. */
import type { WorkflowRole } from '../../workflow.ts';
import { noveltyJudge } from './novelty-judge.ts';
import { repoAnalyst } from './repo-analyst.ts';
import { reportRepairer } from './report-repairer.ts';
import { researcher } from './researcher.ts';
import { synthesiser } from './synthesiser.ts';

export const roles: readonly WorkflowRole[] = [
  { role: researcher, title: 'Researcher', defaultModel: 'gpt-4o-mini', defaultsOf: 'validator' },
  { role: repoAnalyst, title: 'Repository analyst', defaultModel: 'gpt-4o-mini', defaultsOf: 'validator' },
  { role: synthesiser, title: 'Synthesiser', defaultModel: 'deepseek-reasoner', defaultsOf: 'planner' },
  { role: noveltyJudge, title: 'Judge of novelty', defaultModel: 'gpt-4o-mini', defaultsOf: 'validator' },
  { role: reportRepairer, title: 'Repairer of the report', defaultModel: 'gpt-4o-mini', defaultsOf: 'validator' },
];
