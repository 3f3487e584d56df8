/** Activities of the stage planning: the plan, its place in the repository, questions about it. */
import { type Concern, NeedsHuman } from '@autonomous/shared';
import { memoryConcern } from '../../../documents/memory/memory-concern.ts';
import { renderPlanDocument } from '../documents/plan-document.ts';
import { nextSpecNumber, specPath, specsAmong } from '../../../documents/plans/spec-path.ts';
import { hashOf } from '../../../documents/content-hash.ts';
import { planReply } from '../roles/plan-reply.ts';
import { planner } from '../roles/planner.ts';
import { type Activity, type ActivityContext, ONE_TRY_A_SANDBOX, THREE_TRIES } from '../../../core/activity.ts';
import type { BuildActivities, CommittedPlan } from '../types.ts';
import { callAgent, projectFacts, promptNotes } from '../../../activities/agents/agent-call.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { commitOnBranch } from '../../../activities/git/commits.ts';
import { withReadOnlyCheckout } from '../../../activities/agents/read-only-checkout.ts';

type Of<Name extends keyof BuildActivities> = Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;

export function plan(tools: ActivityTools): Of<'plan'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { outcome, cost } = await withReadOnlyCheckout(tools, context, input, async (project, work) =>
        callAgent(tools, context, {
          role: planner,
          input: {
            call: input.call,
            request: input.request,
            notes: promptNotes(input.notes),
          },
          facts: await projectFacts(tools, context, project, input, work),
          model: input.config.modelRouting.planner,
          config: input.config,
          work,
          notes: input.notes,
        }),
      );
      if (outcome.kind === 'question') return { kind: 'question', question: outcome.question, cost };
      const parsed = await tools.parser.parse(outcome.result.plan);
      const draft = {
        ...outcome.result,
        constraints: parsed.ok ? parsed.constraints : null,
        model: cost.model,
        scripted: cost.scripted,
      };
      return parsed.ok ? { kind: 'plan', draft, cost } : { kind: 'invalid', draft, message: parsed.message, cost };
    },
  };
}

export function commitPlan(tools: ActivityTools): Of<'commitPlan'> {
  return {
    retry: THREE_TRIES,
    perform: (input, context) =>
      writePlan(
        tools,
        context,
        input,
        { ...input.draft, models: [input.draft.model] },
        input.existing,
        memoryConcern(input.draft),
      ),
  };
}

/** A plan that a person edited: parsed as strictly as a model's. */
export function revisePlan(tools: ActivityTools): Of<'revisePlan'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const plan = withoutFrontMatter(input.text);
      const parsed = await tools.parser.parse(plan);
      if (!parsed.ok) return { ok: false, message: parsed.message };
      const { title, scripted } = input;
      const models = [...new Set([...input.models, 'person'])];
      const written = await writePlan(
        tools,
        context,
        input,
        { title, plan, constraints: parsed.constraints, models, scripted },
        input.existing,
      );
      return { ok: true, plan: written };
    },
  };
}

export function replyToPerson(tools: ActivityTools): Of<'replyToPerson'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { outcome, cost } = await withReadOnlyCheckout(tools, context, input, async (project, work) =>
        callAgent(tools, context, {
          role: planReply,
          input: {
            call: input.call,
            request: input.request,
            notes: promptNotes(input.notes),
            plan: (input.plan && (await tools.repository.readFile(project, input.head, input.plan.path))) ?? '',
            question: input.question,
          },
          facts: await projectFacts(tools, context, project, input, work),
          model: input.config.modelRouting.planner,
          config: input.config,
          work,
          notes: input.notes,
        }),
      );
      if (outcome.kind === 'question')
        throw new NeedsHuman('agent_failed', 'The planner answered the question with a question.');
      return { reply: outcome.result.reply, cost };
    },
  };
}

async function writePlan(
  tools: ActivityTools,
  context: ActivityContext,
  input: BuildActivities['commitPlan']['input'] | BuildActivities['revisePlan']['input'],
  draft: Pick<CommittedPlan, 'title' | 'constraints' | 'models' | 'scripted'> & { readonly plan: string },
  existing: CommittedPlan | null,
  memory: Concern | null = existing?.memory ?? null,
): Promise<CommittedPlan> {
  const { repository } = tools;
  const project = await tools.project(input.projectId, input.runId);
  const { title, models, constraints, scripted } = draft;
  const specs = existing === null ? specsAmong(await repository.listFiles(project, input.head)) : [];
  const path = existing?.path ?? specPath(nextSpecNumber(specs), title);
  const text = renderPlanDocument({
    title,
    runId: input.runId,
    request: input.request,
    createdAt: context.startedAt,
    models,
    plan: tools.scrub(draft.plan),
  });
  const tree = await repository.writeFiles(project, await repository.treeOf(project, input.head), { [path]: text });
  const commit = await commitOnBranch(tools, context, {
    project,
    branch: input.branch,
    head: input.head,
    tree,
    message: `Plan: ${title}`,
  });
  return {
    title,
    path,
    artifactHash: hashOf(text),
    commit,
    codeTree: await repository.codeTree(project, commit),
    constraints,
    models,
    scripted,
    ...(memory === null ? {} : { memory }),
  };
}

function withoutFrontMatter(text: string): string {
  return text.replace(/^---\n[\s\S]*?\n---\n+/, '');
}
