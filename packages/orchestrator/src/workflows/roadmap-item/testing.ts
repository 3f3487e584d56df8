/**
 * The phase of testing: the result of all tasks is checked, looked through for bugs and concerns, and shown to a person. What fails
 * goes back to implementing with its output.
 */
import { assign, emit } from 'xstate';
import type { CommandEvidence } from '@autonomous/shared';
import { failedChecksText } from '@autonomous/shared/presentation';
import { messageOf } from '../parts/children.ts';
import { callEnded } from '../parts/costs.ts';
import { checkInputOf, hasTests, redText } from '../parts/evidence.ts';
import { approvalGate } from '../parts/gate.ts';
import { integrateInput, publishingGuards } from '../parts/publishing.ts';
import { shownResult } from '../parts/result.ts';
import { headerOf } from '../parts/run-context.ts';
import { atLimit, isOfAgent } from './document-phases.ts';
import { afterFailure, agentInput, corrected, failedAt, inPhase, isAsked, itemOf, itemSetup } from './setup.ts';
import type { CommandInput, Finding, ItemContext } from './types.ts';

const entering = '#roadmap-item.active.entering' as const;

const configured = ({ config }: ItemContext, name: CommandInput['name']): string => config.commands[name] ?? '';

/** A further command of the project's configuration; without one the next state follows. */
const commandState = <const Next extends string>(name: CommandInput['name'], next: Next) => {
  const then = `#roadmap-item.active.testing.${next}` as const;
  return itemSetup.createStateConfig({
    initial: 'choosing',
    states: {
      choosing: {
        always: [{ guard: ({ context }) => configured(context, name) === '', target: then }, { target: 'running' }],
      },
      running: {
        invoke: {
          id: name,
          src: 'runCommand',
          input: ({ context }) => ({
            ...headerOf(context),
            name,
            commit: context.head,
            setup: context.setup,
            excludePaths: context.excludePaths,
            command: configured(context, name),
            timeoutMinutes: context.config.timeoutMinutes.validation,
          }),
          onDone: [
            {
              guard: ({ event }) => event.output.command.exitCode === 0,
              target: then,
              actions: sayingCommand(name),
            },
            {
              target: entering,
              actions: [
                sayingCommand(name),
                { type: 'correct', params: ({ event }) => ({ why: redText({ commands: [event.output.command] }) }) },
              ],
            },
          ],
          onError: failedAt('validation'),
        },
      },
    },
  });
};

/** An event with the outcome of a command. */
export interface Ran {
  readonly event: { readonly output: { readonly command: CommandEvidence } };
}

/** Says how a command ended. For `onDone` of an activity whose output has a `command`. */
export const sayingCommand = (name: string) =>
  ({ type: 'sayCommand', params: ({ event }: Ran) => ({ name, command: event.output.command }) }) as const;

/** Bugs that are mended now. */
const isInline = ({ size }: Finding): boolean => size === 'trivial' || size === 'small';

const bugText = ({ title, description }: Finding): string => `${title}\n${description}`;

/** Small bugs are mended now as long as there are corrections left; the others become items. */
function judged(context: ItemContext, found: readonly Finding[]): Partial<ItemContext> {
  const inline = found.filter((bug) => isInline(bug));
  const mends = inline.length > 0 && context.corrections < context.input.maxAttempts;
  const kept = mends ? found.filter((bug) => !isInline(bug)) : found;
  const known = new Set(context.findings.map(({ id }) => id));
  const findings = [...context.findings, ...kept.filter(({ id }) => !known.has(id))];
  if (!mends) return { findings, reviewedTree: context.codeTree };
  const why = `Bugs were found in the result: ${inline.map(({ title }) => title).join('; ')}\n\n${inline.map((bug) => bugText(bug)).join('\n\n')}`;
  return { findings, ...corrected(context, why) };
}

