/** The end of a run: a person decides about open blockers, the plan is compiled, approved where one is asked, and published. */
import { assign, enqueueActions } from 'xstate';
import { documentPublishingState, findingConcernsState } from '../parts/document-publishing.ts';
import { approvalGate } from '../parts/gate.ts';
import { noteFeedback } from '../parts/notes.ts';
import type { Compiled } from '../research/types.ts';
import { blockersOf } from './issues.ts';
import { planSetup } from './rounds.ts';
import { counted, failedAt, planInput, shownPlan } from './setup.ts';
import type { PlanContext } from './types.ts';

const blockerLines = ({ issues }: PlanContext): readonly string[] =>
  blockersOf(issues).map(
    ({ id, by, text, evidence, answer }) =>
      `${id} of ${by}: ${text} (evidence: ${evidence.join(', ')})${answer === null ? '' : ` Answer: ${answer.text}`}`,
  );

/** The rounds are used up. */
export const awaitingBlockers = planSetup.createStateConfig({
  meta: approvalGate<PlanContext>({
    stage: 'planning',
    kind: 'plan_blockers',
    decisions: ['approve', 'reject', 'close'],
    summary: ({ input, issues, plan, rounds }) => {
      const open = blockersOf(issues).length;
      const blocked = open === 0 ? 'still changed in its last rounds' : `has ${counted(open, 'open blocker')}`;
      const state =
        plan.tasks.length > 0
          ? blocked
          : open === 0
            ? 'has no task'
            : `has no task and ${counted(open, 'open blocker')}`;
      return `The plan for '${input.topic}' ${state} after ${counted(rounds.length, 'round')}. Take it, plan further or stop?`;
    },
    shows: shownPlan,
    details: (context) => ({ blockers: blockerLines(context) }),
  }),
  on: {
    APPROVAL_GRANTED: { guard: 'namesThePlan', target: 'compiling', actions: assign({ takenAnyway: true }) },
    APPROVAL_REJECTED: { target: 'planning', actions: [noteFeedback, 'goOn'] },
    FIX_DECIDED: {
      guard: ({ event }) => event.decision === 'close',
      target: '#research-and-plan.stopped',
      actions: assign({ failure: ({ event }) => event.reason ?? '' }),
    },
  },
});

const NOTES: Readonly<Record<Compiled['kind'], string>> = {
  compiled: '',
  absent: 'There is no LaTeX where commands run: the plan is there as Markdown and as .tex.',
  failed: 'LaTeX does not compile it: the plan is there as Markdown and as .tex.',
};

export const compiling = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'reporting' },
  invoke: {
    id: 'compile',
    src: 'compile',
    input: ({ context }) => planInput(context, 'completed'),
    onDone: {
      target: 'findingConcerns',
      actions: [
        { type: 'keepPlanFile', params: ({ event }) => ({ written: event.output }) },
        enqueueActions(({ enqueue, context: { head, versions, scripted }, event }) => {
          const { compiled, codeTree } = event.output;
          enqueue.assign({ compiled, codeTree });
          const pages = compiled.kind === 'compiled' ? compiled.pages : 0;
          const pdf = compiled.kind === 'compiled' ? compiled.pdf : undefined;
          if (pdf !== undefined)
            enqueue.emit({
              type: 'ARTIFACT_CREATED',
              artifact: {
                stage: 'reporting',
                type: 'plan_pdf',
                gitPath: pdf.path,
                commitSha: head,
                hash: pdf.hash,
                // Of the plan that it was compiled from.
                version: versions,
                parsedConstraints: null,
                scripted,
              },
            });
          enqueue.emit({ type: 'PLAN_COMPILED', pages, note: NOTES[compiled.kind] });
        }),
      ],
    },
    onError: failedAt('reporting'),
  },
});

export const findingConcerns = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'reporting' },
  ...findingConcernsState({
    ask: '#research-and-plan.active.awaitingResult',
    publish: '#research-and-plan.active.publishing',
    onError: failedAt('reporting'),
  }),
});

export const awaitingResult = planSetup.createStateConfig({
  meta: approvalGate<PlanContext>({
    stage: 'reporting',
    kind: 'plan_result',
    decisions: ['approve', 'reject'],
    summary: ({ input, plan, rounds }) =>
      `The plan for '${input.topic}' has ${counted(plan.tasks.length, 'task')} after ${counted(rounds.length, 'round')}. Publish it?`,
    shows: shownPlan,
    details: (context) => ({
      open: context.plan.openDecisions.map(({ decision }) => decision),
      ...(context.takenAnyway ? { blockers: blockerLines(context) } : {}),
    }),
  }),
  on: {
    APPROVAL_GRANTED: { guard: 'namesThePlan', target: 'publishing' },
    // The planning goes on with what the person says.
    APPROVAL_REJECTED: { target: 'planning', actions: [noteFeedback, 'goOn'] },
  },
});

export const publishing = planSetup.createStateConfig({
  meta: { status: 'running', stage: 'publishing' },
  ...documentPublishingState({
    title: ({ input }: PlanContext): string => `Plan: ${input.topic}`.slice(0, 80).toWellFormed(),
    check: '#research-and-plan.active.findingConcerns',
    done: '#research-and-plan.completed',
    onError: failedAt('publishing'),
  }),
});
