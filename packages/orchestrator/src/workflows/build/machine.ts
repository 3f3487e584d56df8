/**
 * The build workflow: plan, ask, implement, check, publish.
 * Work and clock of a stage are parallel regions, so that extending a stage re-arms its clock and leaves its work alone.
 *
 * Every version of it is made here; what `isSecond` adds is there from version 2 on: a baseline beside planning, results that
 * change nothing go back once, a result gate that opens for whatever a person has to see, and checks that were red before the
 * run, which are no agent's to mend.
 */
import {
  type Baseline,
  baselineText,
  type Concern,
  type EventPayloads,
  failureText,
  type FilesTaken,
  type PauseReason,
  withBudgets,
} from '@autonomous/shared';
import { and, assign, emit, enqueueActions, not, setup } from 'xstate';
import { z } from 'zod';
import { activity, type StateMeta } from '../../core/definition.ts';
import type { BaselineInput, Checked, CheckInput, Cost, Note, RunHeader } from '../../activities/types.ts';
import type {
  ActivityError,
  AgentInput,
  BuildConfig,
  BuildActivities,
  BuildContext,
  BuildInput,
  Checkpoint,
  CommittedCode,
  CommittedPlan,
  Failure,
  Implemented,
  Integrated,
  Merged,
  PlanDraft,
  Planned,
  Prepared,
  Published,
  Recorded,
  Reported,
  ReportInput,
  Reviewed,
  Revised,
} from './types.ts';

type Signals = {
  [
    Type in
      | 'APPROVAL_GRANTED'
      | 'APPROVAL_REJECTED'
      | 'CLARIFICATION_ANSWERED'
      | 'CLARIFICATION_IGNORED'
      | 'QUESTION_ASKED'
      | 'FIX_DECIDED'
      | 'RETRY_REQUESTED'
      | 'STAGE_EXTENDED'
      | 'BUDGET_CHANGED'
      | 'MESSAGE_SENT'
      | 'RUN_CANCELLED'
  ]: { readonly type: Type } & EventPayloads[Type];
};
type Signal = Signals[keyof Signals];
/** Event of the engine to a fork, which continues at a point of another run. */
type Forked = { readonly type: 'RUN_FORKED' } & EventPayloads['RUN_FORKED'];
/** Outcomes of the baseline's activity, which is spawned and belongs to no state. */
type BaselineEnd =
  | { readonly type: 'xstate.done.actor.baseline'; readonly output: Baseline | null }
  | { readonly type: 'xstate.error.actor.baseline'; readonly error: unknown };
type Emitted = { [Type in keyof EventPayloads]: { readonly type: Type } & EventPayloads[Type] }[keyof EventPayloads];

const by = z.string().min(1).max(200);
const gateId = z.string().max(300).optional();
const text = z.string().trim().min(1).max(20_000);
const take = z
  .strictObject({
    runId: z.string().min(1).max(200),
    commit: z.string().min(1).max(200),
    paths: z
      .array(
        z
          .string()
          .min(1)
          .max(4_000)
          .refine((path) => !path.startsWith('.autonomous/'), 'belongs to the record of its run'),
      )
      .min(1)
      .max(500),
    scripted: z.boolean().optional(),
    andThen: z.enum(['check', 'implement']),
  })
  .optional();
export const signals = {
  APPROVAL_GRANTED: z.strictObject({
    by,
    gateId,
    artifactHash: z.string().max(200).optional(),
    codeTree: z.string().max(200).optional(),
    notes: z.string().max(20_000).optional(),
    editedPlan: z.string().max(200_000).optional(),
  }),
  APPROVAL_REJECTED: z.strictObject({ by, gateId, feedback: text, take }),
  CLARIFICATION_ANSWERED: z.strictObject({
    by,
    gateId,
    response: text,
    choices: z.array(z.string()).optional(),
    uploads: z.array(z.strictObject({ id: z.string(), name: z.string() })).optional(),
  }),
  CLARIFICATION_IGNORED: z.strictObject({ by, gateId }),
  QUESTION_ASKED: z.strictObject({ by, gateId, question: text }),
  FIX_DECIDED: z.strictObject({
    by,
    gateId,
    decision: z.enum(['retry', 'accept']),
    reason: z.string().max(20_000).optional(),
    attempt: z.number().optional(),
    accepted: z.array(z.string()).optional(),
    take,
  }),
  RETRY_REQUESTED: z.strictObject({
    by,
    gateId,
    notes: z.string().max(20_000).optional(),
    accepts: z.string().max(200).optional(),
  }),
  STAGE_EXTENDED: z.strictObject({
    by,
    minutes: z
      .number()
      .positive()
      .max(7 * 24 * 60),
  }),
  BUDGET_CHANGED: z.strictObject({
    by,
    gateId,
    maxCostUsd: z.number().positive().nullable().optional(),
    maxTokens: z.number().int().positive().nullable().optional(),
    maxToolCalls: z.number().int().positive().nullable().optional(),
    maxTreeCostUsd: z.number().positive().nullable().optional(),
    maxTreeTokens: z.number().int().positive().nullable().optional(),
    maxTreeToolCalls: z.number().int().positive().nullable().optional(),
  }),
  MESSAGE_SENT: z.strictObject({ by, text }),
  RUN_CANCELLED: z.strictObject({ by, reason: z.string().max(20_000).optional() }),
};

const header = ({ runId, projectId, request, branch, startedAt }: BuildContext): RunHeader => ({
  runId,
  projectId,
  request,
  branch,
  startedAt,
});

const agentInput = (context: BuildContext, role: keyof BuildContext['calls']): AgentInput => ({
  ...header(context),
  config: context.config,
  head: context.head,
  baseCommit: context.baseCommit,
  excludePaths: context.excludePaths,
  notes: context.notes,
  call: context.calls[role] + 1,
});

const checkInput = (context: BuildContext, mode: Checked['mode']): CheckInput => ({
  ...header(context),
  mode,
  commit: context.head,
  baseCommit: context.baseCommit,
  setup: context.setup,
  test: context.test ?? { command: '', source: 'none' },
  excludePaths: context.excludePaths,
  timeoutMinutes: context.config.timeoutMinutes.validation,
});

const baselineInput = (context: BuildContext): BaselineInput => ({
  ...header(context),
  baseCommit: context.baseCommit,
  setup: context.setup,
  test: context.test ?? { command: '', source: 'none' },
  excludePaths: context.excludePaths,
  timeoutMinutes: context.config.timeoutMinutes.validation,
});

const NOTHING_CHANGED: Note = {
  kind: 'checks',
  text: 'Nothing was changed: no file of the project differs from the base commit, and no file that could not be taken counts. Do what the request and the plan ask for. Where there is truly nothing to do, change nothing and say why: a person decides then.',
};

