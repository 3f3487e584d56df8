/** Fold of events into the run view. The server and the clients use the same function and get the same view. */
import { BUDGET_NAMES, TREE_BUDGET_NAMES } from './budgets.ts';
import { acceptedAt, concernsHashOf } from './gates/concerns.ts';
import type { EventPayloads, GateOpening, RunStart, WorkflowEvent, WorkflowEventType } from './events.ts';
import type { JsonObject } from './json.ts';
import { holdsNote } from './review/review-notes.ts';
import {
  type Artifact,
  type Clarification,
  type Decision,
  FINAL_STATUSES,
  type Gate,
  type GateOutcome,
  type PauseReason,
  type ReviewComment,
  type RunView,
} from './run.ts';
import { ownedFilesNotice, ownedFilesNotices } from './owned-files.ts';
import { addBooked, addSpending, spentOf, withBudgets } from './spending.ts';

/**
 * Folds one more event of the run into its view.
 * @param view the view so far; `null` before the first event
 * @returns the same object if the event was already folded (its sequence is not newer) or does not change the view;
 *   `null` if the first event is not the beginning of a run
 */
export function foldRun(view: RunView | null, event: WorkflowEvent): RunView | null {
  if (view === null) return begin(event);
  if (event.sequence <= view.lastSequence) return view;
  const folded = apply(view, event);
  return { ...folded, lastSequence: event.sequence, updatedAt: event.timestamp };
}

function begin(event: WorkflowEvent): RunView | null {
  if (event.type === 'RUN_STARTED') {
    const view = viewAtStart(event.workflowRunId, event.payload as unknown as RunStart, event.timestamp);
    return { ...view, status: 'running', startedAt: event.timestamp, lastSequence: event.sequence };
  }
  if (event.type === 'RUN_QUEUED') {
    const { start, position } = event.payload as unknown as EventPayloads['RUN_QUEUED'];
    if (!start) return null;
    const view = viewAtStart(event.workflowRunId, start, event.timestamp);
    return { ...view, queuePosition: position, lastSequence: event.sequence };
  }
  return null;
}

/**
 * Makes the view of a run from its start data. Its status is `queued`.
 * @param at creation time, ISO 8601
 */
export function viewAtStart(runId: string, start: RunStart, at: string): RunView {
  return {
    id: runId,
    projectId: start.projectId,
    userId: start.userId,
    workflow: { name: start.workflow.name, version: start.workflow.version },
    ...(start.explorationId === undefined ? {} : { explorationId: start.explorationId }),
    ...(start.parent === undefined ? {} : { parent: start.parent }),
    ...(start.attempt === undefined ? {} : { attempt: start.attempt }),
    ...(start.treeId === undefined ? {} : { treeId: start.treeId }),
    ...(start.ownedFiles === undefined ? {} : { ownedFiles: start.ownedFiles }),
    ...(start.allowedFiles === undefined ? {} : { allowedFiles: start.allowedFiles }),
    originalRequest: start.request,
    status: 'queued',
    currentStage: null,
    state: null,
    config: start.config,
    branch: start.branch,
    createdAt: at,
    clarificationCount: 0,
    fixAttempts: 0,
    gate: null,
    gates: [],
    clarifications: [],
    artifacts: [],
    evidence: [],
    decisions: [],
    stages: [],
    cost: { inputTokens: 0, outputTokens: 0, calls: 0 },
    scriptedModels: [],
    notices: ownedFilesNotices(start),
    lastSequence: 0,
    updatedAt: at,
  };
}

type Folder = (view: RunView, payload: never, event: WorkflowEvent) => RunView;

