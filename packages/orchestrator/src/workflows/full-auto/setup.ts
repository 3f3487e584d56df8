/** Types, signals and actions of the machine, and what its fragments read of the context. */
import { assign, enqueueActions, setup } from 'xstate';
import type { OwnedCommitted } from '../../activities/git/commit-owned-files.ts';
import { type ChildRequest, type ChildResult, childRun, watching } from '../../core/child-runs.ts';
import { activity, type StateMeta } from '../../core/definition.ts';
import { attemptActions, type AttemptEnd, type Begun, type JudgedAttempt, type Settled } from '../parts/attempts.ts';
import type { FailedAttempt } from '../parts/child-merge.ts';
import { bothEnds, causeIn, failures, keptReason } from '../parts/children.ts';
import { callActions } from '../parts/costs.ts';
import { declared } from '../parts/declared-activities.ts';
import { hasTests } from '../parts/evidence.ts';
import { approves } from '../parts/gate.ts';
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
import { reportingValidation, shownResult } from '../parts/result.ts';
import { type DecisionSignal, decisionsOf, type Forked, type RunFact } from '../parts/signals.ts';
import type { Rested, WatchInput } from '../parts/watch-children.ts';
import type { FullAutoFact } from './events.ts';
import { failuresOf, type Feature, named, nextFeature, passing, passText } from './features.ts';
import { fullAutoFiles, type Iteration } from './files.ts';
import type { FeatureAttempt, FullAutoActivities, FullAutoContext, FullAutoRunInput, PlannedOutput } from './types.ts';

/** Signals that a full-auto run accepts. */
export const fullAutoSignals = { ...projectRunSignals, ...decisionsOf('FIX_DECIDED') };

/** The ends of child runs, which are spawned and belong to no state. */
type FeatureEnd =
  | { readonly type: `xstate.done.actor.feature-${string}`; readonly output: ChildResult }
  | { readonly type: `xstate.error.actor.feature-${string}`; readonly error: unknown };

type FullAutoEvent = Extract<DecisionSignal, { type: keyof typeof fullAutoSignals }> | Forked | FeatureEnd;

/** Id of the actor that is an attempt's child run. */
function actorOf({ iteration }: Pick<FeatureAttempt, 'iteration'>): string {
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
    reportValidation: reportingValidation<FullAutoContext, FullAutoEvent>(
      (context) => `The checks pass on the result. ${doneText(context)}`,
    ),
    ...callActions<FullAutoContext, FullAutoEvent>(),
    ...ownedFilesActions<FullAutoContext, FullAutoEvent>(),
    ...attemptActions<FullAutoContext, FullAutoEvent, FeatureAttempt, Feature, RunFact | FullAutoFact>({
      child: 'feature',
      actorOf,
      next: nextToStart,
      begin: beginFeature,
      asked: ({ feature }, reason, { ofResult }) => ({
        fact: { type: 'FEATURE_WAITS', feature, reason },
        keeps: { waitsFor: reason, ...(ofResult === true ? { isAside: true } : {}) },
      }),
      settle: settledFeature,
    }),
  },
});

export const failedAt = pausesAt('#full-auto.paused');

export const isAtLimit = ({ iterations, iterationLimit }: FullAutoContext): boolean => iterations >= iterationLimit;

export const featureOf = ({ features }: Pick<FullAutoContext, 'features'>, id: string): Feature | undefined =>
  features.find((feature) => feature.id === id);

/** Attempts that may wait for a person while others go on: each of them is an open child run. */
const MOST_WAITING = 3;

/** Attempts whose results wait for a person, oldest first. */
export const leftAside = ({ open }: Pick<FullAutoContext, 'open'>): readonly FeatureAttempt[] =>
  Object.values(open).filter(({ isAside }) => isAside === true);

/** The next feature that can be begun while others may wait; `undefined`: there is none. */
export function nextToStart(context: FullAutoContext): Feature | undefined {
  const { open, config } = context;
  const waiting = leftAside(context);
  if (isAtLimit(context) || waiting.length < Object.keys(open).length) return undefined;
  if (waiting.length >= Math.min(MOST_WAITING, config.maxConcurrency)) return undefined;
  return nextFeature(
    context,
    waiting.map(({ feature }) => feature),
  );
}

/** Attempts at a feature that came to nothing. */
const triedOf = ({ tried }: FullAutoContext, id: string): { readonly attempts: number; readonly hint: string } =>
  (Object.hasOwn(tried, id) ? tried[id] : undefined) ?? { attempts: 0, hint: '' };

function beginFeature(
  context: FullAutoContext,
  feature: Feature,
): Begun<FullAutoContext, FeatureAttempt, FullAutoFact> {
  const iteration = context.iterations + 1;
  return {
    attempt: { feature: feature.id, iteration },
    request: childRequest(context, feature, iteration),
    change: { iterations: iteration },
    facts: [changedFact(feature, { status: 'started', iteration, reason: '' })],
  };
}

const changedFact = (
  { id, name }: Pick<Feature, 'id' | 'name'>,
  change: Pick<Extract<FullAutoFact, { type: 'FEATURE_CHANGED' }>, 'iteration' | 'status' | 'reason'>,
) => ({ type: 'FEATURE_CHANGED', feature: id, name, ...change }) as const;

function settledFeature(
  context: FullAutoContext,
  attempt: JudgedAttempt<FeatureAttempt>,
  end: AttemptEnd,
): Settled<FullAutoContext, RunFact | FullAutoFact> {
  const { feature, iteration } = attempt;
  const { change, outcome, reason } =
    end.kind === 'merged'
      ? passed(context, feature)
      : failed(context, feature, end, end.kind === 'failed' && end.isCancelled === true);
  const name = featureOf(context, feature)?.name ?? '';
  return {
    change: { ...change, accepted: null, log: [...context.log, { iteration, feature, outcome, reason }] },
    facts: [
      changedFact({ id: feature, name }, { status: outcome, iteration, reason }),
      ...(change.features === undefined ? [] : [progress({ features: change.features })]),
    ],
  };
}

type Outcome = Pick<Iteration, 'outcome' | 'reason'> & { readonly change: Partial<FullAutoContext> };

/** The server alone sets `passes`: the result has green evidence and is on the run's branch. */
function passed({ accepted, features }: FullAutoContext, id: string): Outcome {
  const reason = accepted === null ? '' : `its checks fail, and it was accepted by ${keptReason(accepted)}`;
  const passing = features.map((feature) => (feature.id === id ? { ...feature, passes: true } : feature));
  return { change: { features: passing }, outcome: 'passes', reason };
}

/**
 * After the last attempt the feature is skipped.
 * @param isUnwanted somebody cancelled the attempt, and does not want another one
 */
function failed(context: FullAutoContext, id: string, { why, hint }: FailedAttempt, isUnwanted: boolean): Outcome {
  const { skipped, tried, input } = context;
  const before = triedOf(context, id);
  const attempts = before.attempts + 1;
  const isLast = isUnwanted || attempts >= input.maxAttempts;
  const reason = isLast && !isUnwanted ? `it ${failures(attempts, why)}` : causeIn(why);
  const change = {
    tried: { ...tried, [id]: { attempts, hint: hint === undefined ? before.hint : bothEnds(hint) } },
    ...(isLast ? { skipped: { ...skipped, [id]: reason } } : {}),
  };
  return { change, outcome: isLast ? 'skipped' : 'failed', reason };
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
    keepAccepted: assign((_, { accepted }: { accepted: string | null }) => ({ accepted })),
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
