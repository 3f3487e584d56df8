/** The activities of a run that researches and plans, by the names that its machine gives them. */
import { TerminalFailure } from '@autonomous/shared';
import { commitOwnedFiles, type OwnedUpdate } from '../../activities/git/commit-owned-files.ts';
import { compileLatex } from '../../activities/compile-latex.ts';
import { mergeChild } from '../../activities/git/merge-child.ts';
import { tidiedAll } from '../../activities/tidied.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import { hashOf, hashOfBytes } from '../../documents/content-hash.ts';
import { renderPlan } from '../../documents/latex/render-plan.ts';
import { type ActivityContext, type ActivityRegistry, THREE_TRIES } from '../../core/activity.ts';
import { checkFindings } from '../research/activities.ts';
import { research } from '../research/agents.ts';
import { topicFiles } from '../parts/topics/topic-files.ts';
import { findingsOf } from '../research/kept-findings.ts';
import { reportOf } from '../research/report/report-of-run.ts';
import { NO_TEXTS } from '../research/report/report-texts.ts';
import type { Implementations } from '../parts/declared-activities.ts';
import { projectRunActivities } from '../parts/project-run-activities.ts';
import { criticise, draft } from './agents.ts';
import { planFiles } from './files.ts';
import { blockersOf } from './issues.ts';
import { planDataOf, planModelOf, renderPlanMarkdown } from './plan-texts.ts';
import { withPlanning } from './planning-state.ts';
import { roles } from './roles/index.ts';
import { eventsOfBoth } from './run-events.ts';
import type { CommitPlanInput, PlanActivities, PlanConfig } from './types.ts';

type All = Implementations<PlanActivities>;

export function planActivities(tools: ActivityTools): ActivityRegistry {
  const activities: All = {
    ...projectRunActivities<PlanConfig>(tools, roles),
    mergeChild: mergeChild(tools),
    readResearch: readResearch(tools),
    draft: draft(tools),
    criticise: criticise(tools),
    research: research(tools),
    checkFindings: checkClaims(tools),
    commitPlan: commitPlan(tools),
    compile: compile(tools),
  };
  return tidiedAll(tools, activities);
}

/** Type of the event at the end of a round of research. */
const ENDED: string = 'ROUND_ENDED';

/** Counts what the research run has kept. */
function readResearch(tools: ActivityTools): All['readResearch'] {
  return {
    retry: THREE_TRIES,
    async perform({ researchRun }) {
      const events = await tools.events(researchRun);
      const rounds = events.filter(({ type }) => type === ENDED).length;
      return { findings: findingsOf(events).length, rounds };
    },
  };
}

/** Looks up the passages for new claims. What the research run found is known. */
function checkClaims(tools: ActivityTools): All['checkFindings'] {
  return {
    retry: THREE_TRIES,
    perform: ({ researchRun, ...input }, context) =>
      checkFindings(tools, ({ runId }) => eventsOfBoth(tools, { runId, researchRun })).perform(input, context),
  };
}

interface Written {
  readonly tex: string;
  readonly bib: string;
  readonly markdown: string;
  readonly data: string;
}

/** @throws {TerminalFailure} when the plan contradicts itself */
async function written(tools: ActivityTools, { startedAt }: ActivityContext, input: CommitPlanInput): Promise<Written> {
  const { runId, topic, plan, issues } = input;
  const events = await eventsOfBoth(tools, input);
  const data = planDataOf(plan, topic, startedAt.slice(0, 10));
  const report = reportOf({ topic, at: startedAt, texts: NO_TEXTS, rounds: [], events });
  const rendered = await renderPlan(planModelOf(data), report);
  if (!rendered.ok)
    throw new TerminalFailure(`The plan of run ${runId} contradicts itself: ${rendered.faults.join(' ')}`);
  return {
    tex: rendered.tex,
    bib: rendered.bib,
    markdown: renderPlanMarkdown(data, blockersOf(issues)),
    data: `${JSON.stringify(data, null, 2)}\n`,
  };
}

function updateOf(input: CommitPlanInput, { tex, bib, markdown, data }: Written, message: string): OwnedUpdate {
  const { slug, status, round, plan, resolved } = input;
  const files = planFiles(slug);
  const { state, bibliography } = topicFiles(slug);
  const planning = {
    status,
    rounds: round,
    components: plan.components.length,
    resolved,
    openDecisions: plan.openDecisions.length,
    plan: files.tex,
  };
  return {
    message,
    files: {
      [state]: (text) => (text === null ? null : withPlanning(text, planning)),
      [files.tex]: () => tex,
      [bibliography]: () => bib,
      [files.markdown]: () => markdown,
      [files.data]: () => data,
    },
  };
}

/** Writes the plan and the state of the topic to the run's branch. */
function commitPlan(tools: ActivityTools): All['commitPlan'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const plan = await written(tools, context, input);
      const update = (): OwnedUpdate => updateOf(input, plan, `Plan: ${input.topic}, round ${input.round}`);
      const { commit } = await commitOwnedFiles(tools, update, 'branch').perform({ ...input, baseBranch: '' }, context);
      return {
        commit: commit ?? input.head,
        artifactHash: hashOf(tools.scrub(plan.markdown)),
        path: planFiles(input.slug).markdown,
      };
    },
  };
}

/** Sets the plan by LaTeX, and commits what came of it. */
function compile(tools: ActivityTools): All['compile'] {
  return {
    retry: THREE_TRIES,
    async perform(input, context) {
      const { runId, projectId, slug, topic, head } = input;
      const files = planFiles(slug);
      const plan = await written(tools, context, input);
      const main = `${slug}-plan.tex`;
      const outcome = await compileLatex(tools, context, {
        runId,
        folder: 'latex',
        main,
        files: [
          { name: main, content: tools.scrub(plan.tex) },
          { name: 'sources.bib', content: tools.scrub(plan.bib) },
        ],
      });
      const update = (): OwnedUpdate => ({
        ...updateOf(input, plan, `Plan: ${topic}`),
        ...(outcome.kind === 'compiled' ? { bytes: { [files.pdf]: outcome.pdf } } : {}),
      });
      const owned = await commitOwnedFiles(tools, update, 'branch').perform({ ...input, baseBranch: '' }, context);
      const commit = owned.commit ?? head;
      const project = await tools.project(projectId, runId);
      const codeTree = await tools.repository.codeTree(project, commit);
      const done = { commit, codeTree, artifactHash: hashOf(tools.scrub(plan.markdown)), path: files.markdown };
      switch (outcome.kind) {
        case 'compiled':
          return {
            ...done,
            compiled: {
              kind: 'compiled',
              pages: outcome.pages,
              pdf: { path: files.pdf, hash: hashOfBytes(outcome.pdf) },
            },
          };
        case 'absent':
          return { ...done, compiled: { kind: 'absent' } };
        case 'failed': {
          const errors = outcome.errors.slice(0, 20).map(({ line, message }) => `line ${line ?? '?'}: ${message}`);
          return { ...done, compiled: { kind: 'failed', errors: errors.join('\n').slice(0, 8_000).toWellFormed() } };
        }
        default:
          return outcome satisfies never;
      }
    },
  };
}