/** Additions that the run proposes to the project's memory. */
const memoryOf = (context: BuildContext) => ({
  title: context.plan?.title ?? '',
  decisions: context.decisions,
  techStack: context.techStack,
  patterns: context.patterns,
});

const shown = (concerns: readonly Concern[] = []) => (concerns.length === 0 ? {} : { concerns });

/** Whether the pause is about the result: a person may send the result back, or accept it. */
const isAboutTheResult = ({ paused }: BuildContext): boolean =>
  paused?.reason === 'review_needed' || paused?.reason === 'secret_found';

const reportInput = (context: BuildContext): ReportInput => ({
  ...header(context),
  head: context.head,
  plan: context.plan,
  evidence: context.evidence,
  review: context.review,
  failure: context.failure,
  codeTree: context.codeTree ?? '',
});

const notTaken = (refused: string) => ({ type: 'NOTICE' as const, message: `Not taken from the sandbox: ${refused}` });

/** Notice about packages that the result adds; `null` if it adds none. */
const newDependencies = ({ newDependencies: added = [] }: Checked): string | null => {
  if (added.length === 0) return null;
  const list = added.map(({ name, version, file, was, hasInstallScript, source, ageDays }) => {
    const facts = [
      file,
      ...(was ? [`was ${was}`] : []),
      ...(ageDays === undefined ? [] : [`${ageDays} ${ageDays === 1 ? 'day' : 'days'} old`]),
      ...(hasInstallScript ? ['has an install script'] : []),
      ...(source ? [`source: ${source}`] : []),
    ];
    return `${name} ${version} (${facts.join(', ')})`;
  });
  return `New dependencies: ${list.join('; ')}`.slice(0, 10_000);
};

/** Tests that were there and have other text now; `null` where there are none. */
const changedTests = ({ changedTests: changed = [] }: Checked): string | null => {
  const list = changed.filter(({ linesRemoved }) => linesRemoved > 0);
  if (list.length === 0) return null;
  const named = list.map(({ path, linesRemoved, isDeleted }) => {
    const lines = `−${linesRemoved} ${linesRemoved === 1 ? 'line' : 'lines'}`;
    return `${path} (${isDeleted ? 'deleted, ' : ''}${lines})`;
  });
  return `Tests that were there before the run were changed: ${named.join(', ')}`.slice(0, 10_000);
};

/** The approved, committed plan: implementation and later stages are only reachable with one. */
function planOf(context: BuildContext): CommittedPlan {
  if (context.plan === null) throw new Error('there is no committed plan');
  return context.plan;
}

/** An agent's call came to its end: it is counted, and no limit of a provider stands in the way any more. */
const counted = (context: BuildContext, role: keyof BuildContext['calls']) => ({
  calls: { ...context.calls, [role]: context.calls[role] + 1 },
  resumedByItself: undefined,
});

/** A limit that is reached again each time the run resumes is none that time ends: a person is asked then. */
const MOST_RESUMES = 5;
const FIRST_PATIENCE_MS = 30_000;

/** When a run that reached a provider's limit goes on by itself: as the provider says at first, and ever later. */
const pausedByLimit = ({ resumedByItself = 0 }: BuildContext, message: string, resetMs: number) => {
  if (resumedByItself >= MOST_RESUMES)
    return {
      message: `${message} The run resumed by itself ${resumedByItself} times and got no further: it waits for a person now. Retry when the limit has ended, or go on with another model.`,
    };
  const resumesInMs = resumedByItself === 0 ? resetMs : Math.max(resetMs, FIRST_PATIENCE_MS * 2 ** resumedByItself);
  return { message, resumesInMs };
};

const minutes = (count: number) => Math.round(count * 60_000);

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

const NOTHING_TAKEN: FilesTaken = { runId: '', commit: '', paths: [], andThen: 'check' };

const CHECKS_QUESTION = {
  question: 'Which command checks this project?',
  context:
    "No test command was found in package.json, a Makefile or .autonomous/config.json. It is run in a fresh sandbox after each implementation. Answer 'none' if there is none: a person then has to accept the result.",
  responseType: 'text' as const,
};

const noChecks: Failure = {
  from: 'checks',
  severity: 'major',
  summary: 'The project has no checks: nothing but a person can vouch for the result',
  feedback: '',
};

const unsupported = ({ context }: { context: BuildContext }) => ({
  reason: 'poisoned' as PauseReason,
  message: `There is no evidence for the code tree ${context.codeTree ?? '(none)'}; it cannot be published.`,
  stage: 'validation',
});

/** Context that a fork changes. Detected or requested commands stay, unless the new configuration names others. */
function forked(context: BuildContext, { config = context.config, requestedConfig }: Forked): Partial<BuildContext> {
  const source = 'the configuration of the fork';
  const { setup, test } = config.commands;
  return {
    // A fork's configuration is resolved for this workflow, so it has every setting of it.
    config: config as BuildConfig,
    requestedConfig: requestedConfig ?? context.requestedConfig,
    resumedByItself: undefined,
    ...(test === context.config.commands.test ? {} : { test: { command: test ?? '', source } }),
    ...(setup === context.config.commands.setup
      ? {}
      : { setup: setup ? { command: setup, source } : null, setupDone: false }),
  };
}

const plainQuestion = (context: BuildContext) => ({ ...(context.question?.asked ?? CHECKS_QUESTION) });

/** The context keeps what decides; the whole output is in the log. */
const withoutOutput = (checked: Checked): Checked => ({
  ...checked,
  commands: checked.commands.map((command) => ({ ...command, output: command.output.slice(-2_000) })),
});

const answered = (context: BuildContext, response: string, uploads?: Note['uploads']) => ({
  answered: [...context.answered, { question: context.question?.asked.question ?? '', response }],
  notes: [
    ...context.notes,
    {
      kind: 'answer' as const,
      text: `Question: ${context.question?.asked.question ?? ''}\nAnswer: ${response}`,
      ...(uploads ? { uploads } : {}),
    },
  ],
});

const commitMessage = (context: BuildContext) =>
  `${context.codeVersion === 0 ? '' : 'Fix: '}${context.plan?.title ?? context.request.slice(0, 60)}\n\n${context.implemented?.summary ?? ''}`;

/** Note to later calls of the implementer about files that a person took from another run. */
const noteOfTaken = ({ runId, paths, andThen }: FilesTaken, words: string): Note => ({
  kind: 'feedback',
  text: `A person took these files from another approach to the request (run ${runId}): ${paths.join(', ')}. They are in place and stay as they are; make the rest fit them.${andThen === 'implement' ? `\n${words}` : ''}`,
});

