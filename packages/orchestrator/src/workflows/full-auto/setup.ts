/** Types, signals and actions of the machine, and what its fragments read of the context. */
import { assign, emit, enqueueActions, setup } from 'xstate';
import type { OwnedCommitted } from '../../activities/git/commit-owned-files.ts';
import type { ChildIntegrated, ChildMerged } from '../../activities/git/merge-child.ts';
import { isCancelledChild } from '../../core/cancelled-child.ts';
import { type ChildRequest, type ChildResult, childRun, watching } from '../../core/child-runs.ts';
import { activity, type StateMeta } from '../../core/definition.ts';
import { bothEnds, causeIn, type ChildEnd, endedActor, endOf, failures, keptReason } from '../parts/children.ts';
import type { FailedAttempt } from '../parts/child-merge.ts';
import { callActions } from '../parts/costs.ts';
import { declared } from '../parts/declared-activities.ts';
import { hasTests } from '../parts/evidence.ts';
import { approves, type Shown } from '../parts/gate.ts';
import { ownedFilesActions } from '../parts/owned-files.ts';
import { pausesAt } from '../parts/pausing.ts';
import {
  CHECKED_RUN,
  checkedRunActions,
  CHILD_MERGE,
  projectRunDelays,
  projectRunGuards,
  projectRunSignals,
} from '../parts/project-run.ts';
import { type DecisionSignal, decisionsOf, type Forked, type RunFact } from '../parts/signals.ts';
import type { Rested, WatchInput } from '../parts/watch-children.ts';
import type { FullAutoFact } from './events.ts';
import { failuresOf, type Feature, named, nextFeature, passing, passText } from './features.ts';
import { fullAutoFiles } from './files.ts';
import type {
  FeatureAttempt,
  FullAutoActivities,
  FullAutoContext,
  FullAutoRunInput,
  OpenAttempt,
  PlannedOutput,
} from './types.ts';

/** Signals that a full-auto run accepts. */
export const fullAutoSignals = { ...projectRunSignals, ...decisionsOf('FIX_DECIDED') };

/** The ends of child runs, which are spawned and belong to no state. */
type FeatureEnd =
  | { readonly type: `xstate.done.actor.feature-${string}`; readonly output: ChildResult }
  | { readonly type: `xstate.error.actor.feature-${string}`; readonly error: unknown };

type FullAutoEvent = Extract<DecisionSignal, { type: keyof typeof fullAutoSignals }> | Forked | FeatureEnd;

/** Id of the actor that is an attempt's child run. */
export function actorOf({ iteration }: Pick<FeatureAttempt, 'iteration'>): string {
  return `feature-${iteration}`;
}

const withParts = setup({
  types: {
    context: {} as FullAutoContext,
    input: {} as FullAutoRunInput,
    events: {} as FullAutoEvent,
    emitted: {} as RunFact | FullAutoFact,
    meta: {} as StateMeta<FullAutoContext>,
  },
  actors: {
    ...declared<FullAutoActivities>()(
      ...CHECKED_RUN,
      ...CHILD_MERGE,
      'readPlan',
      'listFeatures',
      'writeFiles',
      'proveFeature',
    ),
    researchAndPlan: childRun<ChildRequest, PlannedOutput>('research-and-plan'),
    feature: childRun('build'),
    watchFeature: watching(activity<WatchInput, Rested>()),
  },
  delays: projectRunDelays,
  guards: projectRunGuards,
  actions: {
    ...checkedRunActions<FullAutoContext, FullAutoEvent>(),
    ...callActions<FullAutoContext, FullAutoEvent>(),
    ...ownedFilesActions<FullAutoContext, FullAutoEvent>(),
  },
});

export const failedAt = pausesAt('#full-auto.paused');

export const shownResult = ({ codeTree, concerns }: FullAutoContext): Shown => ({ codeTree, concerns });

export const isAtLimit = ({ iterations, iterationLimit }: FullAutoContext): boolean => iterations >= iterationLimit;

export const featureOf = ({ features }: Pick<FullAutoContext, 'features'>, id: string): Feature | undefined =>
  features.find((feature) => feature.id === id);

/** Attempts that may wait for a person while others go on: each of them is an open child run. */
const MOST_WAITING = 3;

/** The next feature that can be begun while others may wait; `undefined`: there is none. */
export function nextToStart(context: FullAutoContext): Feature | undefined {
  const { waiting, config } = context;
  if (isAtLimit(context) || waiting.length >= Math.min(MOST_WAITING, config.maxConcurrency)) return undefined;
  return nextFeature(
    context,
    waiting.map(({ feature }) => feature),
  );
}

/** Attempts that are not judged yet. */
export const openAttempts = ({ open, waiting }: Pick<FullAutoContext, 'open' | 'waiting'>): readonly OpenAttempt[] => [
  ...(open === null ? [] : [open]),
  ...waiting,
];

