/** The activities in which architects and critics work. */
import { callReadingAgent } from '../../activities/agents/reading-agent.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import { type Activity, ONE_TRY_A_SANDBOX } from '../../core/activity.ts';
import { topicFiles } from '../parts/topics/topic-files.ts';
import { findingsOf } from '../research/kept-findings.ts';
import { architectOf, CRITICS, criticOf } from './issues.ts';
import { miscitedFaults } from './miscited.ts';
import { ARCHITECTS, NO_PLAN, planHashOf } from './plan.ts';
import { shownClaims, shownIssues, shownRefused } from './plan-texts.ts';
import { planArchitect } from './roles/plan-architect.ts';
import { planCritic } from './roles/plan-critic.ts';
import { eventsOfBoth } from './run-events.ts';
import type { Draft, Fault, PlanActivities, PlanAgentInput } from './types.ts';

type Of<Name extends keyof PlanActivities> = Activity<PlanActivities[Name]['input'], PlanActivities[Name]['output']>;

/** One architect proposes changes of its sections. */
export function draft(tools: ActivityTools): Of<'draft'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { agent, seat, correction, unproven } = input;
      const { title = '', sections = [] } = ARCHITECTS[seat - 1] ?? {};
      const { result, cost } = await callReadingAgent(tools, context, input, {
        role: planArchitect,
        own: {
          duty: `You look after ${title} of the plan: ${sections.join(', ')}.`,
          ...(await shown(tools, input, null, architectOf(seat))),
          correction: correction === undefined ? null : withFaults(withoutFaults(correction.draft), correction.faults),
          task: [
            `This is round ${input.round}. Propose changes of your sections where they are needed, answer the open issues about them, and call "finish".`,
            ...(unproven.length === 0
              ? []
              : [`Nothing was found for these claims; do not rest the plan on them: ${unproven.join(' ')}`]),
          ].join('\n'),
        },
        callTools: [],
        folder: `reading-${agent}`,
      });
      const miscited = miscitedFaults(result, seat, findingsOf(await eventsOfBoth(tools, input)));
      return { agent, draft: miscited.length === 0 ? result : { ...result, miscited }, cost };
    },
  };
}

/** One critic examines the plan. */
export function criticise(tools: ActivityTools): Of<'criticise'> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(input, context) {
      const { agent, seat, correction } = input;
      const { result, cost } = await callReadingAgent(tools, context, input, {
        role: planCritic,
        own: {
          duty: `You are ${criticOf(seat)}. You examine ${CRITICS[seat - 1] ?? ''}.`,
          ...(await shown(tools, input, criticOf(seat), criticOf(seat))),
          correction: correction === undefined ? null : withFaults(correction.review, correction.faults),
          task: `This is round ${input.round}. Raise new issues, withdraw those of yours that are settled, and call "finish".`,
        },
        callTools: [],
        folder: `reading-${agent}`,
      });
      return { agent, review: result, cost };
    },
  };
}

/**
 * What both are shown of the plan and the report.
 * @param critic name of the critic who reads it; `null`: an architect
 */
async function shown(tools: ActivityTools, input: PlanAgentInput, critic: string | null, own: string) {
  const { plan, issues, refused, slug } = input;
  return {
    plan: planHashOf(plan) === planHashOf(NO_PLAN) ? '' : JSON.stringify(plan, null, 1),
    findings: shownClaims(findingsOf(await eventsOfBoth(tools, input))),
    report: topicFiles(slug).markdown,
    issues: shownIssues(issues, critic),
    refused: shownRefused(refused.filter(({ agent }) => agent === own)),
  };
}

function withoutFaults({ miscited: _miscited, ...draft }: Draft): object {
  return draft;
}

function withFaults(result: object, faults: readonly Fault[]): string {
  const lines = faults.map(
    ({ section, index, reason }) => `- ${section}${index === null ? '' : `, number ${index + 1}`}: ${reason}`,
  );
  return `${JSON.stringify(result, null, 1)}\n\nNot taken:\n${lines.join('\n')}`;
}