/** Failures of this result in short, which a person accepts together with the result. */
const failuresOf = (context: BuildContext): string[] => (context.failure ? [context.failure.summary] : []);

const checksFailed = (evidence: Checked): Failure => ({
  from: evidence.mode === 'as_is' ? 'checks' : 'base_tests',
  severity: 'minor',
  summary:
    evidence.mode === 'as_is'
      ? `The project's checks failed: ${failedCommands(evidence)}`
      : `The project's checks pass only with the changed tests; with the base commit's they fail: ${failedCommands(evidence)}`,
  feedback: evidence.commands
    .filter((command) => command.exitCode !== 0)
    .map((command) => `$ ${command.command}\nexit code ${command.exitCode ?? 'none (killed)'}\n${command.output}`)
    .join('\n\n'),
});

/** The same since version 2, which tells it beside the base commit. */
const checksFailedBeside = (evidence: Checked): Failure => {
  const { baseline, failsAsBefore, mode, restored = [] } = evidence;
  const more = restored.length > 3 ? ` and ${restored.length - 3} more` : '';
  const files = restored.length === 0 ? '' : `: ${restored.slice(0, 3).join(', ')}${more}`;
  const failed = failedCommands(evidence);
  const { feedback, ...failure } = checksFailed(evidence);
  return {
    ...failure,
    summary: failsAsBefore
      ? `The checks failed before the run already (${baseline === undefined ? 'as now' : failureText(baseline)}) and fail in the same way now${mode === 'as_is' ? '' : `, with the base commit's tests put back${files}`}: ${failed}`
      : mode === 'as_is'
        ? failure.summary
        : restored.length === 0
          ? `The project's checks passed, and failed when they ran again with the base commit's tests: ${failed}`
          : `The project's checks pass with the result as it is; with these files as on the base commit they fail${files}: ${failed}`,
    feedback: baseline === undefined ? feedback : `${baselineText(baseline)}\n\n${feedback}`,
    ...(failsAsBefore ? { failsAsBefore } : {}),
  };
};

/** Details for a gate about the checks on the base commit; empty if their outcome is not known. */
const besideBase = ({ evidence }: BuildContext) => {
  const baseline = evidence.findLast((each) => each.baseline !== undefined)?.baseline;
  return baseline === undefined ? {} : { baseline: baselineText(baseline) };
};

const failedCommands = (evidence: Checked) =>
  evidence.commands
    .filter((command) => command.exitCode !== 0)
    .map((command) => `\`${command.command}\` (exit code ${command.exitCode ?? 'none'})`)
    .join(', ') || 'no check ran';

/** Whether exactly this code tree has evidence or a person's acceptance. Without either, nothing is published. */
export function isSupported(context: BuildContext): boolean {
  if (context.codeTree === null) return false;
  if (context.accepted?.codeTree === context.codeTree) return true;
  if (context.failure !== null || context.review?.verdict !== 'pass') return false;
  return (['as_is', 'base_tests'] as const).every((mode) =>
    context.evidence.some(
      (evidence) => evidence.mode === mode && evidence.passed && evidence.codeTree === context.codeTree,
    ),
  );
}

/** A stage's clock: fires once after the stage's time, and is re-armed by an extension. */
const clock = <Stage extends 'planning' | 'implementation' | 'validation'>(stage: Stage) =>
  ({
    initial: 'running',
    states: {
      running: {
        after: {
          [`${stage}Timeout`]: {
            target: '#build.interrupted',
            actions: { type: 'rememberTimeout', params: { stage } },
          },
        } as Record<
          `${Stage}Timeout`,
          { target: '#build.interrupted'; actions: { type: 'rememberTimeout'; params: { stage: Stage } } }
        >,
        on: { STAGE_EXTENDED: { target: 'running', reenter: true, actions: { type: 'extend', params: { stage } } } },
      },
    },
  }) as const;

const failed = <Stage extends string>(stage: Stage) =>
  ({ target: '#build.interrupted', actions: { type: 'rememberFailure', params: { stage } } }) as const;

