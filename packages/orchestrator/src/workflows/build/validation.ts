/** Validation: checks in a fresh sandbox, a review, a report, and what happens to a failed result. */
import { assign, emit } from 'xstate';
import { callEnded } from '../parts/costs.ts';
import { approvalGate } from '../parts/gate.ts';
import { besideBase, failuresOf, noChecks } from './checks.ts';
import { agentInput, checkInput, memoryOf, planOf, reportInput, shownResult } from './inputs.ts';
import { clock, failed } from './pausing.ts';
import { buildSetup } from './setup.ts';
import type { BuildContext } from './types.ts';

/** The state in which a result is validated, once the baseline is known: planning does not wait for that. */
export const toValidation = '#build.active.awaitingBaseline';

export const validationStates = () => ({
  awaitingBaseline,
  validation,
  awaitingChecks,
  deciding,
  awaitingFixDecision,
});

/** Evidence for a result, which an agent may send back once because it changes nothing. */
const awaitingBaseline = buildSetup.createStateConfig({
  meta: { status: 'running', stage: 'validation' },
  always: [
    {
      // Once: whether there is nothing to do is then for a person to say.
      guard: ({ context }) => context.isEmpty === true && context.emptyResults === 0,
      target: '#build.active.implementation.work.implementing',
      actions: 'sendBackEmpty',
    },
    { guard: ({ context }) => context.baseline !== 'running', target: 'validation' },
  ],
});

const validation = buildSetup.createStateConfig({
  type: 'parallel',
  meta: { status: 'running', stage: 'validation' },
  states: {
    work: {
      initial: 'choosingChecks',
      states: {
        choosingChecks: {
          always: [
            { guard: ({ context }) => context.test === null, target: '#build.active.awaitingChecks' },
            {
              guard: ({ context }) => context.test?.command === '',
              target: 'reviewing',
              actions: assign({ failure: noChecks }),
            },
            { target: 'checkingAsIs' },
          ],
        },
        checkingAsIs: {
          invoke: {
            id: 'checkAsIs',
            src: 'check',
            input: ({ context }) => checkInput(context, 'as_is'),
            onDone: [
              {
                guard: ({ event }) => event.output.passed,
                target: 'checkingBaseTests',
                actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              },
              {
                target: 'reporting',
                actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              },
            ],
            onError: failed('validation'),
          },
        },
        checkingBaseTests: {
          invoke: {
            id: 'checkBaseTests',
            src: 'check',
            input: ({ context }) => checkInput(context, 'base_tests'),
            onDone: [
              {
                guard: ({ event }) => event.output.passed,
                target: 'reviewing',
                actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              },
              {
                target: 'reporting',
                actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              },
            ],
            onError: failed('validation'),
          },
        },
        reviewing: {
          invoke: {
            id: 'validator',
            src: 'review',
            input: ({ context }) => ({
              ...agentInput(context, 'validator'),
              plan: planOf(context),
              evidence: context.evidence,
            }),
            onDone: {
              target: 'reporting',
              actions: [
                ...callEnded('validator'),
                assign(({ context, event }) => ({
                  review: event.output,
                  failure:
                    context.failure ??
                    (event.output.verdict === 'fail'
                      ? {
                          from: 'review' as const,
                          severity: event.output.severity,
                          summary: event.output.summary,
                          feedback: event.output.feedback,
                        }
                      : null),
                })),
              ],
            },
            onError: failed('validation'),
          },
        },
        reporting: {
          invoke: {
            id: 'report',
            src: 'report',
            input: ({ context }) => ({
              ...reportInput(context),
              version: context.reportVersion + 1,
              memory: memoryOf(context),
            }),
            onDone: [
              {
                guard: ({ context }) => context.failure === null,
                target: '#build.active.resultGate',
                actions: [
                  { type: 'keepReport', params: ({ event }) => ({ report: event.output }) },
                  emit(({ context }) => ({
                    type: 'VALIDATION_PASSED',
                    codeTree: context.codeTree ?? '',
                    summary: context.review?.summary ?? '',
                  })),
                ],
              },
              {
                target: '#build.active.deciding',
                actions: [
                  { type: 'keepReport', params: ({ event }) => ({ report: event.output }) },
                  emit(({ context }) => ({
                    type: 'VALIDATION_FAILED',
                    codeTree: context.codeTree ?? '',
                    severity: context.failure?.severity ?? 'major',
                    summary: context.failure?.summary ?? '',
                    feedback: context.failure?.feedback ?? '',
                  })),
                ],
              },
            ],
            onError: failed('validation'),
          },
        },
      },
    },
    clock: clock('validation'),
  },
});

