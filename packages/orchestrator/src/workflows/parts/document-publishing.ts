/**
 * The end of a run whose result is documents that the server writes, with no change of code: concerns are looked for, a person is asked
 * where one wants to be, and the branch is published. Activities: `findConcerns`, `integrate`, `recordRun`, `pushBranch` and `merge`.
 */
import type { Concern } from '@autonomous/shared';
import { WAYS } from '../../activities/git/ways.ts';
import { leaving } from './pausing.ts';
import { type Publishing, type PublishingContext, publishingStates } from './publishing.ts';
import { headerOf } from './run-context.ts';

export interface DocumentContext extends PublishingContext {
  readonly config: PublishingContext['config'] & { readonly trustMode: Readonly<Record<'implementation', string>> };
  readonly concerns: readonly Concern[];
}

type Found = { readonly concerns: readonly Concern[] };

interface FindingConcerns<Ask extends string, Publish extends string, OnError> {
  /** State in which a person is asked. */
  readonly ask: Ask;
  readonly publish: Publish;
  readonly onError: OnError;
}

/**
 * Sets `concerns`, and asks a person where there is one or where the trust mode `implementation` says so. The workflow's action
 * `reportValidation` says what was checked.
 */
export function findingConcernsState<const Ask extends string, const Publish extends string, const OnError>({
  ask,
  publish,
  onError,
}: FindingConcerns<Ask, Publish, OnError>) {
  return {
    initial: 'finding',
    states: {
      finding: {
        invoke: {
          id: 'findConcerns',
          src: 'findConcerns',
          input: ({ context }: { readonly context: DocumentContext }) => ({
            ...headerOf(context),
            baseCommit: context.baseCommit,
            head: context.head,
          }),
          onDone: {
            target: 'deciding',
            actions: [
              {
                type: 'keepConcerns',
                params: ({ event }: { readonly event: { readonly output: Found } }) => ({
                  concerns: event.output.concerns,
                }),
              },
              'reportValidation',
            ],
          },
          onError,
        },
      },
      deciding: {
        always: [
          {
            guard: ({ context }: { readonly context: DocumentContext }) =>
              context.config.trustMode.implementation === 'manual' || context.concerns.length > 0,
            target: ask,
          },
          { target: publish },
        ],
      },
    },
  } as const;
}

/** Takes the base in where the run merges, records the run, pushes its branch and merges it. */
export function documentPublishingState<
  Context extends PublishingContext,
  const Check extends string,
  const Done extends string,
  const OnError,
>(states: Omit<Publishing<Context, Check, Done, 'recording', OnError>, 'first'>) {
  return { initial: 'choosingBase', states: publishingStates({ ...states, first: 'recording' }) } as const;
}

interface DocumentWays<Resume extends string, Done extends string, Recording extends string, Beside extends string> {
  /** Deep history of the work. */
  readonly resumeAt: Resume;
  readonly done: Done;
  /** The states `recording` and `pushingBeside` of the publishing. */
  readonly recording: Recording;
  readonly pushingBeside: Beside;
}

/** Ways out of a pause while the branch is published. Commits that others pushed to it are not taken in: no checks would test them. */
export function documentWays<
  const Resume extends string,
  const Done extends string,
  const Recording extends string,
  const Beside extends string,
>({ resumeAt, done, recording, pushingBeside }: DocumentWays<Resume, Done, Recording, Beside>) {
  return {
    decisions: () => null,
    ways: [WAYS.leavePushed, WAYS.pullRequest, WAYS.leaveBranch, WAYS.pushBeside],
    on: {
      RETRY_REQUESTED: {
        target: resumeAt,
        actions: {
          type: 'resume',
          params: ({ event }: { readonly event: { readonly notes?: string } }) => ({ notes: event.notes }),
        },
      },
      CLARIFICATION_ANSWERED: [
        {
          guard: { type: 'takesWay', params: { ways: [WAYS.leavePushed, WAYS.pullRequest] } },
          target: done,
          actions: [leaving, 'reportLeft', 'endPause'],
        },
        {
          guard: { type: 'takesWay', params: { ways: [WAYS.leaveBranch] } },
          target: recording,
          actions: [leaving, 'endPause'],
        },
        {
          guard: { type: 'takesWay', params: { ways: [WAYS.pushBeside] } },
          target: pushingBeside,
          actions: 'endPause',
        },
      ],
    },
  } as const;
}
