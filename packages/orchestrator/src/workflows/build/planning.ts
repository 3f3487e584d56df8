/** Planning: the configuration, a plan that parses and is committed, and its approval. */
import { and, assign, emit, enqueueActions } from 'xstate';
import { clarificationStates } from '../parts/clarification.ts';
import { callEnded } from '../parts/costs.ts';
import { approvalGate } from '../parts/gate.ts';
import { noteFeedback } from '../parts/notes.ts';
import { pushInput } from '../parts/publishing.ts';
import { headerOf, titleOf } from '../parts/run-context.ts';
import { agentInput, shownPlan } from './inputs.ts';
import { clock, failed } from './pausing.ts';
import { buildSetup } from './setup.ts';
import type { ActivityError, BuildContext, PlanDraft } from './types.ts';

export const planningStates = () => ({
  planning,
  planGate,
  awaitingPlanApproval,
  replying,
  awaitingPlanRepair,
  revisingPlan,
  pushingPlan,
  ...clarificationStates({
    first: { stage: 'planning', target: '#build.active.planning.work.drafting' },
    later: { stage: 'implementation', target: '#build.active.implementation.work.implementing' },
  }),
});

const planning = buildSetup.createStateConfig({
  type: 'parallel',
  meta: { status: 'running', stage: 'planning' },
  states: {
    work: {
      initial: 'preparing',
      states: {
        preparing: {
          invoke: {
            id: 'prepare',
            src: 'prepare',
            input: ({ context }) => ({ ...headerOf(context), requestedConfig: context.requestedConfig }),
            onDone: {
              target: 'drafting',
              actions: [
                assign(({ event }) => ({
                  baseCommit: event.output.baseCommit,
                  head: event.output.baseCommit,
                  config: event.output.config,
                  excludePaths: event.output.excludePaths,
                  setup: event.output.setup,
                  test: event.output.test,
                  autoRetry: event.output.autoRetry,
                })),
                emit(({ event }) => ({
                  type: 'RUN_CONFIGURED',
                  config: event.output.config,
                  baseCommit: event.output.baseCommit,
                  notices: event.output.notices,
                })),
                'startBaseline',
              ],
            },
            onError: failed('planning'),
          },
        },
        drafting: {
          invoke: {
            id: 'planner',
            src: 'plan',
            input: ({ context }) => agentInput(context, 'planner'),
            onDone: [
              {
                guard: ({ event }) => event.output.kind === 'question',
                target: '#build.active.asking',
                actions: [
                  ...callEnded('planner'),
                  assign(({ event }) => ({
                    question:
                      event.output.kind === 'question'
                        ? { asked: event.output.question, from: 'planning' as const }
                        : null,
                  })),
                ],
              },
              {
                guard: ({ context, event }) => event.output.kind === 'invalid' && !context.parserRetried,
                target: 'drafting',
                reenter: true,
                actions: [
                  ...callEnded('planner'),
                  assign(({ context, event }) => ({
                    parserRetried: true,
                    notes: [
                      ...context.notes,
                      {
                        kind: 'parser' as const,
                        text: event.output.kind === 'invalid' ? event.output.message : '',
                      },
                    ],
                  })),
                ],
              },
              {
                guard: ({ event }) => event.output.kind === 'invalid',
                target: '#build.active.awaitingPlanRepair',
                actions: [
                  ...callEnded('planner'),
                  assign(({ event }) => ({
                    draft: event.output.kind === 'invalid' ? event.output.draft : null,
                    parserMessage: event.output.kind === 'invalid' ? event.output.message : null,
                  })),
                ],
              },
              {
                target: 'committing',
                actions: [
                  ...callEnded('planner'),
                  assign(({ event }) => ({
                    draft: event.output.kind === 'plan' ? event.output.draft : null,
                    parserMessage: null,
                    parserRetried: false,
                  })),
                ],
              },
            ],
            onError: failed('planning'),
          },
        },
        committing: {
          invoke: {
            id: 'commitPlan',
            src: 'commitPlan',
            input: ({ context }) => ({
              ...headerOf(context),
              head: context.head,
              draft: context.draft ?? NO_DRAFT,
              existing: context.plan,
            }),
            onDone: {
              target: '#build.active.planGate',
              actions: enqueueActions(({ enqueue, event, context }) => {
                const { draft } = context;
                enqueue({ type: 'keepPlan', params: { plan: event.output } });
                for (const decision of draft?.decisions ?? []) enqueue.emit({ type: 'DECISION_RECORDED', ...decision });
                enqueue.assign({
                  draft: null,
                  decisions: [...context.decisions, ...(draft?.decisions ?? [])],
                  techStack: draft?.techStack ?? [],
                  patterns: draft?.patterns ?? [],
                });
              }),
            },
            onError: failed('planning'),
          },
        },
      },
    },
    clock: clock('planning'),
  },
});

const planGate = buildSetup.createStateConfig({
  always: [{ guard: 'planIsTrusted', target: 'pushingPlan' }, { target: 'awaitingPlanApproval' }],
});