const folders: {
  readonly [Type in WorkflowEventType]?: (view: RunView, payload: EventPayloads[Type], event: WorkflowEvent) => RunView;
} = {
  RUN_QUEUED: (view, { position }) => ({ ...view, status: 'queued', gate: null, queuePosition: position }),
  RUN_STARTED: (view, _start, event) => ({ ...withoutQueue(view), status: 'running', startedAt: event.timestamp }),
  RUN_MIGRATED: (view, { to }) => ({ ...view, workflow: { ...view.workflow, version: to } }),
  RUN_ADMITTED: (view) => ({ ...withoutQueue(view), status: 'running' }),
  RUN_FORKED: (view, { from, at, tree, config, notices = [], rebuilt }, event) => ({
    ...withoutQueue(rebuilt ? ofRecord(view, event) : view),
    status: view.status === 'queued' ? 'running' : view.status,
    ...(config === undefined ? {} : { config }),
    forkedFrom: { runId: from, at, spent: spentOf(view.cost) },
    treeId: tree,
    createdAt: event.timestamp,
    notices: [...view.notices, ...notices],
  }),
  RUN_CONFIGURED: (view, { config, baseCommit, notices }) => ({
    ...view,
    config,
    baseCommit,
    notices: [...view.notices, ...notices],
  }),
  STAGE_STARTED: (view, { stage }, event) => ({
    ...view,
    currentStage: stage,
    stages: [...view.stages, { stage, startedAt: event.timestamp }],
  }),
  STAGE_COMPLETED: (view, { stage }, event) => {
    const last = view.stages.findLastIndex((visit) => visit.stage === stage && visit.completedAt === undefined);
    return {
      ...view,
      stages: view.stages.map((visit, index) => (index === last ? { ...visit, completedAt: event.timestamp } : visit)),
    };
  },
  STATE_CHANGED: (view, { status, stage, state }) => {
    const changed = { ...view, status, currentStage: stage, state, gate: null };
    // A run that was cancelled and has something to do before its end goes on.
    return view.status === 'cancelled' && !FINAL_STATUSES.has(status) ? withoutEnd(changed) : changed;
  },
  APPROVAL_REQUESTED: (view, opening, event) => ({ ...openGate(view, opening, event), pausedAt: event.timestamp }),
  CLARIFICATION_REQUESTED: (view, opening, event) => {
    const clarification: Clarification = {
      ...opening.question,
      id: gateId(event),
      workflowRunId: view.id,
      stage: opening.stage ?? 'planning',
      status: 'pending',
      attemptNumber: opening.attemptNumber,
      createdAt: event.timestamp,
    };
    return {
      ...openGate(view, opening, event, { question: opening.question }),
      pausedAt: event.timestamp,
      clarificationCount: Math.max(view.clarificationCount, opening.attemptNumber),
      clarifications: [...withoutOpen(view), clarification],
    };
  },
  RUN_PAUSED: (view, opening, event) => ({
    ...openGate(withoutRaised(isOfRecord(opening) ? ofRecord(view, event) : view), opening, event, {
      ...raisedAt(view, opening),
      reason: opening.reason,
      ...(opening.question === undefined ? {} : { question: opening.question }),
      ...(opening.budget === undefined ? {} : { budget: opening.budget }),
      ...(opening.budgetOf === undefined ? {} : { budgetOf: opening.budgetOf }),
    }),
    status: 'paused',
    pausedAt: event.timestamp,
  }),
  RUN_RESUMED: (view, _payload, event) => ({ ...view, resumedAt: event.timestamp }),
  APPROVAL_GRANTED: (view, payload, event) => ({
    ...decided(view, 'approve', payload.by, event, payload.notes),
    artifacts: approve(view, payload, event),
  }),
  APPROVAL_REJECTED: (view, { by, feedback }, event) =>
    withoutSent(decided(view, 'reject', by, event, feedback), feedback),
  CLARIFICATION_ANSWERED: (view, { by, response }, event) => ({
    ...decided(view, 'answer', by, event, response),
    clarifications: settle(view, event, { status: 'answered', response, answeredBy: by, answeredAt: event.timestamp }),
  }),
  CLARIFICATION_IGNORED: (view, { by }, event) => ({
    ...decided(view, 'ignore', by, event),
    clarifications: settle(view, event, { status: 'ignored', answeredBy: by, answeredAt: event.timestamp }),
  }),
  QUESTION_ASKED: (view, { by, question }, event) => decided(view, 'ask', by, event, question),
  QUESTION_REPLIED: (view, { question, reply }, event) => ({
    ...view,
    replies: [...(view.replies ?? []), { question, reply, at: event.timestamp }],
  }),
  FIX_DECIDED: (view, payload, event) => {
    const retried = payload.decision === 'retry' ? { ...view, fixAttempts: payload.attempt ?? view.fixAttempts } : view;
    if (payload.by === 'policy') return retried;
    const outcome = decided(retried, payload.decision, payload.by, event, payload.reason, payload.accepted);
    return withoutSent(outcome, payload.reason);
  },
  RETRY_REQUESTED: (view, { by, notes, accepts }, event) =>
    withoutSent(
      accepts !== undefined && accepts === view.gate?.artifactHash
        ? decided(view, 'accept', by, event, notes)
        : decided(view, 'retry', by, event, notes),
      notes,
    ),
  ACTIVITY_FAILED: (view, { error }) => (error.raised === undefined ? view : { ...view, raisedConcerns: error.raised }),
  BASELINE_RECORDED: (view, { timeoutMinutes, ...baseline }) => ({
    ...view,
    baseline,
    ...(timeoutMinutes === undefined
      ? {}
      : { config: { ...view.config, timeoutMinutes: { ...view.config.timeoutMinutes, ...timeoutMinutes } } }),
  }),
  STAGE_EXTENDED: (view, { by, minutes }, event) => {
    const extended = { ...view, config: withTimeout(view, minutes) };
    return view.gate === null ? extended : decided(extended, 'extend', by, event, `${minutes} minutes`);
  },
  REVIEW_COMMENT_ADDED: (view, { by, gateId: gate, path, line, text }, event) => ({
    ...view,
    comments: [
      ...(view.comments ?? []),
      { id: gateId(event), gateId: gate, path, line, text, by, at: event.timestamp },
    ],
  }),
  REVIEW_COMMENT_EDITED: (view, { by, comment, text }, event) =>
    withComments(
      view,
      (view.comments ?? []).map((each) =>
        each.id === `${view.id}.${comment}` ? { ...each, text, by, at: event.timestamp } : each,
      ),
    ),
  REVIEW_COMMENT_DELETED: (view, { comment }) =>
    withComments(
      view,
      (view.comments ?? []).filter(({ id }) => id !== `${view.id}.${comment}`),
    ),
  ARTIFACT_CREATED: (view, { artifact: made }, event) => {
    const artifact: Artifact = { ...made, id: gateId(event), workflowRunId: view.id, createdAt: event.timestamp };
    return {
      ...view,
      artifacts: [...view.artifacts, artifact],
      ...(made.commitSha === undefined ? {} : { headCommit: made.commitSha }),
      ...(made.type === 'code' ? { codeTree: made.hash } : {}),
    };
  },
  IMPLEMENTATION_SUCCEEDED: (view, { commit, codeTree }) => ({ ...view, headCommit: commit, codeTree }),
  EVIDENCE_RECORDED: (view, payload, event) => ({
    ...view,
    evidence: [...view.evidence, { ...payload, recordedAt: event.timestamp }],
  }),
  PROGRESS_CHANGED: (view, { done, total }) => ({ ...view, progress: { done, total } }),
  DECISION_RECORDED: (view, decision) => ({ ...view, decisions: [...view.decisions, decision] }),
  COST_RECORDED: (view, { inputTokens, outputTokens, calls, role, model, scripted, metered = false }) => ({
    ...view,
    cost: metered
      ? view.cost
      : addSpending(view.cost, { stage: view.currentStage, role, model }, { inputTokens, outputTokens, calls }),
    scriptedModels:
      scripted && !view.scriptedModels.includes(model) ? [...view.scriptedModels, model] : view.scriptedModels,
  }),
  CALL_BOOKED: (view, { stage, role, model, inputTokens, outputTokens, costUsd }) => {
    const change = { inputTokens, outputTokens, calls: 1, ...price(costUsd) };
    const booked = { calls: 1, costUsd: costUsd ?? 0 };
    return { ...view, cost: addBooked(addSpending(view.cost, { stage, role, model }, change), booked) };
  },
  CALL_SETTLED: (view, { stage, role, model, booked, toolCalls, cachedInputTokens, reasoningTokens, ...came }) => {
    const change = {
      inputTokens: came.inputTokens - booked.inputTokens,
      outputTokens: came.outputTokens - booked.outputTokens,
      ...(cachedInputTokens === undefined ? {} : { cachedInputTokens }),
      ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
      toolCalls,
      costUsd: (came.costUsd ?? 0) - (booked.costUsd ?? 0),
      // Its price was found out afterwards.
      ...(booked.costUsd === null && came.costUsd !== null ? { unpricedCalls: -1 } : {}),
    };
    const unbooked = { calls: -1, costUsd: -(booked.costUsd ?? 0) };
    return { ...view, cost: addBooked(addSpending(view.cost, { stage, role, model }, change), unbooked) };
  },
  BUDGET_CHANGED: (view, { by, ...payload }, event) => {
    const isOfTree = TREE_BUDGET_NAMES.some((name) => payload[name] !== undefined);
    const changed = {
      ...view,
      config: withBudgets(view.config, payload),
      ...(isOfTree ? { treeBudgetsAt: event.timestamp } : {}),
    };
    if (view.gate?.reason !== 'budget') return changed;
    const named = BUDGET_NAMES.filter((name) => payload[name] !== undefined);
    return decided(changed, 'extend', by, event, named.map((name) => `${name} ${payload[name] ?? 'none'}`).join(', '));
  },
  BASE_INTEGRATED: (view, { baseBranch, baseCommit, commit, codeTree }) => ({
    ...view,
    baseCommit,
    headCommit: commit,
    codeTree,
    notices: [
      ...view.notices,
      `The base branch ${baseBranch} moved: its changes were taken into the run and everything was checked again.`,
    ],
  }),
  NOTICE: (view, { message, rebuilt }, event) => {
    const marked = rebuilt ? ofRecord(view, event) : view;
    return { ...marked, notices: [...view.notices, message] };
  },
  OWNED_FILES_COMMITTED: (view, { to, branch, commit, why, refused }) => {
    const { paths = [], inherited, results, to: before = 'base' } = view.ownedFiles ?? {};
    const kept = { paths, ...(results === undefined ? {} : { results }) };
    const moved = to === 'branch' && before === 'base';
    return {
      ...view,
      ownedFiles: {
        ...kept,
        ...(inherited === undefined ? {} : { inherited }),
        to,
        ...(why === undefined ? {} : { why }),
        ...(refused === undefined ? {} : { refused }),
        commit,
      },
      ...(to === 'branch' ? { headCommit: commit } : {}),
      notices: moved
        ? [
            ...view.notices,
            ownedFilesNotice(
              { ...kept, to, ...(why === undefined ? {} : { why }) },
              branch,
              view.config.git.baseBranch,
            ),
          ]
        : view.notices,
    };
  },
  CHANGES_PUBLISHED: (view, published) => ({ ...view, published, headCommit: published.commit }),
  RUN_MERGED: (view, merged) => ({ ...view, merged }),
  RUN_COMPLETED: (view, { failures }, event) => ({
    ...ended(view, event),
    status: 'completed',
    ...(failures === undefined ? {} : { failures }),
  }),
  RUN_FAILED: (view, { message }, event) => ({ ...ended(view, event), status: 'failed', failure: message }),
  RUN_CANCELLED: (view, { by, reason, cause }, event) => {
    const outcome = view.gate === null ? view : decidedAs(view, 'cancel', by, event, reason);
    const failure = cause === undefined ? {} : { failure: cause };
    return { ...withoutQueue(ended(outcome, event)), status: 'cancelled', ...failure };
  },
};

