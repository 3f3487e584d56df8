/** Types, activities, guards and actions of the build machine, which its fragments name. */
import type { Baseline, FilesTaken } from '@autonomous/shared';
import { assign, emit, enqueueActions, setup } from 'xstate';
import type { Asked } from '../../activities/pull-request/review-remarks.ts';
import type { Checked, Cost, Note } from '../../activities/types.ts';
import { activity, type StateMeta } from '../../core/definition.ts';
import { clarifyingActions, clarifyingGuards } from '../parts/clarification.ts';
import { checkpointActions } from '../parts/checkpoint.ts';
import { callActions } from '../parts/costs.ts';
import { approves } from '../parts/gate.ts';
import { budgetActions, notingActions } from '../parts/notes.ts';
import { pausingActions, pausingDelays, pausingGuards } from '../parts/pausing.ts';
import { conflictsText, publishingActions, publishingGuards } from '../parts/publishing.ts';
import { pullRequestActions, pullRequestGuards, withInherited } from '../parts/pull-request.ts';
import type { DecisionSignal, Forked, RunFact } from '../parts/signals.ts';
import { clockActions, clockDelays } from '../parts/stage-clock.ts';
import { changedTests, checksFailed, isSupported, newDependencies, NOTHING_CHANGED, withoutOutput } from './checks.ts';
import { withAsked, withHeld } from './pull-request.ts';
import { baselineInput, shownPlan, shownResult, validationLimit } from './inputs.ts';
import {
  type ActivityError,
  type BuildActivities,
  type BuildConfig,
  type BuildContext,
  type BuildInput,
  type Checkpoint,
  type CommittedCode,
  type CommittedPlan,
  type Followed,
  type Implemented,
  type Integrated,
  type Merged,
  type ClosedPullRequest,
  type MergedPullRequest,
  type Planned,
  type Published,
  type Recorded,
  type Reported,
  type Reviewed,
  type Revised,
  type TakenIn,
  TIMED_STAGES,
} from './types.ts';

/** Outcomes of the baseline's activity, which is spawned and belongs to no state. */
type BaselineEnd =
  | { readonly type: 'xstate.done.actor.baseline'; readonly output: Baseline | null }
  | { readonly type: 'xstate.error.actor.baseline'; readonly error: unknown };
/** A fork keeps its workflow, so that its configuration has everything that this workflow asks of one. */
type BuildForked = Forked & { readonly config?: BuildConfig };
type BuildEvent = DecisionSignal | BuildForked | BaselineEnd;

/** Types, activities, and what the parts bring. */
const withParts = setup({
  types: {
    context: {} as BuildContext,
    input: {} as BuildInput,
    events: {} as BuildEvent,
    emitted: {} as RunFact,
    meta: {} as StateMeta<BuildContext>,
  },
  actors: {
    prepare: activity<BuildActivities['prepare']['input'], BuildActivities['prepare']['output']>(),
    plan: activity<BuildActivities['plan']['input'], Planned>(),
    commitPlan: activity<BuildActivities['commitPlan']['input'], CommittedPlan>(),
    revisePlan: activity<BuildActivities['revisePlan']['input'], Revised>(),
    replyToPerson: activity<BuildActivities['replyToPerson']['input'], { reply: string; cost: Cost }>(),
    pushBranch: activity<BuildActivities['pushBranch']['input'], Published>(),
    setUp: activity<BuildActivities['setUp']['input'], { ran: boolean }>(),
    implement: activity<BuildActivities['implement']['input'], Implemented>(),
    commitCode: activity<BuildActivities['commitCode']['input'], CommittedCode>(),
    takeFiles: activity<BuildActivities['takeFiles']['input'], CommittedCode>(),
    checkpoint: activity<BuildActivities['checkpoint']['input'], Checkpoint>(),
    baseline: activity<BuildActivities['baseline']['input'], Baseline | null>(),
    check: activity<BuildActivities['check']['input'], Checked>(),
    review: activity<BuildActivities['review']['input'], Reviewed>(),
    report: activity<BuildActivities['report']['input'], Reported>(),
    integrate: activity<BuildActivities['integrate']['input'], Integrated>(),
    takeIn: activity<BuildActivities['takeIn']['input'], TakenIn>(),
    copyRecord: activity<BuildActivities['copyRecord']['input'], Recorded>(),
    merge: activity<BuildActivities['merge']['input'], Merged>(),
    followPullRequest: activity<BuildActivities['followPullRequest']['input'], Followed>(),
    mergePullRequest: activity<BuildActivities['mergePullRequest']['input'], MergedPullRequest>(),
    closePullRequest: activity<BuildActivities['closePullRequest']['input'], ClosedPullRequest>(),
    answerReviewers: activity<BuildActivities['answerReviewers']['input'], { readonly answered: number }>(),
  },
  delays: { ...clockDelays(TIMED_STAGES), ...pausingDelays },
  guards: { ...clarifyingGuards, ...pausingGuards, ...publishingGuards, ...pullRequestGuards },
  actions: {
    ...budgetActions<BuildContext, BuildEvent>(),
    ...callActions<BuildContext, BuildEvent>(),
    ...checkpointActions<BuildContext, BuildEvent>(),
    ...clarifyingActions<BuildContext, BuildEvent>(),
    ...clockActions<BuildContext, BuildEvent>(),
    ...notingActions<BuildContext, BuildEvent>(),
    ...pausingActions<BuildContext, BuildEvent>(),
    ...publishingActions<BuildContext, BuildEvent>(),
    ...pullRequestActions<BuildContext, BuildEvent>(),
  },
});