/** A person approves the plan, edits it, sends it back or asks about it. */
const awaitingPlanApproval = buildSetup.createStateConfig({
  meta: approvalGate<BuildContext>({
    stage: 'planning',
    kind: 'plan',
    decisions: ['approve', 'reject', 'ask'],
    summary: (context) => `Review the plan '${context.plan?.title ?? ''}'`,
    shows: (context) => ({
      ...shownPlan(context),
      ...(context.plan?.memory ? { concerns: [context.plan.memory] } : {}),
    }),
    details: (context) => ({
      path: context.plan?.path,
      title: context.plan?.title,
      version: context.planVersion,
      constraints: context.plan?.constraints,
      techStack: context.techStack,
      patterns: context.patterns,
    }),
  }),
  on: {
    APPROVAL_GRANTED: [
      { guard: and(['namesThePlan', 'bringsAPlan']), target: 'revisingPlan', actions: 'takeEdit' },
      { guard: 'namesThePlan', target: 'pushingPlan' },
    ],
    APPROVAL_REJECTED: { target: '#build.active.planning.work.drafting', actions: noteFeedback },
    QUESTION_ASKED: { target: 'replying', actions: assign({ personAsks: ({ event }) => event.question }) },
  },
});

const replying = buildSetup.createStateConfig({
  meta: { status: 'running', stage: 'planning' },
  invoke: {
    id: 'plan-reply',
    src: 'replyToPerson',
    input: ({ context }) => ({
      ...agentInput(context, 'plan-reply'),
      plan: context.plan,
      question: context.personAsks ?? '',
    }),
    onDone: {
      target: 'awaitingPlanApproval',
      actions: [
        ...callEnded('plan-reply'),
        emit(({ context, event }) => ({
          type: 'QUESTION_REPLIED',
          question: context.personAsks ?? '',
          reply: event.output.reply,
        })),
        assign({ personAsks: null }),
      ],
    },
    onError: failed('planning'),
  },
});

/** The planner failed twice to write a diagram that parses: a person corrects the plan, or sends it back. */
const awaitingPlanRepair = buildSetup.createStateConfig({
  meta: approvalGate<BuildContext>({
    stage: 'planning',
    kind: 'invalid_plan',
    decisions: ['approve', 'reject'],
    summary: () => "The plan's diagrams cannot be read: correct the plan, or send it back",
    shows: () => ({}),
    details: (context) => ({
      parserMessage: context.parserMessage,
      draft: context.draft?.plan,
      title: context.draft?.title,
    }),
  }),
  on: {
    APPROVAL_GRANTED: { guard: 'bringsAPlan', target: 'revisingPlan', actions: 'takeEdit' },
    APPROVAL_REJECTED: {
      target: '#build.active.planning.work.drafting',
      actions: [noteFeedback, assign({ parserRetried: false })],
    },
  },
});

const revisingPlan = buildSetup.createStateConfig({
  meta: { status: 'running', stage: 'planning' },
  invoke: {
    id: 'revisePlan',
    src: 'revisePlan',
    input: ({ context }) => ({
      ...headerOf(context),
      head: context.head,
      text: context.edited ?? '',
      existing: context.plan,
      title: titleOf(context.draft?.title ?? context.plan?.title, context),
      models: context.draft ? [context.draft.model] : (context.plan?.models ?? []),
      scripted: context.draft?.scripted ?? context.plan?.scripted ?? false,
    }),
    onDone: [
      {
        guard: ({ event }) => event.output.ok,
        target: 'pushingPlan',
        actions: enqueueActions(({ enqueue, event, context }) => {
          if (!event.output.ok) return;
          const { draft } = context;
          enqueue({ type: 'keepPlan', params: { plan: event.output.plan } });
          for (const decision of draft?.decisions ?? []) enqueue.emit({ type: 'DECISION_RECORDED', ...decision });
          enqueue.assign({
            edited: null,
            draft: null,
            parserMessage: null,
            parserRetried: false,
            decisions: [...context.decisions, ...(draft?.decisions ?? [])],
            techStack: draft?.techStack ?? context.techStack,
            patterns: draft?.patterns ?? context.patterns,
          });
        }),
      },
      {
        target: 'awaitingPlanRepair',
        actions: assign(({ context, event }) => ({
          parserMessage: event.output.ok ? null : event.output.message,
          draft: {
            ...NO_DRAFT,
            techStack: context.techStack,
            patterns: context.patterns,
            ...context.draft,
            title: context.draft?.title ?? context.plan?.title ?? '',
            plan: context.edited ?? '',
          },
        })),
      },
    ],
    onError: failed('planning'),
  },
});

/** A push of the plan that fails has no ways on: they are those of a result, and lead past the implementation. */
const failedPush = {
  target: '#build.interrupted',
  actions: {
    type: 'rememberFailure',
    params: ({ event }: { readonly event: { readonly error: unknown } }) => {
      // The engine gives every failed activity an error of this shape.
      const { ways: _, ...error } = event.error as ActivityError;
      return { stage: 'planning', error };
    },
  },
} as const;

/** Only an accepted plan is pushed. The plan alone is on the branch; a pull request is a draft before the result is published. */
const pushingPlan = buildSetup.createStateConfig({
  meta: { status: 'running', stage: 'planning' },
  invoke: {
    id: 'pushPlan',
    src: 'pushBranch',
    input: ({ context }) => ({ ...pushInput({ context }), isDraft: true as const }),
    onDone: [
      {
        guard: ({ event }) => event.output.pullRequest !== undefined,
        target: 'implementation',
        actions: { type: 'saySo', params: ({ event }) => ({ message: event.output.note ?? '' }) },
      },
      { target: 'implementation' },
    ],
    onError: failedPush,
  },
});

const NO_DRAFT: PlanDraft = {
  title: '',
  plan: '',
  decisions: [],
  techStack: [],
  patterns: [],
  constraints: null,
  model: '',
  scripted: false,
};