/** The machine of one version. Input: {@link BuildInput}. */
export function buildMachine(version: 1 | 2) {
  const isSecond = version >= 2;
  /** Where a result is checked: with the baseline known, which planning does not wait for. */
  const toValidation = isSecond ? '#build.active.awaitingBaseline' : '#build.active.validation';
  return setup({
    types: {
      context: {} as BuildContext,
      input: {} as BuildInput,
      events: {} as Signal | Forked | BaselineEnd,
      emitted: {} as Emitted,
      meta: {} as StateMeta<BuildContext>,
    },
    actors: {
      prepare: activity<BuildActivities['prepare']['input'], Prepared>(),
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
      copyRecord: activity<BuildActivities['copyRecord']['input'], Recorded>(),
      merge: activity<BuildActivities['merge']['input'], Merged>(),
    },
    delays: {
      planningTimeout: ({ context }) => minutes(context.config.timeoutMinutes.planning),
      implementationTimeout: ({ context }) => minutes(context.config.timeoutMinutes.implementation),
      reset: ({ context }) => context.paused?.resumesInMs ?? 0,
      validationTimeout: ({ context }) => minutes(context.config.timeoutMinutes.validation),
    },
    guards: {
      planIsTrusted: ({ context }) => context.config.trustMode.planning === 'auto',
      resultIsTrusted: ({ context }) =>
        context.config.trustMode.implementation === 'auto' && (context.openConcerns ?? []).length === 0,
      isOverTheLimit: ({ context }) => context.clarificationCount > context.config.maxClarifications,
      mayFixByItself: ({ context }) =>
        context.autoRetry &&
        context.config.trustMode.fixes === 'auto' &&
        context.failure?.severity === 'minor' &&
        context.failure.from !== 'base_tests' &&
        context.failure.failsAsBefore !== true &&
        context.test?.command !== '' &&
        context.fixAttempts < context.config.maxFixAttempts,
      isSupported: ({ context }) => isSupported(context),
      merges: ({ context }) => context.config.git.autoMerge && !context.config.git.createPR,
      isFromPlanning: ({ context }) => context.question?.from === 'planning',
      isFromImplementation: ({ context }) => context.question?.from === 'implementation',
      namesThePlan: ({ context, event }) =>
        event.type === 'APPROVAL_GRANTED' &&
        (event.artifactHash === undefined || event.artifactHash === context.plan?.artifactHash) &&
        (event.codeTree === undefined || event.codeTree === context.plan?.codeTree),
      namesTheResult: ({ context, event }) =>
        event.type === 'APPROVAL_GRANTED' &&
        (event.artifactHash === undefined || event.artifactHash === context.report?.hash) &&
        (event.codeTree === undefined || event.codeTree === context.codeTree),
      bringsAPlan: ({ event }) =>
        event.type === 'APPROVAL_GRANTED' && event.editedPlan !== undefined && event.editedPlan.trim() !== '',
    },
    actions: {
      rememberFailure: enqueueActions(({ enqueue, context, event }, { stage }: { stage: string }) => {
        // The engine gives every failed activity an error of this shape.
        const { error } = event as unknown as { error: ActivityError };
        const { reason, message, retryAfterMs, budget } = error;
        const isLimit = reason === 'rate_limited' && retryAfterMs !== undefined;
        const pause = isLimit ? pausedByLimit(context, message, retryAfterMs) : { message };
        enqueue.assign({ paused: { reason, stage, ...pause, ...(budget === undefined ? {} : { budget }) } });
        if (stage === 'implementation') {
          enqueue.emit({ type: 'IMPLEMENTATION_FAILED', message, reason });
        }
      }),
      rememberTimeout: assign({
        paused: ({ context }, { stage }: { stage: 'planning' | 'implementation' | 'validation' }) => ({
          reason: 'timeout' as PauseReason,
          message: `The stage ${stage} took longer than ${context.config.timeoutMinutes[stage]} minutes.`,
          stage,
        }),
      }),
      extend: assign({
        config: ({ context, event }, { stage }: { stage: 'planning' | 'implementation' | 'validation' }) =>
          event.type === 'STAGE_EXTENDED'
            ? { ...context.config, timeoutMinutes: { ...context.config.timeoutMinutes, [stage]: event.minutes } }
            : context.config,
      }),
      // Also as a wish, which holds if the project's configuration is still to be read.
      changeBudget: assign(({ context, event }) => {
        if (event.type !== 'BUDGET_CHANGED') return {};
        const { type: _type, by: _by, gateId: _gateId, ...change } = event;
        return {
          config: withBudgets(context.config, change),
          requestedConfig: { ...context.requestedConfig, ...change },
        };
      }),
      noteMessage: assign({
        notes: ({ context, event }) =>
          event.type === 'MESSAGE_SENT'
            ? [...context.notes, { kind: 'message' as const, text: event.text }]
            : context.notes,
      }),
      noteFeedback: assign({
        notes: ({ context, event }) =>
          event.type === 'APPROVAL_REJECTED'
            ? [...context.notes, { kind: 'feedback' as const, text: event.feedback }]
            : context.notes,
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
      sendBackEmpty: assign(({ context }) => ({ emptyResults: 1, notes: [...context.notes, NOTHING_CHANGED] })),
      acceptConcerns: assign({ openConcerns: [] }),
      forgetValidation: assign({ evidence: [], review: null, failure: null, accepted: null }),
      takeFork: assign(({ context, event }) => (event.type === 'RUN_FORKED' ? forked(context, event) : {})),
      takeEdit: assign({
        edited: ({ event }) => (event.type === 'APPROVAL_GRANTED' ? (event.editedPlan ?? null) : null),
      }),
      takeAnswer: assign(({ context, event }) =>
        event.type === 'CLARIFICATION_ANSWERED' ? answered(context, event.response, event.uploads) : {},
      ),
      takeApprovalAsAnswer: assign(({ context, event }) =>
        event.type === 'APPROVAL_GRANTED' ? answered(context, event.notes ?? 'Decide by yourself and go on.') : {},
      ),
      noteIgnored: assign({
        notes: ({ context }) => [
          ...context.notes,
          {
            kind: 'feedback' as const,
            text: `The question '${context.question?.asked.question ?? ''}' was ignored. Plan so that it need not be asked.`,
          },
        ],
      }),
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
      keepEvidence: enqueueActions(({ enqueue, context }, { checked }: { checked: Checked }) => {
        enqueue.emit({ type: 'EVIDENCE_RECORDED', ...checked });
        const notice = newDependencies(checked);
        if (notice !== null && notice !== context.dependencyNotice) {
          enqueue.emit({ type: 'NOTICE', message: notice });
          enqueue.assign({ dependencyNotice: notice });
        }
        const tests = isSecond ? changedTests(checked) : null;
        if (tests !== null && tests !== context.testsNotice) {
          enqueue.emit({ type: 'NOTICE', message: tests });
          enqueue.assign({ testsNotice: tests });
        }
        enqueue.assign({
          evidence: [...context.evidence.filter((evidence) => evidence.mode !== checked.mode), withoutOutput(checked)],
          failure: checked.passed ? null : isSecond ? checksFailedBeside(checked) : checksFailed(checked),
        });
      }),
      startBaseline: enqueueActions(({ enqueue, context }) => {
        if (!isSecond || (context.test?.command ?? '') === '') return;
        enqueue.assign({ baseline: 'running' });
        enqueue.spawnChild('baseline', { id: 'baseline', input: ({ context: now }) => baselineInput(now) });
      }),
      keepBaseline: enqueueActions(({ enqueue, event }) => {
        const output = event.type === 'xstate.done.actor.baseline' ? event.output : null;
        enqueue.assign({ baseline: 'known' });
        if (output !== null) enqueue.emit({ type: 'BASELINE_RECORDED', ...output });
      }),
      keepReport: enqueueActions(({ enqueue, context }, { report }: { report: Reported }) => {
        const { path, hash, commit } = report;
        const { concerns = [], openConcerns = [] } = report;
        enqueue.assign({
          report: { path, hash, commit },
          head: commit,
          reportVersion: context.reportVersion + 1,
          ...(isSecond ? { concerns, openConcerns } : {}),
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
    },
  }).createMachine({
    id: 'build',
    initial: 'active',
    context: ({ input }) => ({
      runId: input.runId,
      projectId: input.projectId,
      request: input.request,
      branch: input.branch,
      startedAt: input.startedAt,
      config: input.config,
      requestedConfig: input.requestedConfig,
      baseCommit: '',
      head: '',
      excludePaths: [],
      setup: null,
      setupDone: false,
      test: null,
      autoRetry: true,
      notes: [],
      calls: { planner: 0, implementer: 0, validator: 0, 'plan-reply': 0 },
      clarificationCount: 0,
      answered: [],
      question: null,
      personAsks: null,
      draft: null,
      parserRetried: false,
      parserMessage: null,
      edited: null,
      plan: null,
      planVersion: 0,
      codeVersion: 0,
      reportVersion: 0,
      implemented: null,
      unsaved: null,
      codeTree: null,
      evidence: [],
      review: null,
      failure: null,
      report: null,
      fixAttempts: 0,
      accepted: null,
      paused: null,
      decisions: [],
      techStack: [],
      patterns: [],
      published: null,
      merged: false,
      ...(isSecond ? { baseline: 'none' as const, concerns: [], openConcerns: [], emptyResults: 0 } : {}),
    }),
    on: {
      ...(isSecond
        ? {
            'xstate.done.actor.baseline': { actions: 'keepBaseline' as const },
            'xstate.error.actor.baseline': { actions: assign({ baseline: 'known' as const }) },
          }
        : {}),
      RUN_CANCELLED: '.cancelled',
      MESSAGE_SENT: { actions: 'noteMessage' },
      BUDGET_CHANGED: { actions: 'changeBudget' },
      RUN_FORKED: { actions: 'takeFork' },
    },
    states: {
      active: {
        initial: 'planning',
        // Work that is under way begins anew, with the models and limits of the new configuration.
        on: {
          RUN_FORKED: {
            guard: ({ event }) => event.config !== undefined,
            target: '.last',
            reenter: true,
            actions: 'takeFork',
          },
        },
        states: {
          planning: {
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
                      input: ({ context }) => ({ ...header(context), requestedConfig: context.requestedConfig }),
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
                          ...(isSecond ? (['startBaseline'] as const) : []),
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
                            emit(({ event }) => ({ type: 'COST_RECORDED', ...event.output.cost })),
                            assign(({ context, event }) => ({
                              ...counted(context, 'planner'),
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
                            emit(({ event }) => ({ type: 'COST_RECORDED', ...event.output.cost })),
                            assign(({ context, event }) => ({
                              ...counted(context, 'planner'),
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
                            emit(({ event }) => ({ type: 'COST_RECORDED', ...event.output.cost })),
                            assign(({ context, event }) => ({
                              ...counted(context, 'planner'),
                              draft: event.output.kind === 'invalid' ? event.output.draft : null,
                              parserMessage: event.output.kind === 'invalid' ? event.output.message : null,
                            })),
                          ],
                        },
                        {
                          target: 'committing',
                          actions: [
                            emit(({ event }) => ({ type: 'COST_RECORDED', ...event.output.cost })),
                            assign(({ context, event }) => ({
                              ...counted(context, 'planner'),
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
                        ...header(context),
                        head: context.head,
                        draft: context.draft ?? NO_DRAFT,
                        existing: context.plan,
                      }),
                      onDone: {
                        target: '#build.active.planGate',
                        actions: enqueueActions(({ enqueue, event, context }) => {
                          const { draft } = context;
                          enqueue({ type: 'keepPlan', params: { plan: event.output } });
                          for (const decision of draft?.decisions ?? [])
                            enqueue.emit({ type: 'DECISION_RECORDED', ...decision });
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
          },

          planGate: { always: [{ guard: 'planIsTrusted', target: 'pushingPlan' }, { target: 'awaitingPlanApproval' }] },

          awaitingPlanApproval: {
            meta: {
              status: 'awaiting_approval',
              stage: 'planning',
              gate: {
                kind: 'plan',
                decisions: ['approve', 'reject', 'ask'],
                summary: (context) => `Review the plan '${context.plan?.title ?? ''}'`,
                facts: (context) => ({
                  ...(context.plan ? { artifactHash: context.plan.artifactHash, codeTree: context.plan.codeTree } : {}),
                  ...(isSecond && context.plan?.memory ? shown([context.plan.memory]) : {}),
                  details: {
                    path: context.plan?.path,
                    title: context.plan?.title,
                    version: context.planVersion,
                    constraints: context.plan?.constraints,
                    techStack: context.techStack,
                    patterns: context.patterns,
                  },
                }),
              },
            },
            on: {
              APPROVAL_GRANTED: [
                { guard: and(['namesThePlan', 'bringsAPlan']), target: 'revisingPlan', actions: 'takeEdit' },
                { guard: 'namesThePlan', target: 'pushingPlan' },
              ],
              APPROVAL_REJECTED: { target: '#build.active.planning.work.drafting', actions: 'noteFeedback' },
              QUESTION_ASKED: { target: 'replying', actions: assign({ personAsks: ({ event }) => event.question }) },
            },
          },

          replying: {
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
                  emit(({ event }) => ({ type: 'COST_RECORDED', ...event.output.cost })),
                  emit(({ context, event }) => ({
                    type: 'QUESTION_REPLIED',
                    question: context.personAsks ?? '',
                    reply: event.output.reply,
                  })),
                  assign(({ context }) => ({ ...counted(context, 'plan-reply'), personAsks: null })),
                ],
              },
              onError: failed('planning'),
            },
          },

          // The planner failed twice to write a diagram that parses: a person corrects the plan, or sends it back.
          awaitingPlanRepair: {
            meta: {
              status: 'awaiting_approval',
              stage: 'planning',
              gate: {
                kind: 'invalid_plan',
                decisions: ['approve', 'reject'],
                summary: () => "The plan's diagrams cannot be read: correct the plan, or send it back",
                facts: (context) => ({
                  details: {
                    parserMessage: context.parserMessage,
                    draft: context.draft?.plan,
                    title: context.draft?.title,
                  },
                }),
              },
            },
            on: {
              APPROVAL_GRANTED: { guard: 'bringsAPlan', target: 'revisingPlan', actions: 'takeEdit' },
              APPROVAL_REJECTED: {
                target: '#build.active.planning.work.drafting',
                actions: ['noteFeedback', assign({ parserRetried: false })],
              },
            },
          },

          revisingPlan: {
            meta: { status: 'running', stage: 'planning' },
            invoke: {
              id: 'revisePlan',
              src: 'revisePlan',
              input: ({ context }) => ({
                ...header(context),
                head: context.head,
                text: context.edited ?? '',
                existing: context.plan,
                title: context.draft?.title ?? context.plan?.title ?? context.request.slice(0, 80),
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
                    for (const decision of draft?.decisions ?? [])
                      enqueue.emit({ type: 'DECISION_RECORDED', ...decision });
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
          },

          // Only an accepted plan leaves the machine.
          pushingPlan: {
            meta: { status: 'running', stage: 'planning' },
            invoke: {
              id: 'pushPlan',
              src: 'pushBranch',
              input: ({ context }) => ({ ...header(context), commit: context.head }),
              onDone: 'implementation',
              onError: failed('planning'),
            },
          },

          // An agent has a question. The one over the limit becomes a gate that shows all of them.
          asking: {
            entry: assign({ clarificationCount: ({ context }) => context.clarificationCount + 1 }),
            always: [{ guard: 'isOverTheLimit', target: 'awaitingEscalation' }, { target: 'awaitingAnswer' }],
          },

          awaitingAnswer: {
            meta: {
              status: 'awaiting_clarification',
              stage: (context) => context.question?.from ?? 'planning',
              gate: {
                kind: 'clarification',
                decisions: ['answer', 'ignore'],
                summary: (context) => context.question?.asked.question ?? '',
                facts: (context) => ({
                  question: plainQuestion(context),
                  attemptNumber: context.clarificationCount,
                  details: {},
                }),
              },
            },
            on: {
              CLARIFICATION_ANSWERED: [
                {
                  guard: 'isFromImplementation',
                  target: '#build.active.implementation.work.implementing',
                  actions: ['takeAnswer', assign({ question: null })],
                },
                { target: '#build.active.planning.work.drafting', actions: ['takeAnswer', assign({ question: null })] },
              ],
              CLARIFICATION_IGNORED: {
                target: '#build.active.planning.work.drafting',
                actions: ['noteIgnored', assign({ question: null })],
              },
            },
          },

          awaitingEscalation: {
            meta: {
              status: 'awaiting_approval',
              stage: (context) => context.question?.from ?? 'planning',
              gate: {
                kind: 'escalation',
                decisions: ['approve', 'reject'],
                summary: (context) =>
                  `More than ${context.config.maxClarifications} questions: approve with notes that answer the last one, or reject`,
                facts: (context) => ({ details: { question: plainQuestion(context), answered: context.answered } }),
              },
            },
            on: {
              APPROVAL_GRANTED: [
                {
                  guard: 'isFromImplementation',
                  target: '#build.active.implementation.work.implementing',
                  actions: ['takeApprovalAsAnswer', assign({ question: null })],
                },
                {
                  target: '#build.active.planning.work.drafting',
                  actions: ['takeApprovalAsAnswer', assign({ question: null })],
                },
              ],
              APPROVAL_REJECTED: {
                target: '#build.active.planning.work.drafting',
                actions: ['noteFeedback', assign({ question: null })],
              },
            },
          },

          implementation: {
            type: 'parallel',
            meta: { status: 'running', stage: 'implementation' },
            states: {
              work: {
                initial: 'settingUp',
                states: {
                  settingUp: {
                    always: {
                      guard: ({ context }) => context.setup === null || context.setupDone,
                      target: 'implementing',
                    },
                    invoke: {
                      id: 'setUp',
                      src: 'setUp',
                      input: ({ context }) => ({
                        ...header(context),
                        head: context.head,
                        setup: context.setup ?? { command: '', source: 'none' },
                        excludePaths: context.excludePaths,
                      }),
                      onDone: { target: 'implementing', actions: assign({ setupDone: true }) },
                      onError: failed('implementation'),
                    },
                  },
                  implementing: {
                    invoke: {
                      id: 'implementer',
                      src: 'implement',
                      input: ({ context }) => ({
                        ...agentInput(context, 'implementer'),
                        plan: planOf(context),
                        setup: context.setup,
                        test: context.test,
                      }),
                      onDone: [
                        {
                          guard: ({ event }) => event.output.kind === 'question',
                          target: 'savingWork',
                          actions: enqueueActions(({ enqueue, context, event }) => {
                            const { output } = event;
                            enqueue.emit({ type: 'COST_RECORDED', ...output.cost });
                            for (const refused of output.refused) enqueue.emit(notTaken(refused));
                            enqueue.assign({
                              ...counted(context, 'implementer'),
                              unsaved: output.tree,
                              question:
                                output.kind === 'question'
                                  ? { asked: output.question, from: 'implementation' as const }
                                  : null,
                            });
                          }),
                        },
                        {
                          target: 'committing',
                          actions: enqueueActions(({ enqueue, context, event }) => {
                            const { output } = event;
                            enqueue.emit({ type: 'COST_RECORDED', ...output.cost });
                            if (output.kind !== 'implemented') return;
                            for (const decision of output.decisions)
                              enqueue.emit({ type: 'DECISION_RECORDED', ...decision });
                            for (const refused of output.refused) enqueue.emit(notTaken(refused));
                            enqueue.assign({
                              ...counted(context, 'implementer'),
                              implemented: output,
                              decisions: [...context.decisions, ...output.decisions],
                            });
                          }),
                        },
                      ],
                      onError: failed('implementation'),
                    },
                  },
                  // Files of another run's result, as a person chose them: a commit of its own, and checked like any other.
                  takingFiles: {
                    invoke: {
                      id: 'takeFiles',
                      src: 'takeFiles',
                      input: ({ context }) => ({
                        ...header(context),
                        head: context.head,
                        baseCommit: context.baseCommit,
                        take: context.taking ?? NOTHING_TAKEN,
                      }),
                      onDone: [
                        {
                          guard: ({ context }) => context.taking?.andThen === 'implement',
                          target: 'implementing',
                          actions: [
                            'sayTaken',
                            assign({ taking: undefined, head: ({ event }) => event.output.commit }),
                          ],
                        },
                        {
                          target: toValidation,
                          actions: [
                            'sayTaken',
                            'forgetValidation',
                            enqueueActions(({ enqueue, context, event }) => {
                              const { commit, codeTree, filesChanged } = event.output;
                              const version = context.codeVersion + 1;
                              enqueue.assign({
                                head: commit,
                                codeTree,
                                codeVersion: version,
                                ...(isSecond ? { isEmpty: false } : {}),
                              });
                              enqueue.emit({
                                type: 'ARTIFACT_CREATED',
                                artifact: {
                                  stage: 'implementation',
                                  type: 'code',
                                  commitSha: commit,
                                  hash: codeTree,
                                  version,
                                  filesChanged,
                                  scripted: context.taking?.scripted ?? false,
                                },
                              });
                              enqueue.emit({
                                type: 'IMPLEMENTATION_SUCCEEDED',
                                commit,
                                codeTree,
                                summary: `Files of run ${context.taking?.runId ?? ''} were taken.`,
                                filesChanged,
                              });
                              enqueue.assign({ taking: undefined });
                            }),
                          ],
                        },
                      ],
                      onError: failed('implementation'),
                    },
                  },
                  // The agent's work so far is committed before a person is asked.
                  savingWork: {
                    invoke: {
                      id: 'saveWork',
                      src: 'commitCode',
                      input: ({ context }) => ({
                        ...header(context),
                        head: context.head,
                        baseCommit: context.baseCommit,
                        tree: context.unsaved ?? '',
                        message: `Checkpoint: work before the question '${context.question?.asked.question.slice(0, 100) ?? ''}'`,
                      }),
                      onDone: {
                        target: '#build.active.asking',
                        actions: assign({ unsaved: null, head: ({ event }) => event.output.commit }),
                      },
                      onError: failed('implementation'),
                    },
                  },
                  committing: {
                    invoke: {
                      id: 'commitCode',
                      src: 'commitCode',
                      input: ({ context }) => ({
                        ...header(context),
                        head: context.head,
                        baseCommit: context.baseCommit,
                        tree: context.implemented?.tree ?? '',
                        message: commitMessage(context),
                      }),
                      onDone: {
                        target: toValidation,
                        actions: [
                          'forgetValidation',
                          assign(({ context, event }) => ({
                            head: event.output.commit,
                            codeTree: event.output.codeTree,
                            ...(isSecond ? { isEmpty: event.output.filesChanged.length === 0 } : {}),
                            codeVersion: context.codeVersion + 1,
                          })),
                          emit(({ context, event }) => ({
                            type: 'ARTIFACT_CREATED',
                            artifact: {
                              stage: 'implementation',
                              type: 'code',
                              commitSha: event.output.commit,
                              hash: event.output.codeTree,
                              version: context.codeVersion,
                              filesChanged: event.output.filesChanged,
                              scripted: context.implemented?.cost.scripted ?? false,
                            },
                          })),
                          emit(({ context, event }) => ({
                            type: 'IMPLEMENTATION_SUCCEEDED',
                            commit: event.output.commit,
                            codeTree: event.output.codeTree,
                            summary: context.implemented?.summary ?? '',
                            filesChanged: event.output.filesChanged,
                          })),
                          assign({ implemented: null }),
                        ],
                      },
                      onError: failed('implementation'),
                    },
                  },
                },
              },
              clock: clock('implementation'),
            },
          },

          ...(isSecond
            ? {
                awaitingBaseline: {
                  meta: { status: 'running' as const, stage: 'validation' },
                  always: [
                    {
                      // Once: whether there is nothing to do is then for a person to say.
                      guard: ({ context }: { readonly context: BuildContext }) =>
                        context.isEmpty === true && context.emptyResults === 0,
                      target: '#build.active.implementation.work.implementing',
                      actions: 'sendBackEmpty' as const,
                    },
                    {
                      guard: ({ context }: { readonly context: BuildContext }) => context.baseline !== 'running',
                      target: 'validation' as const,
                    },
                  ],
                },
              }
            : {}),

          validation: {
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
                          emit(({ event }) => ({ type: 'COST_RECORDED', ...event.output.cost })),
                          assign(({ context, event }) => ({
                            ...counted(context, 'validator'),
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
                        ...(isSecond ? { memory: memoryOf(context) } : {}),
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
          },

          // The project names no check. A person is asked once; it does not count against the agents' questions.
          awaitingChecks: {
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
          },

          deciding: {
            always: [
              {
                guard: 'mayFixByItself',
                target: '#build.active.implementation.work.implementing',
                actions: [
                  assign({ fixAttempts: ({ context }) => context.fixAttempts + 1 }),
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
          },

          awaitingFixDecision: {
            meta: {
              status: 'awaiting_approval',
              stage: 'validation',
              gate: {
                kind: 'fix',
                decisions: ['retry', 'accept'],
                summary: (context) => context.failure?.summary ?? 'The validation failed',
                facts: (context) => ({
                  ...(context.report ? { artifactHash: context.report.hash } : {}),
                  ...(context.codeTree ? { codeTree: context.codeTree } : {}),
                  ...shown(context.concerns),
                  details: {
                    from: context.failure?.from,
                    severity: context.failure?.severity,
                    feedback: context.failure?.feedback,
                    attempts: context.fixAttempts,
                    restored: context.evidence.find((evidence) => evidence.mode === 'base_tests')?.restored,
                    ...(isSecond ? besideBase(context) : {}),
                    accepts: failuresOf(context),
                    report: context.report?.path,
                  },
                }),
              },
            },
            on: {
              FIX_DECIDED: [
                {
                  guard: ({ event }) => event.decision === 'retry' && event.take !== undefined,
                  target: '#build.active.implementation.work.takingFiles',
                  actions: ['takeFrom', assign({ fixAttempts: ({ context }) => context.fixAttempts + 1 })],
                },
                {
                  guard: ({ event }) => event.decision === 'retry',
                  target: '#build.active.implementation.work.implementing',
                  actions: [
                    'noteFailure',
                    assign(({ context, event }) => ({
                      fixAttempts: context.fixAttempts + 1,
                      notes: event.reason
                        ? [...context.notes, { kind: 'feedback' as const, text: event.reason }]
                        : context.notes,
                    })),
                  ],
                },
                {
                  // An acceptance of a failed result needs a reason.
                  guard: ({ event }) => (event.reason ?? '').trim() !== '',
                  target: 'resultGate',
                  actions: assign(({ context, event }) => ({
                    ...(isSecond ? { openConcerns: [] } : {}),
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
          },

          resultGate: {
            always: [
              { guard: not('isSupported'), target: '#build.interrupted', actions: assign({ paused: unsupported }) },
              { guard: 'resultIsTrusted', target: 'publishing' },
              { target: 'awaitingResultApproval' },
            ],
          },

          awaitingResultApproval: {
            meta: {
              status: 'awaiting_approval',
              stage: 'validation',
              gate: {
                kind: 'implementation',
                decisions: ['approve', 'reject'],
                summary: (context) => `Review the result of '${context.plan?.title ?? ''}'`,
                facts: (context) => ({
                  ...(context.report ? { artifactHash: context.report.hash } : {}),
                  ...(context.codeTree ? { codeTree: context.codeTree } : {}),
                  ...shown(context.concerns),
                  details: {
                    report: context.report?.path,
                    review: context.review?.summary,
                    accepted: context.accepted,
                    checks: context.evidence.map(({ mode, passed, sandbox }) => ({ mode, passed, sandbox })),
                    ...(isSecond ? besideBase(context) : {}),
                    newDependencies: context.evidence
                      .find(({ mode }) => mode === 'as_is')
                      ?.newDependencies?.map((each) => ({ ...each })),
                  },
                }),
              },
            },
            on: {
              APPROVAL_GRANTED: {
                guard: 'namesTheResult',
                target: 'publishing',
                ...(isSecond ? { actions: 'acceptConcerns' as const } : {}),
              },
              APPROVAL_REJECTED: [
                {
                  guard: ({ event }) => event.take !== undefined,
                  target: '#build.active.implementation.work.takingFiles',
                  actions: 'takeFrom',
                },
                { target: '#build.active.implementation.work.implementing', actions: 'noteFeedback' },
              ],
            },
          },

          publishing: {
            meta: { status: 'running', stage: 'publishing' },
            initial: 'checkingSupport',
            states: {
              checkingSupport: {
                always: [
                  { guard: not('isSupported'), target: '#build.interrupted', actions: assign({ paused: unsupported }) },
                  { guard: 'merges', target: 'integrating' },
                  { target: 'recording' },
                ],
              },
              // The latest base comes into the run's branch first; if that changes the code, it is validated again.
              integrating: {
                invoke: {
                  id: 'integrate',
                  src: 'integrate',
                  input: ({ context }) => ({
                    ...header(context),
                    head: context.head,
                    baseCommit: context.baseCommit,
                    baseBranch: context.config.git.baseBranch,
                    planPath: planOf(context).path,
                  }),
                  onDone: [
                    {
                      guard: ({ event }) => event.output.moved,
                      target: toValidation,
                      actions: [
                        'forgetValidation',
                        enqueueActions(({ enqueue, context, event }) => {
                          const { output } = event;
                          if (!output.moved) return;
                          const { baseCommit, commit, codeTree, planPath } = output;
                          const { baseBranch } = context.config.git;
                          const plan = planOf(context);
                          enqueue.assign({ head: commit, baseCommit, codeTree, plan: { ...plan, path: planPath } });
                          enqueue.emit({ type: 'BASE_INTEGRATED', baseBranch, baseCommit, commit, codeTree });
                          if (planPath === plan.path) return;
                          enqueue.emit({
                            type: 'NOTICE',
                            message: `${baseBranch} has another plan with the number of ${plan.path} now: this run's plan became ${planPath}.`,
                          });
                        }),
                      ],
                    },
                    { target: 'recording' },
                  ],
                  onError: failed('publishing'),
                },
              },
              recording: {
                invoke: {
                  id: 'copyRecord',
                  src: 'copyRecord',
                  input: ({ context }) => ({
                    ...reportInput(context),
                    accepted: context.accepted !== null,
                    title: context.plan?.title ?? context.request.slice(0, 80),
                    decisions: [
                      ...context.decisions,
                      ...context.answered.map(({ question, response }) => ({
                        topic: question,
                        choice: response,
                        rationale: 'answered by a person',
                      })),
                    ],
                    techStack: context.techStack,
                    patterns: context.patterns,
                  }),
                  onDone: {
                    target: 'pushing',
                    actions: enqueueActions(({ enqueue, event }) => {
                      enqueue.assign({ head: event.output.commit });
                      for (const message of event.output.notices) enqueue.emit({ type: 'NOTICE', message });
                    }),
                  },
                  onError: failed('publishing'),
                },
              },
              pushing: {
                invoke: {
                  id: 'pushBranch',
                  src: 'pushBranch',
                  input: ({ context }) => ({ ...header(context), commit: context.head }),
                  onDone: {
                    target: 'choosing',
                    actions: [
                      assign({ published: ({ event }) => event.output }),
                      emit(({ context, event }) => ({
                        type: 'CHANGES_PUBLISHED',
                        branch: context.branch,
                        commit: event.output.commit,
                        pushed: event.output.pushed,
                        ...(context.config.git.createPR
                          ? {
                              note: 'No forge is configured: the branch is pushed; open the pull request from it by hand.',
                            }
                          : {}),
                      })),
                    ],
                  },
                  onError: failed('publishing'),
                },
              },
              choosing: { always: [{ guard: 'merges', target: 'merging' }, { target: '#build.completed' }] },
              merging: {
                invoke: {
                  id: 'merge',
                  src: 'merge',
                  input: ({ context }) => ({
                    ...header(context),
                    head: context.head,
                    baseCommit: context.baseCommit,
                    baseBranch: context.config.git.baseBranch,
                    strategy: context.config.git.mergeStrategy,
                    codeTree: context.codeTree ?? '',
                    title: context.plan?.title ?? context.request.slice(0, 80),
                  }),
                  onDone: [
                    {
                      guard: ({ event }) => event.output.merged,
                      target: '#build.completed',
                      actions: enqueueActions(({ enqueue, context, event }) => {
                        if (!event.output.merged) return;
                        enqueue.assign({ merged: true });
                        enqueue.emit({
                          type: 'RUN_MERGED',
                          baseBranch: context.config.git.baseBranch,
                          commit: event.output.commit,
                          strategy: event.output.strategy,
                        });
                      }),
                    },
                    { target: 'integrating' },
                  ],
                  onError: failed('publishing'),
                },
              },
            },
          },

          last: { type: 'history', history: 'deep' },
        },
      },

      // Whatever an agent left in its folder is committed before a person is asked.
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
            actions: enqueueActions(({ enqueue, context, event }) => {
              enqueue.assign({ head: event.output.commit ?? context.head });
              for (const refused of event.output.refused) enqueue.emit(notTaken(refused));
            }),
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
                : isSecond && isAboutTheResult(context)
                  ? ['retry', 'reject', 'accept']
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
          // A provider named the time at which its limit ends; a person may still retry before.
          untilReset: {
            after: {
              reset: {
                target: '#build.active.last',
                actions: assign(({ context }) => ({
                  paused: null,
                  resumedByItself: (context.resumedByItself ?? 0) + 1,
                })),
              },
            },
          },
          untilAPerson: { entry: assign({ resumedByItself: undefined }) },
        },
        on: {
          RETRY_REQUESTED: {
            target: 'active.last',
            actions: assign(({ context, event }) => ({
              paused: null,
              resumedByItself: undefined,
              notes: event.notes ? [...context.notes, { kind: 'message' as const, text: event.notes }] : context.notes,
            })),
          },
          ...(isSecond
            ? {
                APPROVAL_REJECTED: [
                  {
                    guard: ({ context }: { readonly context: BuildContext }) =>
                      isAboutTheResult(context) && context.paused?.stage === 'planning',
                    target: '#build.active.planning.work.drafting',
                    actions: ['noteFeedback' as const, assign({ paused: null })],
                  },
                  {
                    guard: ({ context }: { readonly context: BuildContext }) => isAboutTheResult(context),
                    target: '#build.active.implementation.work.implementing',
                    actions: ['noteFeedback' as const, assign({ paused: null })],
                  },
                ],
              }
            : {}),
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
                timeoutMinutes: {
                  ...context.config.timeoutMinutes,
                  [context.paused?.stage ?? 'planning']: event.minutes,
                },
              },
            })),
          },
        },
      },

      completed: {
        type: 'final',
        meta: {
          status: 'completed',
          message: (context) =>
            context.merged
              ? `Merged into ${context.config.git.baseBranch}`
              : `Branch ${context.branch} ${context.published?.pushed === false ? 'is ready' : 'is pushed'}`,
        },
      },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  });
}