export const buildSetup = withParts.extend({
  guards: {
    planIsTrusted: ({ context }) => context.config.trustMode.planning === 'auto',
    resultIsTrusted: ({ context }) =>
      context.config.trustMode.implementation === 'auto' && (context.openConcerns ?? []).length === 0,
    mayFixByItself: ({ context }) =>
      context.autoRetry &&
      context.config.trustMode.fixes === 'auto' &&
      context.failure?.severity === 'minor' &&
      context.failure.from !== 'base_tests' &&
      context.failure.failsAsBefore !== true &&
      context.test?.command !== '' &&
      context.fixAttempts < context.config.maxFixAttempts,
    isSupported: ({ context }) => isSupported(context),
    namesThePlan: approves(shownPlan),
    namesTheResult: approves(shownResult),
    bringsAPlan: ({ event }) =>
      event.type === 'APPROVAL_GRANTED' && event.editedPlan !== undefined && event.editedPlan.trim() !== '',
    pauseIsAboutTheResult: ({ context }) => isAboutTheResult(context),
    pauseIsAboutThePlan: ({ context }) => isAboutTheResult(context) && context.paused?.stage === 'planning',
  },
  actions: {
    // ---- planning
    keepPlan: enqueueActions(({ enqueue, context }, { plan }: { plan: CommittedPlan }) => {
      enqueue.assign({ plan, head: plan.commit, planVersion: context.planVersion + 1 });
      enqueue.emit({
        type: 'ARTIFACT_CREATED',
        artifact: {
          stage: 'planning',
          type: 'mermaid_diagram',
          gitPath: plan.path,
          commitSha: plan.commit,
          hash: plan.artifactHash,
          version: context.planVersion + 1,
          parsedConstraints: plan.constraints,
          scripted: plan.scripted,
        },
      });
    }),
    takeEdit: assign({
      edited: ({ event }) => (event.type === 'APPROVAL_GRANTED' ? (event.editedPlan ?? null) : null),
    }),
    takeFork: assign(({ context, event }) => (event.type === 'RUN_FORKED' ? forked(context, event) : {})),

    // ---- implementation
    recordFailedImplementation: emit((_, { error }: { error: unknown }) => {
      // The engine gives every failed activity an error of this shape.
      const { message, reason } = error as ActivityError;
      return { type: 'IMPLEMENTATION_FAILED', message, reason };
    }),
    noteFailure: assign({
      notes: ({ context }) =>
        context.failure
          ? [
              ...context.notes.filter((note) => note.kind !== 'checks' && note.kind !== 'review'),
              {
                kind: context.failure.from === 'review' ? ('review' as const) : ('checks' as const),
                text: `${context.failure.summary}\n\n${context.failure.feedback}`,
              },
            ]
          : context.notes,
    }),
    countFix: assign({ fixAttempts: ({ context }) => context.fixAttempts + 1 }),
    takeFrom: assign(({ context, event }) => {
      const taking = event.type === 'APPROVAL_REJECTED' || event.type === 'FIX_DECIDED' ? event.take : undefined;
      if (taking === undefined) return {};
      const words =
        event.type === 'APPROVAL_REJECTED' ? event.feedback : event.type === 'FIX_DECIDED' ? event.reason : '';
      return { taking, notes: [...context.notes, noteOfTaken(taking, words ?? '')] };
    }),
    sayTaken: emit(({ context }) => ({
      type: 'NOTICE',
      message: `Taken from run ${context.taking?.runId ?? ''} (commit ${context.taking?.commit.slice(0, 8) ?? ''}): ${context.taking?.paths.join(', ') ?? ''}`,
    })),
    /** What reviewers ask goes to the implementer. */
    noteAsked: assign(({ context }, { asked }: { asked: Asked }) => withAsked(context, asked)),
    noteHeld: assign(({ context }) => withHeld(context)),
    sendBackEmpty: assign(({ context }) => ({ emptyResults: 1, notes: [...context.notes, NOTHING_CHANGED] })),

    // ---- validation
    startBaseline: enqueueActions(({ enqueue, context }) => {
      if ((context.test?.command ?? '') === '') return;
      enqueue.assign({ baseline: 'running' });
      enqueue.spawnChild('baseline', { id: 'baseline', input: ({ context: now }) => baselineInput(now) });
    }),
    keepBaseline: enqueueActions(({ enqueue, context, event }) => {
      const output = event.type === 'xstate.done.actor.baseline' ? event.output : null;
      enqueue.assign({ baseline: 'known' });
      if (output === null) return;
      const validation = validationLimit(context, output);
      if (validation === null) return enqueue.emit({ type: 'BASELINE_RECORDED', ...output });
      const { config } = context;
      enqueue.assign({ config: { ...config, timeoutMinutes: { ...config.timeoutMinutes, validation } } });
      enqueue.emit({ type: 'BASELINE_RECORDED', ...output, timeoutMinutes: { validation } });
    }),
    forgetValidation: assign({ evidence: [], review: null, failure: null, accepted: null }),
    keepEvidence: enqueueActions(({ enqueue, context }, { checked }: { checked: Checked }) => {
      enqueue.emit({ type: 'EVIDENCE_RECORDED', ...checked });
      const notice = newDependencies(checked);
      if (notice !== null && notice !== context.dependencyNotice) {
        enqueue.emit({ type: 'NOTICE', message: notice });
        enqueue.assign({ dependencyNotice: notice });
      }
      const tests = changedTests(checked);
      if (tests !== null && tests !== context.testsNotice) {
        enqueue.emit({ type: 'NOTICE', message: tests });
        enqueue.assign({ testsNotice: tests });
      }
      enqueue.assign({
        evidence: [...context.evidence.filter((evidence) => evidence.mode !== checked.mode), withoutOutput(checked)],
        failure: checked.passed ? null : checksFailed(checked),
      });
    }),
    keepReport: enqueueActions(({ enqueue, context }, { report }: { report: Reported }) => {
      const { path, hash, commit } = report;
      const { concerns = [], openConcerns = [] } = report;
      enqueue.assign({
        report: { path, hash, commit },
        head: commit,
        reportVersion: context.reportVersion + 1,
        concerns,
        openConcerns,
      });
      enqueue.emit({
        type: 'ARTIFACT_CREATED',
        artifact: {
          stage: 'validation',
          type: 'validation_report',
          gitPath: report.path,
          commitSha: report.commit,
          hash: report.hash,
          version: context.reportVersion + 1,
          ...(report.findings === undefined ? {} : { findings: report.findings }),
          scripted: context.review?.cost.scripted ?? false,
        },
      });
    }),
    acceptConcerns: assign({ openConcerns: [] }),

    // ---- publishing
    keepTakenIn: assign(({ context }, { taken }: { taken: TakenIn }) => ({
      head: taken.commit,
      baseCommit: taken.baseCommit,
      codeTree: taken.codeTree,
      ...(context.plan === null ? {} : { plan: { ...context.plan, path: taken.planPath } }),
      ...(taken.conflicts.length === 0
        ? {}
        : { conflicts: taken.conflicts, notes: [...context.notes, noteOfConflicts(taken.conflicts)] }),
    })),
    refuseUnsupported: assign({
      paused: ({ context }) => ({
        reason: 'poisoned' as const,
        message: `There is no evidence for the code tree ${context.codeTree ?? '(none)'}; it cannot be published.`,
        stage: 'validation',
      }),
    }),
    movePlan: enqueueActions(({ enqueue, context }, { planPath }: { planPath: string | undefined }) => {
      const { plan, config } = context;
      if (plan === null || planPath === undefined || planPath === plan.path) return;
      enqueue.assign({ plan: { ...plan, path: planPath } });
      enqueue.emit({
        type: 'NOTICE',
        message: `${config.git.baseBranch} has another plan with the number of ${plan.path} now: this run's plan became ${planPath}.`,
      });
    }),
  },
});

