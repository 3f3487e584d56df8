/**
 * The run of one phase: implement, verify, review, fix, commit. Each agent starts with a fresh context; verification and review
 * share one budget of retries, and beyond it a person decides.
 */
import { type EventPayloads, type PauseReason, withBudgets } from '@autonomous/shared';
import { assign, emit, enqueueActions, setup } from 'xstate';
import type { Checked, CheckInput, Note, RunHeader } from '../../../activities/types.ts';
import { activity, type StateMeta } from '../../../core/definition.ts';
import { COMMANDS_QUESTION, commandsIn } from '../commands-question.ts';
import { type Attempt, escalationLine, escalationText } from '../escalation.ts';
import type { PhaseStatus, PlanFact } from '../orchestrator-state.ts';
import type { Signal } from '../signals.ts';
import {
  type ActivityError,
  type Attempted,
  type PhaseActivities,
  type PhaseAgentInput,
  type PhaseContext,
  phaseInputSchema,
  type PhaseOutput,
  type PhaseReviewed,
  type PhaseRunInput,
} from './types.ts';

type Facts =
  | 'RUN_CONFIGURED'
  | 'ARTIFACT_CREATED'
  | 'IMPLEMENTATION_SUCCEEDED'
  | 'IMPLEMENTATION_FAILED'
  | 'EVIDENCE_RECORDED'
  | 'VALIDATION_PASSED'
  | 'VALIDATION_FAILED'
  | 'FIX_DECIDED'
  | 'COST_RECORDED'
  | 'NOTICE';
type Emitted = { [Type in Facts]: { readonly type: Type } & EventPayloads[Type] }[Facts] | PlanFact;

type Input<Name extends keyof PhaseActivities> = PhaseActivities[Name]['input'];
type Output<Name extends keyof PhaseActivities> = PhaseActivities[Name]['output'];

const header = ({ runId, projectId, request, branch, startedAt }: PhaseContext): RunHeader => ({
  runId,
  projectId,
  request,
  branch,
  startedAt,
});

/** Role of the agent that the next attempt calls. */
const roleOf = ({ next }: PhaseContext) => (next === 'implement' ? 'phase-implementer' : 'phase-fixer');

const agentInput = (context: PhaseContext, role: keyof PhaseContext['calls']): PhaseAgentInput => {
  const { input, config, head, baseCommit, excludePaths, test, lint, guidance } = context;
  const guided: Note[] = guidance === null ? [] : [{ kind: 'feedback', text: guidance }];
  return {
    ...header(context),
    input,
    config,
    head,
    baseCommit,
    excludePaths,
    notes: [...context.notes, ...failureNotes(context, role), ...guided],
    call: context.calls[role] + 1,
    commands: [test, lint].flatMap((each) => (each === null || each.command === '' ? [] : [each.command])),
  };
};

/** An implementer that begins anew is told what stopped the last one; a fixer has it among its issues. */
const failureNotes = ({ attempts }: PhaseContext, role: keyof PhaseContext['calls']): Note[] => {
  const last = attempts.at(-1);
  return role === 'phase-implementer' && last !== undefined ? [{ kind: 'checks', text: last.error }] : [];
};

const checkInput = (context: PhaseContext): CheckInput & Pick<PhaseContext, 'lint'> => ({
  ...header(context),
  mode: 'as_is',
  commit: context.head,
  baseCommit: context.baseCommit,
  setup: context.setup,
  test: context.test ?? { command: '', source: 'none' },
  lint: context.lint,
  excludePaths: context.excludePaths,
  timeoutMinutes: context.config.timeoutMinutes.validation,
});

const hasNoCommand = ({ test, lint }: PhaseContext): boolean =>
  (test?.command ?? '') === '' && (lint?.command ?? '') === '';

const phaseName = ({ input: { number, title } }: PhaseContext): string =>
  title === '' ? `Phase ${number}` : `Phase ${number}: ${title}`;

const retriesLeft = ({ attempts, input, iterations, iterationLimit }: PhaseContext): boolean =>
  attempts.length <= input.maxRetries && iterations < iterationLimit;