/** The attempt of an actor has changed. */
export function withAttempt(
  context: Pick<FullAutoContext, 'open' | 'waiting'>,
  actor: string,
  change: Partial<OpenAttempt>,
): Pick<FullAutoContext, 'open' | 'waiting'> {
  const changed = (attempt: OpenAttempt): OpenAttempt =>
    actorOf(attempt) === actor ? { ...attempt, ...change } : attempt;
  return { open: context.open === null ? null : changed(context.open), waiting: context.waiting.map(changed) };
}

/** Attempts at a feature that came to nothing. */
const triedOf = ({ tried }: FullAutoContext, id: string): { readonly attempts: number; readonly hint: string } =>
  (Object.hasOwn(tried, id) ? tried[id] : undefined) ?? { attempts: 0, hint: '' };

/**
 * The attempt came to nothing, and after the last one the feature is skipped.
 * @param hint told to the next attempt; absent: what is known of earlier ones
 */
function failed(context: FullAutoContext, why: string, hint?: string): Partial<FullAutoContext> {
  const { ended, skipped, tried, log, input } = context;
  if (ended === null) return {};
  const before = triedOf(context, ended.feature);
  const attempts = before.attempts + 1;
  // A person who cancels an attempt does not want another one.
  const isUnwanted = isCancelledChild(why);
  const isLast = isUnwanted || attempts >= input.maxAttempts;
  const reason = isLast && !isUnwanted ? `it ${failures(attempts, why)}` : causeIn(why);
  return {
    ended: null,
    integrated: null,
    tried: { ...tried, [ended.feature]: { attempts, hint: hint === undefined ? before.hint : bothEnds(hint) } },
    skipped: isLast ? { ...skipped, [ended.feature]: reason } : skipped,
    log: [
      ...log,
      { iteration: ended.iteration, feature: ended.feature, outcome: isLast ? 'skipped' : 'failed', reason },
    ],
  };
}

export const progress = (context: Pick<FullAutoContext, 'features'>) =>
  ({ type: 'PROGRESS_CHANGED', done: passing(context), total: context.features.length }) as const;

/** `5 of 8 features pass, completed with failures.` */
export function doneText(context: FullAutoContext): string {
  return `${passText(context)}${failuresOf(context).length === 0 ? '' : ', completed with failures'}.`;
}