function apply(view: RunView, event: WorkflowEvent): RunView {
  // The table is total over the vocabulary it names; the payload's type follows from the event's type. A machine may emit
  // events of any name, also of one that every object has.
  const isKnown = Object.hasOwn(folders, event.type);
  const folder = isKnown ? (folders[event.type as WorkflowEventType] as Folder | undefined) : undefined;
  return folder ? folder(view, event.payload as never, event) : view;
}

/** A call whose price is not known counts as such, and as nothing in dollars. */
function price(costUsd: number | null): { readonly costUsd: number } | { readonly unpricedCalls: number } {
  return costUsd === null ? { unpricedCalls: 1 } : { costUsd };
}

/** Gates and artifacts are named after the event that made them. */
function gateId(event: WorkflowEvent): string {
  return `${event.workflowRunId}.${event.sequence}`;
}

/** The stage's new limit; a workflow's own stages have none in the configuration. */
function withTimeout({ config, currentStage }: RunView, minutes: number): RunView['config'] {
  if (currentStage === null || !Object.hasOwn(config.timeoutMinutes, currentStage)) return config;
  return { ...config, timeoutMinutes: { ...config.timeoutMinutes, [currentStage]: minutes } };
}

function openGate(view: RunView, opening: GateOpening, event: WorkflowEvent, extra: Partial<Gate> = {}): RunView {
  const gate: Gate = {
    id: gateId(event),
    runId: view.id,
    kind: opening.gate,
    stage: opening.stage,
    openedAt: event.timestamp,
    decisions: opening.decisions,
    summary: opening.summary,
    ...(opening.artifactHash === undefined ? {} : { artifactHash: opening.artifactHash }),
    ...(opening.codeTree === undefined ? {} : { codeTree: opening.codeTree }),
    ...(opening.concerns === undefined ? {} : { concerns: opening.concerns }),
    details: opening.details,
    ...extra,
  };
  const { concerns = [] } = gate;
  return { ...view, gate: concerns.length === 0 ? gate : { ...gate, concernsHash: concernsHashOf(concerns) } };
}

