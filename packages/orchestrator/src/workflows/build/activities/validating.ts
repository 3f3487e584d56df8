/** Activities of the stage validation: the project's own checks in a fresh sandbox, the reviewer, the report. */
import { isAccepted, NeedsHuman, openConcerns } from '@autonomous/shared';
import { memoryConcern } from '../../../documents/memory/memory-concern.ts';
import { hashOf } from '../../../documents/content-hash.ts';
import { validator } from '../roles/validator.ts';
import { type Activity, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../../../core/activity.ts';
import type { BuildActivities, Reported, Reviewed } from '../types.ts';
import { callAgent, projectFacts, promptNotes } from '../../../activities/agents/agent-call.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { commitOnBranch } from '../../../activities/git/commits.ts';
import { concernsOf } from '../../../activities/evidence/concerns.ts';
import { withReadOnlyCheckout } from '../../../activities/agents/read-only-checkout.ts';
import { reviewedDiff, reviewText } from '../../../activities/evidence/reviewed-diff.ts';
import { renderReport, reportPath } from './validation-report.ts';

type Of<Name extends keyof BuildActivities> = Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;

export function review(tools: ActivityTools): Of<'review'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context): Promise<Reviewed> {
      const { repository } = tools;
      const { outcome, cost } = await withReadOnlyCheckout(tools, context, input, async (project, work) => {
        const [planText, diff, facts] = await Promise.all([
          repository.readFile(project, input.head, input.plan.path),
          reviewedDiff(repository, project, input.baseCommit, input.head),
          projectFacts(tools, context, project, input, work),
        ]);
        return callAgent(tools, context, {
          role: validator,
          input: {
            call: input.call,
            request: input.request,
            notes: promptNotes(input.notes),
            plan: planText ?? '',
            constraints: input.plan.constraints,
            diff: reviewText(diff),
            evidence: input.evidence.flatMap((evidence) => evidence.commands),
          },
          facts,
          model: input.config.modelRouting.validator,
          config: input.config,
          work,
          notes: input.notes,
        });
      });
      if (outcome.kind === 'question')
        throw new NeedsHuman('agent_failed', 'The validator asked a question instead of judging.');
      const { verdict, severity, summary, feedback } = outcome.result;
      return { verdict, severity, summary: tools.scrub(summary), feedback: tools.scrub(feedback), cost };
    },
  };
}

/** Writes the validation report onto the run's branch; the code tree, which evidence binds to, stays as it is. */
export function report(tools: ActivityTools): Of<'report'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Reported> {
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      const view = await tools.view(input.runId);
      const { signal } = context;
      const result = { project, view, baseCommit: view.baseCommit ?? input.head, head: input.head, signal };
      const memory = memoryConcern(input.memory);
      const concerns = [...(await concernsOf(tools, result)), ...(memory === null ? [] : [memory])];
      const { text, findings } = await renderReport(tools, context, project, {
        ...input,
        at: context.startedAt,
        commit: input.head,
        view,
        concerns,
      });
      const path = reportPath(input.runId);
      const tree = await repository.writeFiles(project, await repository.treeOf(project, input.head), { [path]: text });
      const commit = await commitOnBranch(tools, context, {
        project,
        branch: input.branch,
        head: input.head,
        tree,
        message: `Validation report ${input.version}: ${input.failure === null ? 'passed' : 'failed'}`,
      });
      const accepted = view.acceptedConcerns ?? [];
      return {
        path,
        hash: hashOf(text),
        commit,
        findings,
        concerns: concerns.filter((concern) => !isAccepted(concern, accepted)),
        openConcerns: openConcerns(concerns, accepted),
      };
    },
  };
}