/** The project names no check. A person is asked once; it does not count against the agents' questions. */
const awaitingChecks = buildSetup.createStateConfig({
  meta: {
    status: 'awaiting_clarification',
    stage: 'validation',
    gate: {
      kind: 'clarification',
      decisions: ['answer'],
      summary: () => CHECKS_QUESTION.question,
      facts: (context) => ({
        question: CHECKS_QUESTION,
        attemptNumber: context.clarificationCount,
        details: {},
      }),
    },
  },
  on: {
    CLARIFICATION_ANSWERED: {
      target: 'validation',
      actions: assign(({ context, event }) => ({
        test: {
          command: /^none$/i.test(event.response.trim()) ? '' : event.response.trim(),
          source: `answer by ${event.by}`,
        },
        answered: [...context.answered, { question: CHECKS_QUESTION.question, response: event.response }],
      })),
    },
  },
});

const deciding = buildSetup.createStateConfig({
  always: [
    {
      guard: 'mayFixByItself',
      target: '#build.active.implementation.work.implementing',
      actions: [
        'countFix',
        'noteFailure',
        emit(({ context }) => ({
          type: 'FIX_DECIDED',
          by: 'policy',
          decision: 'retry',
          attempt: context.fixAttempts,
        })),
      ],
    },
    { target: 'awaitingFixDecision' },
  ],
});

/** A person has the failed result fixed, or accepts it with a reason. */
const awaitingFixDecision = buildSetup.createStateConfig({
  meta: approvalGate<BuildContext>({
    stage: 'validation',
    kind: 'fix',
    decisions: ['retry', 'accept'],
    summary: (context) => context.failure?.summary ?? 'The validation failed',
    shows: shownResult,
    details: (context) => ({
      from: context.failure?.from,
      severity: context.failure?.severity,
      feedback: context.failure?.feedback,
      attempts: context.fixAttempts,
      restored: context.evidence.find((evidence) => evidence.mode === 'base_tests')?.restored,
      ...besideBase(context),
      accepts: failuresOf(context),
      report: context.report?.path,
    }),
  }),
  on: {
    FIX_DECIDED: [
      {
        guard: ({ event }) => event.decision === 'retry' && event.take !== undefined,
        target: '#build.active.implementation.work.takingFiles',
        actions: ['takeFrom', 'countFix'],
      },
      {
        guard: ({ event }) => event.decision === 'retry',
        target: '#build.active.implementation.work.implementing',
        actions: [
          'noteFailure',
          assign(({ context, event }) => ({
            fixAttempts: context.fixAttempts + 1,
            notes: event.reason ? [...context.notes, { kind: 'feedback' as const, text: event.reason }] : context.notes,
          })),
        ],
      },
      {
        // An acceptance of a failed result needs a reason.
        guard: ({ event }) => (event.reason ?? '').trim() !== '',
        target: 'resultGate',
        actions: assign(({ context, event }) => ({
          openConcerns: [],
          accepted: {
            by: event.by,
            reason: event.reason ?? '',
            codeTree: context.codeTree ?? '',
            failures: failuresOf(context),
          },
        })),
      },
    ],
  },
});

const CHECKS_QUESTION = {
  question: 'Which command checks this project?',
  context:
    "No test command was found in package.json, a Makefile or .autonomous/config.json. It is run in a fresh sandbox after each implementation. Answer 'none' if there is none: a person then has to accept the result.",
  responseType: 'text' as const,
};
