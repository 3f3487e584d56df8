/** Verification and review of an attempt; what fails costs one retry of the phase. */
import { assign } from 'xstate';
import type { Checked, CheckInput } from '../../../activities/types.ts';
import { headerOf } from '../../parts/run-context.ts';
import { agentInput, errorOf, hasNoCommand, isAgentsFailure, paused, phaseSetup, says } from './setup.ts';
import type { PhaseContext } from './types.ts';

const checkInput = (context: PhaseContext): CheckInput & Pick<PhaseContext, 'lint'> => ({
  ...headerOf(context),
  mode: 'as_is',
  commit: context.head,
  baseCommit: context.baseCommit,
  setup: context.setup,
  test: context.test ?? { command: '', source: 'none' },
  lint: context.lint,
  excludePaths: context.excludePaths,
  timeoutMinutes: context.config.timeoutMinutes.validation,
});

const retriesLeft = ({ attempts, input, iterations, iterationLimit }: PhaseContext): boolean =>
  attempts.length <= input.maxRetries && iterations < iterationLimit;

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

export const judgementStates = {
  verifying: phaseSetup.createStateConfig({
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
  }),
  reviewing: phaseSetup.createStateConfig({
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
  }),
  judging: phaseSetup.createStateConfig({
    always: [
      { guard: ({ context }) => retriesLeft(context), target: 'working', actions: 'retry' },
      { target: 'sharing' },
    ],
  }),
};