function decided(
  view: RunView,
  decision: Decision,
  by: string,
  event: WorkflowEvent,
  notes?: string,
  accepted?: readonly string[],
): RunView {
  return view.gate === null ? view : decidedAs(view, decision, by, event, notes, accepted);
}

function decidedAs(
  view: RunView,
  decision: Decision | 'cancel',
  by: string,
  event: WorkflowEvent,
  notes?: string,
  accepted?: readonly string[],
): RunView {
  if (view.gate === null) return view;
  const outcome: GateOutcome = {
    gateId: view.gate.id,
    kind: view.gate.kind,
    decision,
    by,
    at: event.timestamp,
    ...(notes === undefined ? {} : { notes }),
    ...(accepted === undefined ? {} : { accepted }),
  };
  const accepts = (decision === 'approve' || decision === 'accept') && view.gate.concerns !== undefined;
  return {
    ...view,
    gates: [...view.gates, outcome],
    gate: null,
    ...(accepts
      ? { acceptedConcerns: [...(view.acceptedConcerns ?? []), ...acceptedAt(view.gate.concerns ?? [], outcome)] }
      : {}),
  };
}

/** Pauses of a rebuilt run from before `rebuilt` have the reason alone. */
function isOfRecord({ rebuilt, reason }: EventPayloads['RUN_PAUSED']): boolean {
  return rebuilt === true || reason === 'rebuilt';
}