const escalation = (context: PhaseContext) => ({
  phase: context.input.number,
  planPath: context.input.planPath,
  attempts: context.attempts,
  branch: context.isShared ? context.branch : null,
  ...(context.attempts.length <= context.input.maxRetries
    ? { limit: `the limit of ${context.iterationLimit} iterations is reached` }
    : {}),
});

/** Says where the phase is, for the state file and the run of the plan. */
const says = (status: PhaseStatus) => ({ type: 'say', params: { status } }) as const;

/** The engine gives every failed activity an error of this shape. */
const errorOf = (event: unknown): ActivityError => (event as { readonly error: ActivityError }).error;

/** An agent that gave no usable result: an attempt that failed, and no reason to pause. */
const isAgentsFailure = (event: unknown): boolean => {
  const { kind, reason } = errorOf(event);
  return kind === 'needs_human' && (reason === 'agent_failed' || reason === 'stalled');
};

const failedText = (checked: Checked): string =>
  checked.commands
    .filter(({ exitCode }) => exitCode !== 0)
    .map(
      ({ command, exitCode, output }) =>
        `$ ${command}\nexit code ${exitCode ?? 'none (killed)'}\n${output.slice(-8_000)}`,
    )
    .join('\n\n');

const failedLine = (checked: Checked): string =>
  `Verification failed: ${checked.commands
    .filter(({ exitCode }) => exitCode !== 0)
    .map(({ command, exitCode }) => `\`${command}\` (exit code ${exitCode ?? 'none'})`)
    .join(', ')}`;

/** The context keeps what decides; the whole output is in the log. */
const withoutOutput = (checked: Checked): Checked => ({
  ...checked,
  commands: checked.commands.map((command) => ({ ...command, output: command.output.slice(-2_000) })),
});

/** A limit that is reached again each time the run resumes is one that time does not end. */
const MOST_RESUMES = 5;
const minutes = (count: number): number => Math.round(count * 60_000);

const paused = (stage: string) =>
  ({ target: '#plan-phase.interrupted', actions: { type: 'rememberFailure', params: { stage } } }) as const;

export const phaseMachine = setup({
  types: {
    context: {} as PhaseContext,
    input: {} as PhaseRunInput,
    output: {} as PhaseOutput,
    events: {} as Signal,
    emitted: {} as Emitted,
    meta: {} as StateMeta<PhaseContext>,
  },
  actors: {
    prepare: activity<Input<'prepare'>, Output<'prepare'>>(),
    findCommands: activity<Input<'findCommands'>, Output<'findCommands'>>(),
    setUp: activity<Input<'setUp'>, Output<'setUp'>>(),
    attempt: activity<Input<'attempt'>, Output<'attempt'>>(),
    commitCode: activity<Input<'commitCode'>, Output<'commitCode'>>(),
    check: activity<Input<'check'>, Output<'check'>>(),
    review: activity<Input<'review'>, Output<'review'>>(),
    commitPhase: activity<Input<'commitPhase'>, Output<'commitPhase'>>(),
    checkpoint: activity<Input<'checkpoint'>, Output<'checkpoint'>>(),
    shareBranch: activity<Input<'shareBranch'>, Output<'shareBranch'>>(),
    takeHandFix: activity<Input<'takeHandFix'>, Output<'takeHandFix'>>(),
  },
  delays: {
    implementationTimeout: ({ context }) => minutes(context.config.timeoutMinutes.implementation),
    reset: ({ context }) => context.paused?.resumesInMs ?? 0,
  },
  actions: {
    say: emit(({ context }, { status }: { status: PhaseStatus }) => ({
      type: 'PHASE_CHANGED' as const,
      phase: context.input.number,
      status,
      retryCount: context.attempts.length,
      lastError: context.lastError,
    })),
    rememberFailure: enqueueActions(({ enqueue, context, event }, { stage }: { stage: string }) => {
      const { reason, message, retryAfterMs, budget } = errorOf(event);
      const resumes =
        reason === 'rate_limited' && retryAfterMs !== undefined && context.resumedByItself < MOST_RESUMES
          ? { resumesInMs: Math.max(retryAfterMs, context.resumedByItself * 60_000) }
          : {};
      enqueue.assign({
        paused: { reason, message, stage, ...resumes, ...(budget === undefined ? {} : { budget }) },
      });
    }),
    rememberTimeout: assign(({ context }) => ({
      paused: {
        reason: 'timeout' as PauseReason,
        message: `The attempt took longer than ${context.config.timeoutMinutes.implementation} minutes.`,
        stage: 'implementation',
      },
    })),
    /** Counts a failed attempt; what was wrong is in `params`. */
    fail: enqueueActions(
      (
        { enqueue, context },
        { next, error, summary, issues }: { next: Attempt['action']; error: string; summary: string; issues?: string },
      ) => {
        const { attempts, next: action, summary: said } = context;
        const isAgents = action === 'implement' || action === 'fix';
        enqueue.assign({
          attempts: [...attempts, { action, summary: isAgents ? said : '', error }],
          lastError: error,
          next,
          guidance: null,
          ...(issues === undefined ? {} : { issues }),
        });
        enqueue.emit({
          type: 'VALIDATION_FAILED',
          codeTree: context.codeTree ?? '',
          severity: 'minor',
          summary: summary.slice(0, 4_000),
          feedback: error.slice(0, 20_000),
        });
      },
    ),
    retry: enqueueActions(({ enqueue, context }) => {
      enqueue.emit({ type: 'FIX_DECIDED', by: 'policy', decision: 'retry', attempt: context.attempts.length });
    }),
    keepAttempt: enqueueActions(({ enqueue, context }, { attempted }: { attempted: Attempted }) => {
      const role = roleOf(context);
      enqueue.emit({ type: 'COST_RECORDED', ...attempted.cost });
      for (const refused of attempted.refused)
        enqueue.emit({ type: 'NOTICE', message: `Not taken from the sandbox: ${refused}` });
      enqueue.assign({
        attempted,
        summary: attempted.summary,
        calls: { ...context.calls, [role]: context.calls[role] + 1 },
        iterations: context.iterations + 1,
        resumedByItself: 0,
        guidance: null,
      });
    }),
    /** A call that came to no result counts as well. */
    countFailedCall: assign(({ context }) => {
      const role = context.next === 'review' ? 'phase-reviewer' : roleOf(context);
      return {
        calls: { ...context.calls, [role]: context.calls[role] + 1 },
        iterations: context.iterations + 1,
        summary: '',
      };
    }),
    keepCode: enqueueActions(
      ({ enqueue, context }, code: { commit: string; codeTree: string; filesChanged: readonly string[] }) => {
        const { commit, codeTree, filesChanged } = code;
        const version = context.codeVersion + 1;
        enqueue.assign({ head: commit, codeTree, codeVersion: version, checked: null });
        enqueue.emit({
          type: 'ARTIFACT_CREATED',
          artifact: {
            stage: 'implementation',
            type: 'code',
            commitSha: commit,
            hash: codeTree,
            version,
            filesChanged,
            scripted: context.attempted?.cost.scripted ?? false,
          },
        });
        enqueue.emit({
          type: 'IMPLEMENTATION_SUCCEEDED',
          commit,
          codeTree,
          summary: context.summary,
          filesChanged,
        });
      },
    ),
    keepEvidence: enqueueActions(({ enqueue }, { checked }: { checked: Checked }) => {
      enqueue.emit({ type: 'EVIDENCE_RECORDED', ...checked });
      enqueue.assign({ checked: withoutOutput(checked) });
    }),
    keepReview: enqueueActions(({ enqueue, context }, { review }: { review: PhaseReviewed }) => {
      enqueue.emit({ type: 'COST_RECORDED', ...review.cost });
      enqueue.assign({
        calls: { ...context.calls, 'phase-reviewer': context.calls['phase-reviewer'] + 1 },
        resumedByItself: 0,
        guidance: null,
      });
      if (review.isApproved)
        enqueue.emit({ type: 'VALIDATION_PASSED', codeTree: context.codeTree ?? '', summary: review.summary });
    }),
    /** A person decided: the budget of retries begins anew. */
    beginAnew: assign(({ context }) => ({
      attempts: [],
      iterationLimit: Math.max(context.iterationLimit, context.iterations + context.input.maxRetries + 1),
    })),
    changeBudget: assign(({ context, event }) => {
      if (event.type !== 'BUDGET_CHANGED') return {};
      const { type: _type, by: _by, gateId: _gateId, ...change } = event;
      return {
        config: withBudgets(context.config, change),
        requestedConfig: { ...context.requestedConfig, ...change },
      };
    }),
  },
}).createMachine({
  id: 'plan-phase',
  initial: 'active',
  context: ({ input }) => {
    const values = phaseInputSchema.parse(input.input);
    return {
      runId: input.runId,
      projectId: input.projectId,
      request: input.request,
      branch: input.branch,
      startedAt: input.startedAt,
      input: values,
      config: input.config,
      requestedConfig: input.requestedConfig,
      baseCommit: '',
      head: '',
      excludePaths: [],
      setup: null,
      setupDone: false,
      test: values.test ?? null,
      lint: values.lint ?? null,
      calls: { 'phase-implementer': 0, 'phase-fixer': 0, 'phase-reviewer': 0 },
      notes: [],
      guidance: null,
      issues: '',
      next: 'implement',
      summary: '',
      attempts: [],
      iterations: 0,
      iterationLimit: values.maxIterations,
      attempted: null,
      codeTree: null,
      codeVersion: 0,
      checked: null,
      lastError: null,
      isShared: false,
      committed: null,
      paused: null,
      resumedByItself: 0,
      clarificationCount: 0,
    };
  },
  output: ({ context }) => ({
    phase: context.input.number,
    iterations: context.iterations,
    message: phaseName(context),
  }),
  on: {
    RUN_CANCELLED: '.cancelled',
    MESSAGE_SENT: {
      actions: assign({ notes: ({ context, event }) => [...context.notes, { kind: 'message', text: event.text }] }),
    },
    BUDGET_CHANGED: { actions: 'changeBudget' },
  },
  states: {
    active: {
      initial: 'preparing',
      states: {
        preparing: {
          meta: { status: 'running', stage: 'preparation' },
          entry: emit(({ context }) => ({
            type: 'PLAN_READ',
            planPath: context.input.planPath,
            phases: [context.input.number],
            total: context.input.total,
            maxRetries: context.input.maxRetries,
          })),
          invoke: {
            id: 'prepare',
            src: 'prepare',
            input: ({ context }) => ({ ...header(context), requestedConfig: context.requestedConfig }),
            onDone: {
              target: 'findingCommands',
              actions: enqueueActions(({ enqueue, context, event }) => {
                const { baseCommit, config, excludePaths, setup, test, notices } = event.output;
                enqueue.assign({
                  baseCommit,
                  head: baseCommit,
                  config,
                  excludePaths,
                  setup,
                  test: context.test ?? test,
                });
                enqueue.emit({ type: 'RUN_CONFIGURED', config, baseCommit, notices });
              }),
            },
            onError: paused('preparation'),
          },
        },

        findingCommands: {
          meta: { status: 'running', stage: 'preparation' },
          invoke: {
            id: 'findCommands',
            src: 'findCommands',
            input: ({ context }) => ({ ...header(context), baseCommit: context.baseCommit }),
            onDone: {
              target: 'settingUp',
              actions: assign(({ context, event }) => ({
                test: context.test ?? event.output.test,
                lint: context.lint ?? event.output.lint,
              })),
            },
            onError: paused('preparation'),
          },
        },

        settingUp: {
          meta: { status: 'running', stage: 'preparation' },
          always: [
            { guard: ({ context }) => context.test === null, target: 'awaitingCommands' },
            { guard: ({ context }) => context.setup === null || context.setupDone, target: 'working' },
          ],
          invoke: {
            id: 'setUp',
            src: 'setUp',
            input: ({ context }) => ({
              ...header(context),
              head: context.head,
              setup: context.setup ?? { command: '', source: 'none' },
              excludePaths: context.excludePaths,
            }),
            onDone: { target: 'working', actions: assign({ setupDone: true }) },
            onError: paused('preparation'),
          },
        },

        awaitingCommands: {
          meta: {
            status: 'awaiting_clarification',
            stage: 'preparation',
            gate: {
              kind: 'clarification',
              decisions: ['answer'],
              summary: () => COMMANDS_QUESTION.question,
              facts: (context) => ({
                question: { ...COMMANDS_QUESTION },
                attemptNumber: context.clarificationCount + 1,
                details: {},
              }),
            },
          },
          on: {
            CLARIFICATION_ANSWERED: {
              target: 'settingUp',
              actions: assign(({ context, event }) => ({
                ...commandsIn(event.response, event.by, context.lint),
                clarificationCount: context.clarificationCount + 1,
              })),
            },
          },
        },

        working: {
          always: [
            { guard: ({ context }) => context.next === 'review', target: 'reviewing' },
            { guard: ({ context }) => context.next === 'verify', target: 'verifying' },
            { guard: ({ context }) => context.next === 'fix', target: 'attempting', actions: says('fixing') },
            { target: 'attempting', actions: says('implementing') },
          ],
        },

        attempting: {
          meta: { status: 'running', stage: 'implementation' },
          invoke: {
            id: 'attempt',
            src: 'attempt',
            input: ({ context }) => ({
              ...agentInput(context, roleOf(context)),
              setup: context.setup,
              issues: context.next === 'implement' ? null : context.issues,
            }),
            onDone: {
              target: 'saving',
              actions: { type: 'keepAttempt', params: ({ event }) => ({ attempted: event.output }) },
            },
            onError: [
              {
                guard: ({ event }) => isAgentsFailure(event),
                target: 'savingFailed',
                actions: [
                  'countFailedCall',
                  {
                    type: 'fail',
                    params: ({ context, event }) => ({
                      next: context.next,
                      error: errorOf(event).message,
                      summary: `The agent gave no usable result: ${errorOf(event).message}`,
                    }),
                  },
                ],
              },
              paused('implementation'),
            ],
          },
          after: { implementationTimeout: { target: '#plan-phase.interrupted', actions: 'rememberTimeout' } },
        },

        // What an agent left without a result stays for the next attempt.
        savingFailed: {
          meta: { status: 'running', stage: 'implementation' },
          invoke: {
            id: 'saveFailed',
            src: 'checkpoint',
            input: ({ context }) => ({
              ...header(context),
              head: context.head,
              baseCommit: context.baseCommit,
              stage: 'implementation',
              excludePaths: context.excludePaths,
            }),
            onDone: {
              target: 'judging',
              actions: assign({ head: ({ context, event }) => event.output.commit ?? context.head }),
            },
            onError: 'judging',
          },
        },

        saving: {
          meta: { status: 'running', stage: 'implementation' },
          invoke: {
            id: 'commitCode',
            src: 'commitCode',
            input: ({ context }) => ({
              ...header(context),
              head: context.head,
              baseCommit: context.baseCommit,
              tree: context.attempted?.tree ?? '',
              message: `Phase ${context.input.number}, attempt ${context.iterations}\n\n${context.summary}`,
            }),
            onDone: [
              {
                guard: ({ context }) => context.attempted?.isDone === true,
                target: 'verifying',
                actions: { type: 'keepCode', params: ({ event }) => ({ ...event.output }) },
              },
              {
                target: 'judging',
                actions: [
                  { type: 'keepCode', params: ({ event }) => ({ ...event.output }) },
                  {
                    type: 'fail',
                    params: ({ context }) => ({
                      next: context.next,
                      error: context.summary,
                      summary: `${context.next === 'implement' ? 'FAILURE' : 'UNABLE'}: ${context.summary}`,
                      ...(context.next === 'implement'
                        ? {}
                        : {
                            issues: `${context.issues}\n\nThe last attempt could not fix all of it: ${context.summary}`,
                          }),
                    }),
                  },
                ],
              },
            ],
            onError: paused('implementation'),
          },
        },

        verifying: {
          meta: { status: 'running', stage: 'validation' },
          entry: says('verifying'),
          always: { guard: ({ context }) => hasNoCommand(context), target: 'reviewing' },
          invoke: {
            id: 'verify',
            src: 'check',
            input: ({ context }) => checkInput(context),
            onDone: [
              {
                guard: ({ event }) => event.output.passed,
                target: 'reviewing',
                actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              },
              {
                target: 'judging',
                actions: [
                  { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
                  {
                    type: 'fail',
                    params: ({ event }) => ({
                      next: 'fix' as const,
                      error: failedText(event.output),
                      summary: failedLine(event.output),
                      issues: failedText(event.output),
                    }),
                  },
                ],
              },
            ],
            onError: paused('validation'),
          },
        },

        reviewing: {
          meta: { status: 'running', stage: 'phase-review' },
          entry: says('reviewing'),
          invoke: {
            id: 'review',
            src: 'review',
            input: ({ context }) => ({ ...agentInput(context, 'phase-reviewer'), checked: context.checked }),
            onDone: [
              {
                guard: ({ event }) => event.output.isApproved,
                target: 'committing',
                actions: { type: 'keepReview', params: ({ event }) => ({ review: event.output }) },
              },
              {
                target: 'judging',
                actions: [
                  { type: 'keepReview', params: ({ event }) => ({ review: event.output }) },
                  {
                    type: 'fail',
                    params: ({ event }) => ({
                      next: 'fix' as const,
                      error: `Blockers of the review:\n${event.output.blockers}`,
                      summary: `Review found blockers: ${event.output.summary}`,
                      issues: event.output.blockers,
                    }),
                  },
                ],
              },
            ],
            onError: [
              {
                // Never an approval: the next attempt is another review.
                guard: ({ event }) => isAgentsFailure(event),
                target: 'judging',
                actions: [
                  {
                    type: 'fail',
                    params: ({ event }) => ({
                      next: 'review' as const,
                      error: `The review gave no usable result: ${errorOf(event).message}`,
                      summary: `The review gave no usable result: ${errorOf(event).message}`,
                    }),
                  },
                  assign(({ context }) => ({
                    calls: { ...context.calls, 'phase-reviewer': context.calls['phase-reviewer'] + 1 },
                  })),
                ],
              },
              paused('phase-review'),
            ],
          },
        },

        judging: {
          always: [
            { guard: ({ context }) => retriesLeft(context), target: 'working', actions: 'retry' },
            { target: 'sharing' },
          ],
        },

        // A person who fixes it by hand needs the work; where it cannot be pushed, guidance is the way on.
        sharing: {
          meta: { status: 'running', stage: 'phase-review' },
          entry: says('blocked'),
          invoke: {
            id: 'shareBranch',
            src: 'shareBranch',
            input: ({ context }) => ({ ...header(context), commit: context.head }),
            onDone: { target: 'blocked', actions: assign({ isShared: ({ event }) => event.output.pushed }) },
            onError: {
              target: 'blocked',
              actions: [
                assign({ isShared: false }),
                emit(({ event }) => ({
                  type: 'NOTICE',
                  message: `The branch of the phase could not be pushed, so that it cannot be fixed by hand there: ${errorOf(event).message}`,
                })),
              ],
            },
          },
        },

        blocked: {
          meta: {
            status: 'paused',
            stage: 'phase-review',
            gate: {
              kind: 'phase_blocked',
              decisions: ['retry', 'reject'],
              summary: (context) => escalationLine(escalation(context)),
              facts: (context) => ({
                reason: 'agent_failed',
                message: escalationText(escalation(context)),
                details: {
                  phase: context.input.number,
                  lastError: context.lastError,
                  attempts: context.attempts.map((attempt) => ({ ...attempt })),
                  ...(context.isShared ? { branch: context.branch, commit: context.head } : {}),
                },
              }),
            },
          },
          on: {
            RETRY_REQUESTED: { target: 'takingHandFix', actions: 'beginAnew' },
            APPROVAL_REJECTED: {
              target: 'working',
              actions: [
                'beginAnew',
                assign(({ context, event }) => ({
                  guidance: event.feedback,
                  // A review without a result gives a fixer nothing to go by but the guidance.
                  ...(context.next === 'review' ? { next: 'fix' as const, issues: event.feedback } : {}),
                })),
              ],
            },
          },
        },

        // Fixed by hand: whatever the person did is verified before any agent is called.
        takingHandFix: {
          meta: { status: 'running', stage: 'validation' },
          invoke: {
            id: 'takeHandFix',
            src: 'takeHandFix',
            input: ({ context }) => ({
              ...header(context),
              head: context.head,
              baseCommit: context.baseCommit,
              message: `Phase ${context.input.number}, fixed by hand`,
            }),
            onDone: {
              target: 'verifying',
              actions: enqueueActions(({ enqueue, context, event }) => {
                const { output } = event;
                enqueue.assign({ next: 'verify', summary: '' });
                if (output.commit === null) return;
                const { commit, codeTree, filesChanged } = output;
                const version = context.codeVersion + 1;
                enqueue.assign({ head: commit, codeTree, codeVersion: version, checked: null });
                enqueue.emit({
                  type: 'IMPLEMENTATION_SUCCEEDED',
                  commit,
                  codeTree,
                  summary: 'Fixed by hand.',
                  filesChanged,
                });
              }),
            },
            onError: paused('validation'),
          },
        },

        committing: {
          meta: { status: 'running', stage: 'phase-commit' },
          entry: says('committing'),
          invoke: {
            id: 'commitPhase',
            src: 'commitPhase',
            input: ({ context }) => ({
              ...header(context),
              head: context.head,
              baseCommit: context.baseCommit,
              message: phaseName(context),
            }),
            onDone: {
              target: '#plan-phase.completed',
              actions: [
                assign({
                  committed: ({ event }) => event.output,
                  head: ({ event }) => event.output.commit,
                  lastError: null,
                }),
                emit(({ context, event }) => ({
                  type: 'IMPLEMENTATION_SUCCEEDED',
                  commit: event.output.commit,
                  codeTree: event.output.codeTree,
                  summary: context.summary,
                  filesChanged: event.output.filesChanged,
                })),
                emit(({ context, event }) => ({
                  type: 'PHASE_COMMITTED',
                  phase: context.input.number,
                  hash: event.output.commit,
                  message: phaseName(context),
                })),
                says('completed'),
              ],
            },
            onError: paused('phase-commit'),
          },
        },

        last: { type: 'history', history: 'deep' },
      },
    },

    interrupted: {
      meta: { status: 'running', stage: (context) => context.paused?.stage ?? null },
      invoke: {
        id: 'checkpoint',
        src: 'checkpoint',
        input: ({ context }) => ({
          ...header(context),
          head: context.head,
          baseCommit: context.baseCommit,
          stage: context.paused?.stage ?? '',
          excludePaths: context.excludePaths,
        }),
        onDone: {
          target: 'paused',
          actions: assign({ head: ({ context, event }) => event.output.commit ?? context.head }),
        },
        onError: 'paused',
      },
    },

    paused: {
      meta: {
        status: 'paused',
        stage: (context) => context.paused?.stage ?? null,
        gate: {
          kind: 'pause',
          decisions: (context) =>
            context.paused?.reason === 'timeout' || context.paused?.reason === 'budget'
              ? ['retry', 'extend']
              : ['retry'],
          summary: (context) => context.paused?.message ?? '',
          facts: (context) => ({
            reason: context.paused?.reason,
            message: context.paused?.message,
            budget: context.paused?.budget,
            details: { resumesInMs: context.paused?.resumesInMs },
          }),
        },
      },
      initial: 'choosing',
      states: {
        choosing: {
          always: [
            { guard: ({ context }) => context.paused?.resumesInMs !== undefined, target: 'untilReset' },
            { target: 'untilAPerson' },
          ],
        },
        untilReset: {
          after: {
            reset: {
              target: '#plan-phase.active.last',
              actions: assign(({ context }) => ({ paused: null, resumedByItself: context.resumedByItself + 1 })),
            },
          },
        },
        untilAPerson: { entry: assign({ resumedByItself: 0 }) },
      },
      on: {
        RETRY_REQUESTED: {
          target: 'active.last',
          actions: assign(({ context, event }) => ({
            paused: null,
            notes: event.notes ? [...context.notes, { kind: 'message' as const, text: event.notes }] : context.notes,
          })),
        },
        BUDGET_CHANGED: {
          guard: ({ context }) => context.paused?.reason === 'budget',
          target: 'active.last',
          actions: ['changeBudget', assign({ paused: null })],
        },
        STAGE_EXTENDED: {
          guard: ({ context }) => context.paused?.reason === 'timeout',
          target: 'active.last',
          actions: assign(({ context, event }) => ({
            paused: null,
            config: {
              ...context.config,
              timeoutMinutes: { ...context.config.timeoutMinutes, implementation: event.minutes },
            },
          })),
        },
      },
    },

    completed: {
      type: 'final',
      meta: { status: 'completed', message: (context) => `${phaseName(context)} is committed` },
    },
    cancelled: { type: 'final', meta: { status: 'cancelled' } },
  },
});