export const fullAutoSetup = withParts.extend({
  guards: { namesTheResult: approves(shownResult) },
  actions: {
    /** The project names no test command: the one of the list holds for all features. Child runs have the configuration of their parent. */
    takeTestCommand: enqueueActions(({ enqueue, context }, { command }: { command: string | null }) => {
      if (command === null || hasTests(context)) return;
      const config = { ...context.config, commands: { ...context.config.commands, test: command } };
      const message = `The project names no test command. \`${command}\`, which the feature-lister named, checks the features.`;
      enqueue.assign({ config, test: { command, source: 'the list of the features' } });
      enqueue.emit({ type: 'RUN_CONFIGURED', config, baseCommit: context.baseCommit, notices: [message] });
    }),
    /** Starts the child run of the next feature. */
    startFeature: enqueueActions(({ enqueue, context }) => {
      const feature = nextToStart(context);
      if (feature === undefined) return;
      const iteration = context.iterations + 1;
      const attempt: OpenAttempt = { feature: feature.id, iteration, end: null };
      enqueue.spawnChild('feature', { id: actorOf(attempt), input: childRequest(context, feature, iteration) });
      enqueue.assign({ iterations: iteration, open: attempt, ended: null, integrated: null });
      enqueue.emit({
        type: 'FEATURE_CHANGED',
        feature: feature.id,
        name: feature.name,
        status: 'started',
        iteration,
        reason: '',
      });
    }),
    /** A person has to decide at the gate of an attempt. */
    sayWaits: enqueueActions(({ enqueue, context }, { rested: { actor, gate, why } }: { rested: Rested }) => {
      const attempt = openAttempts(context).find((each) => actorOf(each) === actor);
      if (attempt === undefined) return;
      const reason = keptReason(why);
      enqueue.emit({ type: 'FEATURE_WAITS', feature: attempt.feature, reason });
      enqueue.assign(withAttempt(context, actor, { waitsAt: gate, waitsFor: reason }));
    }),
    /** Other features go on while the result of this one waits. */
    leaveAside: assign(({ context: { open, waiting } }) => ({
      open: null,
      waiting: [...waiting, ...(open === null ? [] : [open])],
    })),
    endAttempt: enqueueActions(({ enqueue, context }, { rested }: { rested: Rested }) => {
      if (!openAttempts(context).some((attempt) => actorOf(attempt) === rested.actor)) return;
      enqueue.assign(withAttempt(context, rested.actor, { end: endOf(rested) }));
      enqueue.stopChild(rested.actor);
    }),
    /** A child run may end in any state, also while the run is paused. An end that is known stays. */
    keepChildEnd: assign(({ context }, { type, childId, error }: ChildEnd & { type: string }) => {
      const actor = endedActor(type);
      const isOpen = openAttempts(context).some((attempt) => attempt.end === null && actorOf(attempt) === actor);
      return isOpen ? withAttempt(context, actor, { end: { childId, error } }) : {};
    }),
    /** The first attempt that has ended is judged. */
    takeEnded: assign(({ context }) => {
      const attempt = openAttempts(context).find(({ end }) => end !== null);
      if (attempt === undefined) return {};
      const { end, ...ended } = attempt;
      if (end === null) return {};
      return {
        ended: { ...ended, ...end },
        accepted: null,
        open: attempt === context.open ? null : context.open,
        waiting: context.waiting.filter((other) => other !== attempt),
      };
    }),
    keepChildMerge: assign((_, { integrated }: { integrated: ChildIntegrated }) => ({ integrated })),
    keepAccepted: assign((_, { accepted }: { accepted: string | null }) => ({ accepted })),
    /** The attempt that has ended came to nothing. */
    failAttempt: enqueueActions(({ enqueue, context }, { why, hint }: FailedAttempt) => {
      const { ended } = context;
      if (ended === null) return;
      const change = failed(context, why, hint);
      const { outcome = 'failed', reason = '' } = change.log?.at(-1) ?? {};
      enqueue.assign(change);
      enqueue.emit({
        type: 'FEATURE_CHANGED',
        feature: ended.feature,
        name: featureOf(context, ended.feature)?.name ?? '',
        status: outcome,
        iteration: ended.iteration,
        reason,
      });
    }),
    /** The server alone sets `passes`: the result has green evidence and is on the run's branch. */
    passAttempt: enqueueActions(({ enqueue, context }, { merged }: { merged: ChildMerged }) => {
      const { ended, accepted } = context;
      if (ended === null) return;
      const reason = accepted === null ? '' : `its checks fail, and it was accepted by ${keptReason(accepted)}`;
      const features = context.features.map((feature) =>
        feature.id === ended.feature ? { ...feature, passes: true } : feature,
      );
      enqueue.assign({
        head: merged.commit,
        codeTree: merged.codeTree,
        features,
        ended: null,
        integrated: null,
        log: [...context.log, { iteration: ended.iteration, feature: ended.feature, outcome: 'passes', reason }],
      });
      enqueue.emit({
        type: 'FEATURE_CHANGED',
        feature: ended.feature,
        name: featureOf(context, ended.feature)?.name ?? '',
        status: 'passes',
        iteration: ended.iteration,
        reason,
      });
      enqueue.emit(progress({ features }));
    }),
    /** A person has the features that failed tried again, as often as before. */
    tryAgain: assign(({ context }) => ({
      skipped: {},
      tried: Object.fromEntries(
        Object.entries(context.tried).map(([id, { hint }]) => [id, { attempts: 0, hint }] as const),
      ),
      iterationLimit: Math.max(context.iterationLimit, context.iterations + context.input.maxIterations),
      isOver: false,
    })),
    /** Says that the files of others were replaced. */
    sayKept: enqueueActions(({ enqueue, context }, { output: { commit, paths } }: { output: OwnedCommitted }) => {
      if (commit === null) return;
      const message = `${paths.join(', ')} had been changed by others, in ${context.config.git.baseBranch} or on the run's branch. The result has the server's own.`;
      enqueue.emit({ type: 'NOTICE', message });
    }),
    reportValidation: emit(({ context }) => {
      const codeTree = context.codeTree ?? '';
      return context.failure === null
        ? { type: 'VALIDATION_PASSED', codeTree, summary: `The checks pass on the result. ${doneText(context)}` }
        : { type: 'VALIDATION_FAILED', codeTree, severity: 'major', summary: context.failure, feedback: '' };
    }),
  },
});

/** The request for a feature's child run. Its words are all that it knows of the plan and of earlier attempts. */
function childRequest(context: FullAutoContext, feature: Feature, iteration: number): ChildRequest {
  const files = fullAutoFiles(context.input.topic);
  const { attempts, hint } = triedOf(context, feature.id);
  const parts = [
    named(feature),
    feature.description,
    `It belongs to the component '${feature.component}' of the plan ${context.plan}, and is one feature of it: build this one and no other.`,
    'Write the tests of this feature first, and see them fail. Then write as little code as makes them pass, and run the whole test suite.',
    'Nobody answers questions: decide by yourself what the plan leaves open, and say what you decided.',
    `The server keeps ${files.features}, ${files.init} and ${files.progress}: change none of them. It runs the checks itself, and only green ones let the feature pass.`,
    ...context.notes.filter(({ kind }) => kind === 'message').map((note) => `Note of a person: ${note.text}`),
    ...(hint === '' ? [] : [`An earlier attempt at this feature failed. What is known of it:\n${hint}`]),
  ];
  return {
    request: parts.join('\n\n').slice(0, 40_000).toWellFormed(),
    title: `${feature.id} ${iteration}`,
    attempt: { number: attempts + 1, of: context.input.maxAttempts },
  };
}