export const testing = itemSetup.createStateConfig({
  meta: { status: 'running', stage: 'validation' },
  initial: 'choosing',
  entry: assign({ failure: null, concerns: [] }),
  states: {
    choosing: {
      always: [
        { guard: ({ context }) => context.takesBase === true, target: 'takingBase' },
        { guard: ({ context }) => hasTests(context), target: 'checkingAsIs' },
        {
          target: 'browserCheck',
          actions: assign({
            failure: 'The project has no test command: nothing but a person can vouch for the result.',
          }),
        },
      ],
    },
    /** The bug that held the item up was mended in the base. */
    takingBase: {
      invoke: {
        id: 'takeBase',
        src: 'integrate',
        input: integrateInput,
        onDone: {
          target: 'choosing',
          actions: [
            { type: 'keepIntegrated', params: ({ event }) => ({ output: event.output }) },
            assign({ takesBase: false }),
          ],
        },
        onError: failedAt('validation'),
      },
    },
    checkingAsIs: {
      invoke: {
        id: 'checkAsIs',
        src: 'check',
        input: ({ context }) => checkInputOf(context, context.head, 'as_is'),
        onDone: [
          {
            guard: ({ event }) => event.output.passed,
            target: 'checkingBaseTests',
            actions: { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
          },
          {
            target: entering,
            actions: [
              { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
              assign(({ context, event }) =>
                corrected(context, `The checks fail on the result: ${redText(event.output)}`),
              ),
            ],
          },
        ],
        onError: failedAt('validation'),
      },
    },
    checkingBaseTests: {
      invoke: {
        id: 'checkBaseTests',
        src: 'check',
        input: ({ context }) => checkInputOf(context, context.head, 'base_tests'),
        onDone: {
          target: 'browserCheck',
          actions: [
            { type: 'keepEvidence', params: ({ event }) => ({ checked: event.output }) },
            assign({
              failure: ({ event }) =>
                event.output.passed
                  ? null
                  : `The checks pass only with the changed tests; with the base commit's they fail: ${failedChecksText(event.output)}`,
            }),
          ],
        },
        onError: failedAt('validation'),
      },
    },
    browserCheck: commandState('browserCheck', 'performanceCheck'),
    performanceCheck: commandState('performanceCheck', 'docsCheck'),
    docsCheck: commandState('docsCheck', 'reviewing'),
    reviewing: {
      always: [
        // Nothing has changed since the last look.
        { guard: ({ context }) => context.reviewedTree === context.codeTree, target: 'findingConcerns' },
        atLimit,
        { target: 'lookingForBugs', actions: 'countIteration' },
      ],
    },
    lookingForBugs: {
      invoke: {
        id: 'item-reviewer',
        src: 'review',
        input: ({ context }) => agentInput(context, 'item-reviewer'),
        onDone: [
          {
            guard: ({ context, event }) => judged(context, event.output.findings).phase === 'implementing',
            target: entering,
            actions: [
              ...callEnded('item-reviewer'),
              emit(({ event }) => foundFact(event.output)),
              assign(({ context, event }) => judged(context, event.output.findings)),
            ],
          },
          {
            target: 'findingConcerns',
            actions: [
              ...callEnded('item-reviewer'),
              emit(({ event }) => foundFact(event.output)),
              assign(({ context, event }) => judged(context, event.output.findings)),
            ],
          },
        ],
        onError: [
          {
            guard: ({ event }) => isOfAgent(event.error),
            target: entering,
            actions: assign(({ context, event }) => afterFailure(context, messageOf(event.error))),
          },
          failedAt('validation'),
        ],
      },
    },
    findingConcerns: {
      invoke: {
        id: 'findConcerns',
        src: 'findConcerns',
        input: ({ context }) => ({ ...headerOf(context), baseCommit: context.baseCommit, head: context.head }),
        onDone: {
          target: 'deciding',
          actions: [assign({ concerns: ({ event }) => event.output.concerns }), 'reportValidation'],
        },
        onError: failedAt('validation'),
      },
    },
    deciding: {
      always: [
        {
          guard: ({ context }) => context.findings.some(({ blocks }) => blocks),
          target: '#roadmap-item.active.awaitingBugs',
        },
        {
          guard: ({ context }) => isAsked(context, 'testing') && (context.config.commands.release ?? '') !== '',
          target: '#roadmap-item.active.awaitingRelease',
        },
        { guard: ({ context }) => isAsked(context, 'testing'), target: '#roadmap-item.active.awaitingResult' },
        { target: entering, actions: assign({ ...inPhase('committing'), releases: false }) },
      ],
    },
  },
});

function foundFact({ findings, summary }: { readonly findings: readonly Finding[]; readonly summary: string }) {
  return {
    type: 'BUGS_FOUND',
    bugs: findings.map(({ title, size }) => `${title} (${size})`).join(', '),
    summary: summary.slice(0, 500).toWellFormed(),
  } as const;
}

const bugLines = (findings: readonly Finding[]): readonly string[] =>
  findings.map(
    ({ id, title, size, blocks, description }) =>
      `${title} (${size}${blocks ? ', holds this item up' : ''}; becomes ${id}): ${description.slice(0, 300).toWellFormed()}`,
  );

/** Where the result goes, as an order: a released result need not be in the base. */
function publishOrder(context: ItemContext): string {
  const { createPR, baseBranch } = context.config.git;
  if (publishingGuards.merges({ context })) return `Merge it into ${baseBranch}`;
  return createPR ? 'Open a pull request for it' : 'Push its branch';
}

const detailsOf = ({ findings, failure }: ItemContext) => ({
  ...(findings.length === 0 ? {} : { bugs: bugLines(findings) }),
  ...(failure === null ? {} : { failure }),
});

/** A bug holds the item up: a person sees it before the roadmap has it. */
export const awaitingBugs = itemSetup.createStateConfig({
  meta: approvalGate<ItemContext>({
    stage: 'validation',
    kind: 'item_bugs',
    decisions: ['approve', 'reject'],
    summary: (context) =>
      `A bug holds '${itemOf(context).title}' up: ${context.findings.find(({ blocks }) => blocks)?.title ?? ''}`,
    shows: shownResult,
    details: detailsOf,
  }),
  on: {
    APPROVAL_GRANTED: {
      guard: 'namesTheResult',
      target: 'entering',
      actions: assign(({ context }) => ({
        adding: context.findings,
        blockers: context.findings
          .filter(({ blocks }) => blocks)
          .map(({ id, title }) => `It waits for ${id}: ${title}. Mend that first, then retry.`),
        reviewedTree: null,
        takesBase: true,
      })),
    },
    // A person says that it does not hold the item up: it becomes an item beside it, as any other bug.
    APPROVAL_REJECTED: {
      target: 'testing.deciding',
      actions: assign(({ context }) => ({
        findings: context.findings.map((finding) => ({ ...finding, blocks: false })),
      })),
    },
  },
});

/** A person sees the whole result, and decides whether it is released after it is published. */
export const awaitingRelease = itemSetup.createStateConfig({
  meta: approvalGate<ItemContext>({
    stage: 'validation',
    kind: 'item_release',
    decisions: ['approve', 'accept', 'reject'],
    summary: (context) =>
      context.failure ?? `'${itemOf(context).title}' is tested. ${publishOrder(context)} and release it?`,
    shows: shownResult,
    details: (context) => ({ ...detailsOf(context), release: context.config.commands.release ?? '' }),
  }),
  on: {
    APPROVAL_GRANTED: {
      guard: 'namesTheResult',
      target: 'entering',
      actions: assign(({ context }) => ({ ...inPhase('committing'), releases: true, adding: context.findings })),
    },
    FIX_DECIDED: {
      guard: ({ event }) => event.decision === 'accept',
      target: 'entering',
      actions: assign(({ context }) => ({ ...inPhase('committing'), releases: false, adding: context.findings })),
    },
    APPROVAL_REJECTED: {
      target: 'entering',
      actions: assign(({ context, event }) => corrected(context, event.feedback, true)),
    },
  },
});

/** A person sees the whole result before it is published; the project has no command that releases it. */
export const awaitingResult = itemSetup.createStateConfig({
  meta: approvalGate<ItemContext>({
    stage: 'validation',
    kind: 'item_result',
    decisions: ['approve', 'reject'],
    summary: (context) => context.failure ?? `'${itemOf(context).title}' is tested. ${publishOrder(context)}?`,
    shows: shownResult,
    details: detailsOf,
  }),
  on: {
    APPROVAL_GRANTED: {
      guard: 'namesTheResult',
      target: 'entering',
      actions: assign(({ context }) => ({ ...inPhase('committing'), releases: false, adding: context.findings })),
    },
    APPROVAL_REJECTED: {
      target: 'entering',
      actions: assign(({ context, event }) => corrected(context, event.feedback, true)),
    },
  },
});