/** Whether the pause is about the result: a person may send the result back, or accept it. */
export function isAboutTheResult({ paused }: Pick<BuildContext, 'paused'>): boolean {
  return paused?.reason === 'review_needed' || paused?.reason === 'secret_found';
}

/** Context that a fork changes. Detected or requested commands stay, unless the new configuration names others. */
function forked(
  context: BuildContext,
  { config = context.config, requestedConfig = context.requestedConfig }: BuildForked,
): Partial<BuildContext> {
  const source = 'the configuration of the fork';
  const { setup: setUp, test } = config.commands;
  return {
    config,
    requestedConfig,
    resumedByItself: undefined,
    ...withInherited(context),
    ...(test === context.config.commands.test ? {} : { test: { command: test ?? '', source } }),
    ...(setUp === context.config.commands.setup
      ? {}
      : { setup: setUp ? { command: setUp, source } : null, setupDone: false }),
  };
}

/** Note to the implementer about files with conflict markers. */
function noteOfConflicts(conflicts: readonly string[]): Note {
  return {
    kind: 'feedback',
    text: conflictsText(conflicts),
  };
}

/** Note to later calls of the implementer about files that a person took from another run. */
function noteOfTaken({ runId, paths, andThen }: FilesTaken, words: string): Note {
  return {
    kind: 'feedback',
    text: `A person took these files from another approach to the request (run ${runId}): ${paths.join(', ')}. They are in place and stay as they are; make the rest fit them.${andThen === 'implement' ? `\n${words}` : ''}`,
  };
}
