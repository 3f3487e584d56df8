/** The activities in which agents of this workflow work: they write the documents of an item and look for bugs in its result. */
import { NeedsHuman } from '@autonomous/shared';
import { callAgent, projectFacts, promptNotes } from '../../activities/agents/agent-call.ts';
import { withReadOnlyCheckout } from '../../activities/agents/read-only-checkout.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import type { Cost } from '../../activities/types.ts';
import { hashOf } from '../../documents/content-hash.ts';
import { type Activity, type ActivityContext, ONE_TRY_A_SANDBOX } from '../../core/activity.ts';
import type { Role } from '../../roles/role.ts';
import { renderTasks, taskFaults } from './documents.ts';
import { decomposer } from './roles/decomposer.ts';
import { ideator } from './roles/ideator.ts';
import type { ItemRoleInput } from './roles/item-part.ts';
import { itemReviewer } from './roles/item-reviewer.ts';
import { specifier } from './roles/specifier.ts';
import type { Finding, ItemActivities, ItemConfig, ReviewInput } from './types.ts';

type Of<Name extends keyof ItemActivities> = Activity<ItemActivities[Name]['input'], ItemActivities[Name]['output']>;

export function writeDocument(tools: ActivityTools): Of<'writeDocument'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { phase, before } = input;
      if (phase === 'decomposing') {
        const { result, cost } = await called(tools, context, input, decomposer, before);
        const faults = taskFaults(result.tasks);
        if (faults.length > 0)
          throw new NeedsHuman('agent_failed', `The tasks cannot be carried out: ${faults.join(' ')}`);
        const { tasks } = result;
        return { draft: { phase, text: renderTasks(tasks), tasks, ...madeBy(cost) }, cost };
      }
      const role = phase === 'ideating' ? ideator : specifier;
      const { result, cost } = await called(tools, context, input, role, before);
      return { draft: { phase, text: result.document, ...madeBy(cost) }, cost };
    },
  };
}

const madeBy = ({ model, scripted }: Cost) => ({ model, scripted });

export function review(tools: ActivityTools): Of<'review'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { result, cost } = await called(tools, context, input, itemReviewer, null);
      const titles = result.bugs.map(({ title }) => title);
      const findings = result.bugs.map((bug, index): Finding => {
        const sameBefore = titles.slice(0, index).filter((title) => title === bug.title).length;
        return { ...bug, id: bugId(input.item.id, bug.title, sameBefore) };
      });
      return { findings, summary: result.summary, cost };
    },
  };
}

/**
 * The same for the same bug of an item.
 * @param sameBefore bugs of one look that have this title and come before it
 */
function bugId(item: string, title: string, sameBefore: number): string {
  const repeated = sameBefore === 0 ? '' : `\n${sameBefore}`;
  return `bug-${hashOf(`${item}\n${title}${repeated}`).slice(0, 12)}`;
}

async function called<Result>(
  tools: ActivityTools,
  context: ActivityContext,
  input: ReviewInput,
  role: Role<ItemRoleInput, Result> & { readonly name: string },
  before: string | null,
): Promise<{ readonly result: Result; readonly cost: Cost }> {
  const { outcome, cost } = await withReadOnlyCheckout(tools, context, input, async (project, work) =>
    callAgent(tools, context, {
      role,
      input: {
        call: input.call,
        request: input.request,
        notes: promptNotes(input.notes),
        item: input.item.text,
        documents: input.documents,
        before,
      },
      facts: await projectFacts(tools, context, project, input, work),
      model: modelOf(input.config, role.name),
      config: input.config,
      work,
      notes: input.notes,
    }),
  );
  if (outcome.kind === 'question')
    throw new NeedsHuman('agent_failed', `The ${role.name} asked a question, which its role does not allow.`);
  return { result: outcome.result, cost };
}

function modelOf({ modelRouting }: Pick<ItemConfig, 'modelRouting'>, role: string): string {
  const models: Readonly<Record<string, string>> = modelRouting;
  return models[role] ?? '';
}
