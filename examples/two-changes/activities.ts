/** The work outside the machine: two activities of this workflow's own, and those of the engine that any workflow may use. */
import {
  type Activity,
  type ActivityRegistry,
  type ActivityTools,
  baseline,
  callAgent,
  check,
  commitOnBranch,
  hashOf,
  integrateChild,
  merge,
  mergeChild,
  NeedsHuman,
  ONE_TRY_A_SANDBOX,
  prepare,
  projectFacts,
  promptNotes,
  pushBranch,
  THREE_TRIES,
  tidiedAll,
  withReadOnlyCheckout,
  type WorkflowRole,
} from '@autonomous/orchestrator/workflow';
import { type Split, surveyor } from './surveyor.ts';
import type { Activities, Config } from './types.ts';

type Of<Name extends keyof Activities> = Activity<Activities[Name]['input'], Activities[Name]['output']>;
type Implementations = { readonly [Name in keyof Activities]: Of<Name> };

export const roles: readonly WorkflowRole[] = [
  { role: surveyor, title: 'Surveyor', defaultModel: 'claude-3-5-sonnet-20241022' },
];

export function activities(tools: ActivityTools): ActivityRegistry {
  const implementations: Implementations = {
    prepare: prepare<Config>(tools, roles),
    baseline: baseline(tools),
    survey: survey(tools),
    writeSplit: writeSplit(tools),
    integrateChild: integrateChild(tools),
    check: check(tools),
    mergeChild: mergeChild(tools),
    pushBranch: pushBranch(tools),
    merge: merge(tools),
  };
  return tidiedAll(tools, implementations);
}

/** Calls the surveyor on a checkout that it can read and not change. */
function survey(tools: ActivityTools): Of<'survey'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { outcome, cost } = await withReadOnlyCheckout(tools, context, input, async (project, work) =>
        callAgent(tools, context, {
          role: surveyor,
          input: { call: input.call, request: input.request, notes: promptNotes(input.notes) },
          facts: await projectFacts(tools, context, project, input, work),
          model: input.config.modelRouting.surveyor,
          config: input.config,
          work,
          notes: input.notes,
        }),
      );
      // The role has no tool to ask with.
      if (outcome.kind === 'question') throw new NeedsHuman('agent_failed', 'The surveyor asked instead of finishing.');
      return { split: outcome.result, cost };
    },
  };
}

/** Commits the split as a document to the run's branch. The same split gives the same commit. */
function writeSplit(tools: ActivityTools): Of<'writeSplit'> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, runId, branch, head, split }, context) {
      const { repository } = tools;
      const project = await tools.project(projectId, context.runId);
      const path = `.autonomous/runs/${runId}/split.md`;
      const text = tools.scrub(documentOf(split));
      const tree = await repository.writeFiles(project, await repository.treeOf(project, head), { [path]: text });
      const message = tools.scrub(`Split: ${split.title}`);
      const commit = await commitOnBranch(tools, context, { project, branch, head, tree, message });
      return { path, hash: hashOf(text), commit };
    },
  };
}

/** The document as people read it, in Markdown. */
function documentOf({ title, summary, changes }: Split): string {
  const sections = changes.map(
    (change, index) => `## ${index + 1}. ${change.title}\n\n${change.request}\n\n**By itself:** ${change.reason}\n`,
  );
  return `# ${title}\n\n${summary}\n\n${sections.join('\n')}`;
}