/**
 * The run as its record tells it, which proves no check of a result, none of the base commit, no person's acceptance, and no change of
 * the budgets that runs of this server share with it.
 */
function ofRecord(
  { baseline: _baseline, acceptedConcerns: _accepted, treeBudgetsAt: _changed, ...view }: RunView,
  { timestamp, sequence }: Pick<WorkflowEvent, 'timestamp' | 'sequence'>,
): RunView {
  const marked = <Each extends object>(all: readonly Each[]) => all.map((each) => ({ ...each, rebuiltAt: timestamp }));
  // A run that has ended waits for nobody, whatever its record says.
  const gate = FINAL_STATUSES.has(view.status) ? null : view.gate;
  return { ...view, gate, evidence: marked(view.evidence), gates: marked(view.gates), rebuiltUpTo: sequence };
}

/** The reasons of a pause that a person ends by accepting what stands in the way. */
const ACCEPTABLE: ReadonlySet<string> = new Set<PauseReason>(['review_needed', 'secret_found']);

/** A pause that an activity's concerns brought about shows them, and takes their acceptance. */
function raisedAt(
  { raisedConcerns: raised }: RunView,
  { reason, decisions }: EventPayloads['RUN_PAUSED'],
): Partial<Gate> {
  if (raised === undefined || !ACCEPTABLE.has(reason)) return {};
  return {
    concerns: raised.concerns,
    artifactHash: raised.hash,
    decisions: decisions.includes('accept') ? decisions : [...decisions, 'accept'],
  };
}

function withoutRaised(view: RunView): RunView {
  const { raisedConcerns: _raised, ...rest } = view;
  return rest;
}

/** A decision whose words hold a comment has sent it. */
function withoutSent(view: RunView, words: string | undefined): RunView {
  if (view.comments === undefined) return view;
  return withComments(
    view,
    view.comments.filter((comment) => !holdsNote(words, comment)),
  );
}

function withComments(view: RunView, comments: readonly ReviewComment[]): RunView {
  const { comments: _before, ...rest } = view;
  return comments.length === 0 ? rest : { ...rest, comments };
}

function approve(view: RunView, payload: EventPayloads['APPROVAL_GRANTED'], event: WorkflowEvent): readonly Artifact[] {
  const hash = view.gate?.artifactHash;
  return view.artifacts.map((artifact) =>
    hash !== undefined && artifact.hash === hash && artifact.approvedAt === undefined
      ? {
          ...artifact,
          approvedBy: payload.by,
          approvedAt: event.timestamp,
          ...(payload.notes === undefined ? {} : { approvalNotes: payload.notes }),
        }
      : artifact,
  );
}

function settle(view: RunView, _event: WorkflowEvent, change: Partial<Clarification>): readonly Clarification[] {
  return view.clarifications.map((clarification) =>
    clarification.status === 'pending' ? { ...clarification, ...change } : clarification,
  );
}

/** A question that is asked again replaces the open one, also behind a pause that stood over its gate. */
function withoutOpen({ clarifications }: RunView): readonly Clarification[] {
  return clarifications.map((each) => (each.status === 'pending' ? { ...each, status: 'ignored' as const } : each));
}

function withoutEnd(view: RunView): RunView {
  const { completedAt: _end, ...rest } = view;
  return rest;
}

function ended(view: RunView, event: WorkflowEvent): RunView {
  return { ...view, gate: null, completedAt: event.timestamp };
}

function withoutQueue(view: RunView): RunView {
  const { queuePosition: _position, ...rest } = view;
  return rest;
}

/** A view as plain JSON, for storage. */
export function viewAsJson(view: RunView): JsonObject {
  return view as unknown as JsonObject;
}
