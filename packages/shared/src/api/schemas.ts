/**
 * Zod schemas of the API's requests and answers. Requests are strict: an unknown key is a fault. Answers are described
 * for OpenAPI and never validated at run time; their keys are checked against the types here.
 */
import { z } from '@hono/zod-openapi';
import { type AcceptedConcern, CONCERN_KINDS, type Concern, type ConcernItem } from '../gates/concerns.ts';
import { budgetChangeShape, runConfigRequestSchema, runConfigSchema, trustLevelSchema } from '../config.ts';
import type { ProblemDetails } from '../errors.ts';
import type { WorkflowEvent } from '../events.ts';
import type { FeedPage } from '../feed.ts';
import type { ForeseenConflict } from '../review/foreseen-conflicts.ts';
import { showHiddenInLine } from '../text/hidden-characters.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { ProjectedEntry, ProjectedItem, ProjectedPart, ProjectedText, RunProjection } from '../projection.ts';
import type {
  Artifact,
  Baseline,
  Clarification,
  CommandEvidence,
  ConstraintFinding,
  Evidence,
  ChangedTests,
  NewDependency,
  Gate,
  GateOutcome,
  PlannerReply,
  Question,
  ReviewComment,
  RunCost,
  RunDecision,
  RunFamily,
  RunView,
  Spending,
  SpendingPart,
  StageVisit,
  TestCount,
  TreeShare,
} from '../run.ts';
import { DECISIONS, ID, PAUSE_REASONS, RECORD_PLACES, RESPONSE_TYPES, RUN_STATUSES } from '../run.ts';
import { BUDGET_NAMES } from '../budgets.ts';
import {
  DECISION_FIELDS,
  DOCUMENT_KINDS,
  EVENT_TONES,
  type DecisionLabel,
  type DocumentInfo,
  type CommandInfo,
  type EventInfo,
  GATE_PRESENTS,
  type GateInfo,
  type RoleInfo,
  type StageInfo,
  type TrustModeInfo,
  type WorkflowInfo,
} from '../workflows/workflow-info.ts';
import {
  ROADMAP_HEALTHS,
  ROADMAP_HORIZONS,
  ROADMAP_ITEM_TYPES,
  ROADMAP_MOSCOW,
  ROADMAP_PHASES,
  ROADMAP_STATUSES,
  type ProjectRoadmap,
  type RoadmapBoardItem,
  type RoadmapChoice,
  type RoadmapReason,
  type RoadmapRun,
  type RoadmapWorkflowState,
} from './roadmap.ts';
import {
  type DurationFigures,
  type GateWaiting,
  type Metrics,
  METRICS_BUCKETS,
  type ChildRunFigures,
  type MetricsFigures,
  type MetricsPart,
  type WorkflowFigures,
  type ModelSpending,
  type SpendingFigures,
  type StageSpending,
} from './metrics.ts';
import {
  CHECK_STATES,
  MAX_REPLY_CHARACTERS,
  MERGEABILITIES,
  PULL_REQUEST_STATES,
  type PullRequestCheck,
  type PullRequestRemark,
  type PullRequestReview,
  type PullRequestThread,
  type ResolvedThread,
  REVIEW_VERDICTS,
  type RunPullRequest,
  type ThreadReply,
} from './pull-request.ts';
import {
  AGENT_STATUSES,
  type AgentSetup,
  KEY_SOURCES,
  PROVIDER_STATUSES,
  type ProviderSetup,
  type Setup,
} from './setup.ts';
import type {
  ArtifactContent,
  CompiledDocument,
  Exploration,
  FileChange,
  ModelSummary,
  Page,
  Project,
  Readiness,
  RetriedGate,
  RunDiff,
  PossibleEvents,
  Statechart,
  StatechartStep,
  TranscriptEntry,
  ToldRun,
  Upload,
  WorkflowDetails,
  WorkflowSummary,
} from './orchestrator.ts';

/** Longest request text of a run, in characters after trimming. */
export const MAX_REQUEST_CHARACTERS = 20_000;

const text = (limit: number) =>
  z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(limit, `must have at most ${limit.toLocaleString('en')} characters`);
const id = z.string().regex(ID, 'must be an id: letters, digits, dots, colons, dashes');
const gitObject = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, 'must be a git object id in lower-case hex');

// ---------- requests ----------

export const idParams = z.strictObject({ id });
export const artifactParams = z.strictObject({ id, artifactId: id });
export const nameParams = z.strictObject({ name: id });
/** Ids of threads are the forge's; older ones end in `=`. */
export const threadParams = z.strictObject({
  id,
  threadId: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:=-]{0,199}$/, 'must be the id of a review thread'),
});

const pageShape = {
  cursor: z.string().min(1).max(500).optional(),
  limit: z.coerce.number().int().min(1).max(200).optional(),
};
export const pageQuery = z.strictObject(pageShape);
export const runsQuery = z.strictObject({
  ...pageShape,
  status: z.enum(RUN_STATUSES).optional(),
  open: z.preprocess(trueOrFalse, z.boolean('must be true or false').optional()),
  projectId: id.optional(),
  workflow: id.optional(),
  explorationId: id.optional(),
  treeId: id.optional(),
  parentId: id.optional(),
});
/** A sequence number: the run as it was after that event. */
export const atQuery = z.strictObject({ at: z.preprocess(wholeNumber, z.coerce.number().int().min(1).optional()) });
export const eventsQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(1_000).default(500),
});
export const feedQuery = z.strictObject({
  after: z.union([z.literal('end'), z.coerce.number().int().min(0)]).default(0),
  feedId: text(200).optional(),
});
export const conflictsQuery = z.strictObject({ projectId: id.optional(), runId: id.optional() });
export const gatesQuery = z.strictObject({ runId: id.optional() });
export const clarificationsQuery = z.strictObject({ status: z.enum(['pending', 'answered', 'ignored']).optional() });
/** Within the years of which time zones know something. */
const date = z.iso.date('must be a date such as 2026-03-01').regex(/^20/, 'must be of the years 2000 to 2099');
export const metricsQuery = z.strictObject({
  projectId: id.optional(),
  workflow: id.optional(),
  from: date.optional(),
  to: date.optional(),
  bucket: z.enum(METRICS_BUCKETS).optional(),
  timeZone: text(100).optional(),
});
export const uploadQuery = z.strictObject({ name: text(255) });

export const takenDelivery = z.object({ taken: z.boolean() });

export const newProject = z.strictObject({
  name: text(200).refine((name) => showHiddenInLine(name) === name, 'must be one line without hidden characters'),
  repository: text(2_000),
  baseBranch: text(200).optional(),
});
export const cleaningRequest = z.strictObject({
  dryRun: z.boolean().optional(),
  afterDays: z.int().min(1).max(36_500).optional(),
});
export const cleanedBranches = z.object({
  removed: z.array(z.object({ branch: z.string(), runId: z.string() })).readonly(),
  kept: z.array(z.object({ branch: z.string(), runId: z.string().nullable(), reason: z.string() })).readonly(),
});
const requestText = text(MAX_REQUEST_CHARACTERS);
const workflowInput = z
  .looseObject({})
  // Its schema belongs to the workflow. What was parsed from JSON consists of JSON values; zod can only say `unknown`.
  .transform((input) => input as JsonObject)
  .optional();
/** A new run. Its workflow determines the fields that are required. */
export const newRun = z.strictObject({
  projectId: id.optional(),
  project: newProject.optional(),
  workflow: id.optional(),
  request: requestText.optional(),
  config: runConfigRequestSchema.optional(),
  input: workflowInput,
});
export const newExploration = z.strictObject({
  projectId: id,
  workflow: id.optional(),
  variants: z
    .array(z.strictObject({ request: requestText, config: runConfigRequestSchema.optional(), input: workflowInput }))
    .min(1)
    .max(20),
});

const prose = text(20_000);
const take = z.strictObject({ runId: id, commit: gitObject, paths: z.array(text(4_000)).min(1).max(500) }).optional();
/** The gate that was shown. `approve` and `accept` need it and its shown hashes; the service names a missing one. */
const gateId = id.optional();
/** Of `build` a SHA-256 and a git object; another workflow's gate may show any text. */
const shownHash = z.string().min(1).max(200).optional();
const shown = { gateId, artifactHash: shownHash, codeTree: shownHash, concernsHash: shownHash };
/** The fields of each decision, beside `decision` itself. */
const decisionShapes = {
  approve: {
    ...shown,
    notes: prose.optional(),
    editedPlan: text(200_000).optional(),
  },
  reject: { gateId, feedback: prose.optional(), take },
  answer: { gateId, response: z.union([prose, z.array(text(2_000)).min(1).max(100)]) },
  ignore: { gateId },
  ask: { gateId, question: prose },
  retry: { gateId, notes: prose.optional(), take },
  accept: { ...shown, reason: prose },
  close: { gateId, reason: prose },
  extend: {
    gateId,
    minutes: z
      .number()
      .positive()
      .max(7 * 24 * 60)
      .optional(),
    ...budgetChangeShape,
  },
};
export const approveBody = z.strictObject(decisionShapes.approve);
/** Whether it says why is known where the comments are that are sent with it. */
export const rejectBody = z.strictObject(decisionShapes.reject);
export const answerBody = z.strictObject(decisionShapes.answer);
export const askBody = z.strictObject(decisionShapes.ask);
export const retryBody = z.strictObject(decisionShapes.retry);
export const acceptBody = z.strictObject(decisionShapes.accept);
export const closeBody = z.strictObject(decisionShapes.close);
export const extendBody = z.strictObject(decisionShapes.extend);
export const ignoreBody = z.strictObject(decisionShapes.ignore);
export const gateDecision = z.discriminatedUnion('decision', [
  z.strictObject({ decision: z.literal('approve'), ...decisionShapes.approve }),
  z.strictObject({ decision: z.literal('reject'), ...decisionShapes.reject }),
  z.strictObject({ decision: z.literal('answer'), ...decisionShapes.answer }),
  z.strictObject({ decision: z.literal('ignore'), ...decisionShapes.ignore }),
  z.strictObject({ decision: z.literal('ask'), ...decisionShapes.ask }),
  z.strictObject({ decision: z.literal('retry'), ...decisionShapes.retry }),
  z.strictObject({ decision: z.literal('accept'), ...decisionShapes.accept }),
  z.strictObject({ decision: z.literal('extend'), ...decisionShapes.extend }),
  z.strictObject({ decision: z.literal('close'), ...decisionShapes.close }),
]);

export const newFork = z.strictObject({
  at: z.number().int().min(1),
  config: runConfigRequestSchema.optional(),
  answer: gateDecision.optional(),
  request: requestText.optional(),
});

export const newMigration = z.strictObject({ to: z.number().int().min(1) });

/** As many as are shown to a person at once. */
export const retriesBody = z.strictObject({ gateIds: z.array(id).min(1).max(500) });
export const cancelBody = z.strictObject({ reason: prose.optional() });
/** Default of `document`: the only PDF that the run's workflow has. */
export const compileBody = z.strictObject({ document: text(200).optional() });
export const pauseBody = z.strictObject({ reason: prose.optional() });
export const messageBody = z.strictObject({ text: prose });

const commentText = text(4_000);
export const newComment = z.strictObject({
  path: text(4_000),
  line: z.number().int().min(0).max(10_000_000),
  text: commentText,
});
export const commentBody = z.strictObject({ text: commentText });
export const emptyBody = z.strictObject({});
export const replyBody = z.strictObject({ body: text(MAX_REPLY_CHARACTERS) });

type Signal = JsonObject & { readonly type: string };
/** The one open schema: a signal's fields belong to the workflow that declares it. */
export const signalBody = z
  .looseObject({ type: text(200) })
  // Parsed JSON consists of JSON values; zod's type is only `unknown`.
  .transform((signal) => signal as Signal);

// ---------- answers ----------

/** One schema a key of the type: a key that is missing or too many does not compile. */
type Shape<Type> = { readonly [Key in keyof Required<Type>]: z.ZodType };

/**
 * A named component of the OpenAPI document, typed as the interface it describes. The cast is there because zod writes
 * optional keys as `| undefined` and arrays as mutable; the shape's keys are checked, and a test parses full samples.
 */
function answer<Type>(name: string, shape: Shape<Type>): z.ZodType<Type> {
  return z.object(shape).openapi(name) as unknown as z.ZodType<Type>;
}

const time = z.iso.datetime();
const count = z.number().int().min(0);
const json = z.unknown() as z.ZodType<JsonValue>;
const jsonObject = z.record(z.string(), json);
const strings = z.array(z.string());

/** Rows by table, as the store has them: for people, not for programs. */
export const runExport = z.record(z.string(), json).openapi('RunExport') as unknown as z.ZodType<JsonObject>;

export const problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    code: z.string(),
    faults: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .openapi('Problem') as unknown as z.ZodType<ProblemDetails>;

/** A list that is always whole. */
export const listOf = <Item>(item: z.ZodType<Item>) =>
  z.object({ items: z.array(item) }) as unknown as z.ZodType<{ readonly items: readonly Item[] }>;
export const pageOf = <Item>(item: z.ZodType<Item>) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() }) as unknown as z.ZodType<Page<Item>>;

export const project = answer<Project>('Project', {
  id: z.string(),
  name: z.string(),
  repository: z.string(),
  baseBranch: z.string(),
  createdAt: time,
  notices: strings.optional(),
});

const roadmapReason = { id: z.string(), title: z.string(), rationale: z.string() } satisfies Shape<RoadmapReason>;
const roadmapReasons = z.array(answer<RoadmapReason>('RoadmapReason', roadmapReason));
const roadmapItem = answer<RoadmapBoardItem>('RoadmapItem', {
  id: z.string(),
  title: z.string(),
  description: z.string().optional(),
  type: z.enum(ROADMAP_ITEM_TYPES),
  moscow: z.enum(ROADMAP_MOSCOW),
  timeHorizon: z.enum(ROADMAP_HORIZONS),
  health: z.enum(ROADMAP_HEALTHS),
  status: z.enum(ROADMAP_STATUSES),
  dependencies: strings,
  workflowState: answer<RoadmapWorkflowState>('RoadmapWorkflowState', {
    phase: z.enum(ROADMAP_PHASES).optional(),
    specSlug: z.string().optional(),
    tasksTotal: z.number().int().optional(),
    tasksCompleted: z.number().int().optional(),
    lastSession: z.iso.datetime({ offset: true }).optional(),
    attempts: z.number().int().optional(),
    blockers: strings.optional(),
    metrics: z
      .object({ costUsd: z.number().optional(), inputTokens: count.optional(), outputTokens: count.optional() })
      .optional(),
  }).optional(),
  canStart: z.boolean(),
});
const roadmapChoice = answer<RoadmapChoice>('RoadmapChoice', {
  selected: z.object(roadmapReason).nullable(),
  inProgress: roadmapReasons,
  eligible: roadmapReasons,
  others: roadmapReasons,
  circles: z.array(strings),
  unknownDependencies: z.array(z.object({ item: z.string(), dependency: z.string() })),
  pullIns: z.array(z.object({ ...roadmapReason, unblocks: z.string() })),
});
export const projectRoadmap = answer<ProjectRoadmap>('Roadmap', {
  projectId: z.string(),
  path: z.string(),
  branch: z.string(),
  commit: z.string(),
  notFetched: z.string().nullable(),
  workflow: z.string(),
  content: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('absent') }),
    z.object({
      kind: z.literal('faulty'),
      faults: z.array(z.object({ line: count.nullable(), message: z.string() })),
      total: count,
    }),
    z.object({ kind: z.literal('items'), items: z.array(roadmapItem), choice: roadmapChoice }),
  ]),
  runs: z.array(
    answer<RoadmapRun>('RoadmapRun', { item: z.string(), runId: z.string(), status: z.enum(RUN_STATUSES) }),
  ),
});

const questionShape: Shape<Question> = {
  question: z.string(),
  context: z.string(),
  options: strings.optional(),
  responseType: z.enum(RESPONSE_TYPES),
};

const concern = answer<Concern>('Concern', {
  kind: z.enum(CONCERN_KINDS),
  title: z.string(),
  items: z.array(
    answer<ConcernItem>('ConcernItem', {
      path: z.string().optional(),
      line: z.number().int().optional(),
      reason: z.string(),
      hash: z.string().optional(),
    }),
  ),
  hash: z.string(),
});

export const gate = answer<Gate>('Gate', {
  id: z.string(),
  runId: z.string(),
  kind: z.string(),
  stage: z.string().nullable(),
  openedAt: time,
  decisions: z.array(z.enum(DECISIONS)),
  summary: z.string(),
  artifactHash: z.string().optional(),
  codeTree: z.string().optional(),
  question: answer<Question>('Question', questionShape).optional(),
  reason: z.enum(PAUSE_REASONS).optional(),
  budget: z.enum(BUDGET_NAMES).optional(),
  budgetOf: z.string().optional(),
  concerns: z.array(concern).optional(),
  concernsHash: z.string().optional(),
  details: jsonObject,
});

export const reviewComment = answer<ReviewComment>('ReviewComment', {
  id: z.string(),
  gateId: z.string(),
  path: z.string(),
  line: count,
  text: z.string(),
  by: z.string(),
  at: time,
});
const comments = z.array(reviewComment);
export const retriedGate = answer<RetriedGate>('RetriedGate', {
  gateId: z.string(),
  retried: z.boolean(),
  detail: z.string().optional(),
});

export const clarification = answer<Clarification>('Clarification', {
  ...questionShape,
  id: z.string(),
  workflowRunId: z.string(),
  stage: z.string(),
  status: z.enum(['pending', 'answered', 'ignored']),
  response: z.string().optional(),
  answeredBy: z.string().optional(),
  answeredAt: time.optional(),
  attemptNumber: count,
  createdAt: time,
});

const artifactShape: Shape<Artifact> = {
  id: z.string(),
  workflowRunId: z.string(),
  stage: z.string(),
  type: z.string(),
  gitPath: z.string().optional(),
  commitSha: z.string().optional(),
  hash: z.string(),
  version: count,
  createdAt: time,
  filesChanged: strings.optional(),
  parsedConstraints: json.optional(),
  findings: z
    .array(
      answer<ConstraintFinding>('ConstraintFinding', {
        kind: z.enum(['route', 'component', 'entity', 'branch']),
        name: z.string(),
        result: z.enum(['mentioned', 'undecided']),
        where: z.string().optional(),
      }),
    )
    .optional(),
  approvedBy: z.string().optional(),
  approvedAt: time.optional(),
  approvalNotes: z.string().optional(),
  scripted: z.boolean().optional(),
};
export const artifact = answer<Artifact>('Artifact', artifactShape);
export const artifactContent = answer<ArtifactContent>('ArtifactContent', {
  ...artifactShape,
  content: z.string(),
  encoding: z.literal('base64').optional(),
});

export const compiledDocument = answer<CompiledDocument>('CompiledDocument', {
  outcome: z.enum(['compiled', 'failed', 'absent']),
  fileName: z.string(),
  commit: z.string(),
  version: z.number(),
  content: z.string().optional(),
  pages: z.number().optional(),
  errors: z.array(z.string()).optional(),
  missing: z.array(z.string()).optional(),
});

const projectedTextShape = {
  text: z.string(),
  href: z.string().optional(),
  tone: z.enum(EVENT_TONES).optional(),
  note: z.string().optional(),
  at: time.optional(),
} satisfies Shape<ProjectedText>;
const projectedText = answer<ProjectedText>('ProjectedText', projectedTextShape);
const sectionShape = { id: z.string(), title: z.string(), empty: z.string() };
export const runProjection = answer<RunProjection>('RunProjection', {
  sequence: count,
  absent: z.record(z.string(), z.string()).optional(),
  sections: z.array(
    z.discriminatedUnion('kind', [
      z.object({
        kind: z.literal('plot'),
        ...sectionShape,
        about: z.string(),
        labelled: z.string(),
        labels: strings,
        series: z.array(z.object({ label: z.string(), values: z.array(z.number()) })),
        threshold: z.object({ label: z.string(), value: z.number() }).optional(),
      }),
      z.object({
        kind: z.literal('timeline'),
        ...sectionShape,
        entries: z.array(
          answer<ProjectedEntry>('ProjectedEntry', {
            title: z.string(),
            startedAt: time,
            endedAt: time.nullable(),
            mark: projectedText.optional(),
            facts: strings,
            parts: z.array(
              answer<ProjectedPart>('ProjectedPart', { ...projectedTextShape, title: z.string(), facts: strings }),
            ),
          }),
        ),
        total: count,
      }),
      z.object({
        kind: z.literal('table'),
        ...sectionShape,
        columns: strings,
        rows: z.array(z.array(projectedText)),
        total: count,
      }),
      z.object({
        kind: z.literal('list'),
        ...sectionShape,
        items: z.array(
          answer<ProjectedItem>('ProjectedItem', {
            ...projectedTextShape,
            quote: z.string().optional(),
            source: projectedText.optional(),
            items: z.array(projectedText).optional(),
          }),
        ),
        total: count,
      }),
    ]),
  ),
});

const testCount = answer<TestCount>('TestCount', {
  runner: z.string(),
  executed: count,
  failed: count,
  skipped: count,
  finished: z.boolean(),
  unfinished: strings.optional(),
  replaced: strings.optional(),
  rewritten: strings.optional(),
  notRun: strings.optional(),
  failedNames: strings.optional(),
  failedAnew: strings.optional(),
  failedAnewCount: count.optional(),
});

const commandEvidence = answer<CommandEvidence>('CommandEvidence', {
  command: z.string(),
  exitCode: z.number().int().nullable(),
  durationMs: z.number(),
  output: z.string(),
});

const baseline = answer<Baseline>('Baseline', {
  commit: z.string(),
  codeTree: z.string(),
  passed: z.boolean(),
  command: commandEvidence,
  sandbox: z.string(),
  preparedMs: z.number().optional(),
  tests: testCount.optional(),
  missingTool: z.string().optional(),
  isFromEarlierRun: z.boolean().optional(),
  failure: z.string().optional(),
});

const evidence = answer<Evidence>('Evidence', {
  mode: z.enum(['as_is', 'base_tests']),
  codeTree: z.string(),
  commit: z.string(),
  passed: z.boolean(),
  commands: z.array(commandEvidence),
  sandbox: z.string(),
  restored: strings.optional(),
  tests: testCount.optional(),
  doubtful: strings.optional(),
  reusedFrom: z.string().optional(),
  rebuiltAt: z.string().optional(),
  baseline: baseline.optional(),
  failsAsBefore: z.literal(true).optional(),
  changedTests: z
    .array(
      answer<ChangedTests>('ChangedTests', {
        path: z.string(),
        isDeleted: z.literal(true).optional(),
        linesRemoved: count,
        assertionsBefore: count,
        assertions: count,
      }),
    )
    .optional(),
  newDependencies: z
    .array(
      answer<NewDependency>('NewDependency', {
        name: z.string(),
        version: z.string(),
        file: z.string(),
        was: z.string().optional(),
        hasInstallScript: z.boolean().optional(),
        source: z.string().optional(),
        ageDays: z.number().int().optional(),
      }),
    )
    .optional(),
  recordedAt: time,
});

const spendingShape: Shape<Spending> = {
  inputTokens: count,
  outputTokens: count,
  calls: count,
  cachedInputTokens: count.optional(),
  reasoningTokens: count.optional(),
  toolCalls: count.optional(),
  costUsd: z.number().optional(),
  unpricedCalls: count.optional(),
};

const shareShape: Shape<TreeShare> = {
  inputTokens: count,
  outputTokens: count,
  toolCalls: count,
  costUsd: z.number(),
};
export const runTree = answer<RunFamily>('RunFamily', {
  id: z.string(),
  runs: count,
  budgets: z.object({
    maxTreeCostUsd: z.number().optional(),
    maxTreeTokens: count.optional(),
    maxTreeToolCalls: count.optional(),
  }),
  ...shareShape,
});

const runShape = {
  id: z.string(),
  projectId: z.string(),
  userId: z.string(),
  workflow: z.object({ name: z.string(), version: count }),
  explorationId: z.string().optional(),
  parent: z.object({ runId: z.string(), key: z.string(), depth: count }).optional(),
  attempt: z.object({ number: count, of: count.optional() }).optional(),
  ownedFiles: z
    .object({
      paths: z.array(z.string()),
      inherited: z.array(z.string()).optional(),
      to: z.enum(['base', 'branch']),
      why: z.string().optional(),
      results: strings.optional(),
      refused: z.literal(true).optional(),
      commit: z.string().optional(),
    })
    .optional(),
  allowedFiles: z.array(z.object({ changes: strings, newFiles: strings, forbidden: strings.optional() })).optional(),
  progress: z.object({ done: count, total: count }).optional(),
  forkedFrom: z.object({ runId: z.string(), at: count, spent: z.object(shareShape) }).optional(),
  treeId: z.string().optional(),
  treeBudgetsAt: time.optional(),
  originalRequest: z.string(),
  status: z.enum(RUN_STATUSES),
  currentStage: z.string().nullable(),
  state: json,
  // Made before its library taught zod about OpenAPI, as whoever needs no API need not load that.
  config: runConfigSchema.clone().openapi('RunConfig'),
  branch: z.string(),
  baseCommit: z.string().optional(),
  headCommit: z.string().optional(),
  codeTree: z.string().optional(),
  createdAt: time,
  startedAt: time.optional(),
  pausedAt: time.optional(),
  resumedAt: time.optional(),
  completedAt: time.optional(),
  queuePosition: count.optional(),
  clarificationCount: count,
  fixAttempts: count,
  // `.nullable()` of a named component would be written as the component alone.
  gate: z.union([gate, z.null()]),
  gates: z.array(
    answer<GateOutcome>('GateOutcome', {
      gateId: z.string(),
      kind: z.string(),
      decision: z.enum([...DECISIONS, 'cancel']),
      by: z.string(),
      at: time,
      notes: z.string().optional(),
      accepted: strings.optional(),
      rebuiltAt: z.string().optional(),
    }),
  ),
  clarifications: z.array(clarification),
  artifacts: z.array(artifact),
  evidence: z.array(evidence),
  comments: comments.optional(),
  baseline: baseline.optional(),
  rebuiltUpTo: z.int().optional(),
  acceptedConcerns: z
    .array(
      answer<AcceptedConcern>('AcceptedConcern', {
        kind: z.enum(CONCERN_KINDS),
        hash: z.string(),
        items: strings,
        by: z.string(),
        at: time,
        reason: z.string().optional(),
      }),
    )
    .optional(),
  raisedConcerns: z.object({ hash: z.string(), concerns: z.array(concern) }).optional(),
  decisions: z.array(answer<RunDecision>('Decision', { topic: z.string(), choice: z.string(), rationale: z.string() })),
  replies: z
    .array(answer<PlannerReply>('PlannerReply', { question: z.string(), reply: z.string(), at: time }))
    .optional(),
  stages: z.array(
    answer<StageVisit>('StageVisit', { stage: z.string(), startedAt: time, completedAt: time.optional() }),
  ),
  cost: answer<RunCost>('Cost', {
    ...spendingShape,
    booked: z.object({ calls: count, costUsd: z.number() }).optional(),
    parts: z
      .array(
        answer<SpendingPart>('CostPart', {
          ...spendingShape,
          stage: z.string().nullable(),
          role: z.string(),
          model: z.string(),
        }),
      )
      .optional(),
  }),
  scriptedModels: strings,
  published: z
    .object({ branch: z.string(), commit: z.string(), pushed: z.boolean(), note: z.string().optional() })
    .optional(),
  merged: z.object({ baseBranch: z.string(), commit: z.string(), strategy: z.string() }).optional(),
  failure: z.string().optional(),
  failures: z.array(z.string()).optional(),
  notices: strings,
  lastSequence: count,
  updatedAt: time,
  recordPlace: z.enum(RECORD_PLACES).optional().openapi({
    description:
      'Where the run can be found when the data folder of the server is lost. `remote`: in the record on the remote of its project. `pending`: nowhere yet, its record is being written or waits for the remote. `server`: nowhere, its record stays on the server, or it belongs to no project and has none. Only in answers to a launch, a fork and a request for this run as it is.',
  }),
};
export const runView = answer<RunView>('Run', runShape);

export const toldRun = answer<ToldRun>('ToldRun', {
  ...runShape,
  unreached: z.array(z.object({ runId: z.string(), why: z.string() })).optional(),
});

export const exploration = answer<Exploration>('Exploration', { id: z.string(), runs: z.array(runView) });

export const workflowEvent = answer<WorkflowEvent>('Event', {
  id: z.string(),
  position: count,
  workflowRunId: z.string(),
  sequence: count,
  type: z.string(),
  origin: z.enum(['input', 'emitted']),
  payload: jsonObject,
  timestamp: time,
});

export const feedPage = answer<FeedPage>('FeedPage', {
  feedId: z.string(),
  position: count,
  reset: z.boolean(),
  events: z.array(workflowEvent),
  hasMore: z.boolean(),
  conflictsRevision: z.string().optional(),
});

export const foreseenConflict = answer<ForeseenConflict>('ForeseenConflict', {
  projectId: z.string(),
  runId: z.string(),
  with: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('run'), runId: z.string() }),
    z.object({ kind: z.literal('base'), branch: z.string() }),
  ]),
  files: strings,
  fileCount: count,
});

export const runDiff = answer<RunDiff>('Diff', {
  from: z.string(),
  to: z.string(),
  files: z.array(
    answer<FileChange>('FileChange', {
      path: z.string(),
      status: z.enum(['added', 'modified', 'deleted']),
      additions: count,
      deletions: count,
      binary: z
        .object({ before: count.nullable(), after: count.nullable(), isOfUnknownKind: z.literal(true).optional() })
        .optional(),
      leftOut: z.object({ additions: count, deletions: count }).optional(),
      warnings: z.array(z.string()).optional(),
    }),
  ),
  patch: z.string(),
  truncated: z.boolean(),
});

const remarkShape = {
  id: z.string(),
  author: z.object({ login: z.string(), mayWrite: z.boolean() }),
  isOwn: z.boolean(),
  body: z.string(),
  isClipped: z.boolean(),
  url: z.string().nullable(),
  at: time,
};
const remark = answer<PullRequestRemark>('PullRequestRemark', remarkShape);
const branchAtCommit = z.object({ branch: z.string(), commit: z.string() });

export const runPullRequest = answer<RunPullRequest>('PullRequest', {
  number: count,
  url: z.string(),
  title: z.string(),
  state: z.enum(PULL_REQUEST_STATES),
  isDraft: z.boolean(),
  mergeability: z.enum(MERGEABILITIES),
  head: branchAtCommit,
  base: branchAtCommit,
  checks: z.array(
    answer<PullRequestCheck>('PullRequestCheck', {
      name: z.string(),
      state: z.enum(CHECK_STATES),
      conclusion: z.string().nullable(),
      url: z.string().nullable(),
    }),
  ),
  reviews: z.array(
    answer<PullRequestReview>('PullRequestReview', { ...remarkShape, verdict: z.enum(REVIEW_VERDICTS) }),
  ),
  threads: z.array(
    answer<PullRequestThread>('PullRequestThread', {
      id: z.string(),
      path: z.string(),
      line: count.nullable(),
      isResolved: z.boolean(),
      isOutdated: z.boolean(),
      comments: z.array(remark),
    }),
  ),
  comments: z.array(remark),
  isComplete: z.boolean(),
});
export const threadReply = answer<ThreadReply>('ThreadReply', { url: z.string().nullable() });
export const resolvedThread = answer<ResolvedThread>('ResolvedThread', {
  threadId: z.string(),
  isResolved: z.literal(true),
});

export const transcriptEntry = answer<TranscriptEntry>('TranscriptEntry', {
  at: time,
  activity: z.string(),
  kind: z.string(),
  text: z.string(),
  role: z.string().optional(),
  model: z.string().optional(),
  scripted: z.boolean().optional(),
  data: jsonObject.optional(),
});

export const statechart = answer<Statechart>('Statechart', {
  workflow: z.string(),
  version: count,
  sequence: count,
  mermaid: z.string(),
  current: json,
  path: z.array(
    answer<StatechartStep>('StatechartStep', {
      sequence: count,
      at: time,
      event: z.string(),
      from: json,
      to: json,
    }),
  ),
  changes: count,
  possible: answer<PossibleEvents>('PossibleEvents', {
    signals: z.array(z.object({ type: z.string(), decisions: z.array(z.enum(DECISIONS)) })),
    timers: z.array(z.object({ event: z.string(), dueAt: time })),
    activities: z.array(z.object({ id: z.string(), source: z.string().nullable(), key: z.string() })),
  }),
});

const gateInfo = answer<GateInfo>('GateInfo', {
  title: z.string(),
  waiting: z.string().optional(),
  presents: z.enum(GATE_PRESENTS),
  document: z.string().optional(),
  report: z.string().optional(),
  isFailure: z.boolean().optional(),
  takesFilesOn: z.enum(DECISIONS).optional(),
  needs: z.partialRecord(z.enum(DECISIONS), z.enum(DECISION_FIELDS)).optional(),
  offers: z.partialRecord(z.enum(DECISIONS), z.enum(DECISION_FIELDS)).optional(),
  labels: z
    .partialRecord(
      z.enum(DECISIONS),
      answer<DecisionLabel>('DecisionLabel', { button: z.string(), field: z.string().optional() }),
    )
    .optional(),
  details: z.record(z.string(), z.string()).optional(),
  against: z.array(z.string()).optional(),
});

const commandInfoShape = {
  name: z.string().optional(),
  description: z.string().optional(),
  arguments: strings.optional(),
  takesRequest: z.boolean().optional(),
  asks: z.object({ text: z.string(), example: z.string() }).optional(),
  options: z.record(z.string(), z.string().nullable()).optional(),
  endsWhen: z.string().optional(),
  review: z.object({ about: z.string(), trustMode: z.string() }).optional(),
  ownRepository: z.boolean().optional(),
};

const workflowInfoShape: Shape<
  Omit<WorkflowInfo, 'name'> & Pick<WorkflowSummary, 'input' | 'defaultRequest' | 'isChildOnly' | 'isDefault'>
> = {
  title: z.string(),
  isChildOnly: z.boolean(),
  isDefault: z.boolean().optional(),
  input: z.union([jsonObject, z.null()]),
  defaultRequest: z.string().optional(),
  roles: z.array(
    answer<RoleInfo>('RoleInfo', { name: z.string(), title: z.string(), configuredAs: z.string().optional() }),
  ),
  stages: z.array(
    answer<StageInfo>('StageInfo', {
      name: z.string(),
      title: z.string(),
      timeoutMinutes: z.number().optional(),
      role: z.string().optional(),
    }),
  ),
  trustModes: z.array(
    answer<TrustModeInfo>('TrustModeInfo', {
      name: z.string(),
      title: z.string(),
      description: z.string(),
      default: trustLevelSchema,
    }),
  ),
  gates: z.record(z.string(), gateInfo),
  documents: z.record(
    z.string(),
    answer<DocumentInfo>('DocumentInfo', {
      title: z.string(),
      drawnAs: z.enum(DOCUMENT_KINDS),
      compiledFrom: z.string().optional(),
    }),
  ),
  events: z
    .record(z.string(), answer<EventInfo>('EventInfo', { text: z.string(), tone: z.enum(EVENT_TONES).optional() }))
    .optional(),
  progressWord: z.string().optional(),
  hasProjection: z.boolean().optional(),
  command: answer<CommandInfo>('CommandInfo', commandInfoShape).optional(),
};

export const workflowSummary = answer<WorkflowSummary>('Workflow', {
  name: z.string(),
  version: count,
  description: z.string(),
  needsProject: z.boolean(),
  signals: strings,
  mermaid: z.string(),
  ...workflowInfoShape,
});

export const workflowDetails = answer<WorkflowDetails>('WorkflowDetails', {
  name: z.string(),
  version: count,
  versions: z.array(count),
  description: z.string(),
  needsProject: z.boolean(),
  ...workflowInfoShape,
  signals: z.array(z.object({ type: z.string(), payload: jsonObject })),
  activities: z.array(z.object({ id: z.string(), source: z.string() })),
  mermaid: z.string(),
});

export const modelSummary = answer<ModelSummary>('Model', {
  id: z.string(),
  usable: z.boolean(),
  reason: z.string().optional(),
  scripted: z.boolean(),
  defaultFor: strings,
});

export const upload = answer<Upload>('Upload', { id: z.string(), name: z.string(), bytes: count });

export const readiness = answer<Readiness>('Readiness', {
  ready: z.boolean(),
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string() })),
});

const spendingFigures: Shape<SpendingFigures> = {
  costUsd: z.number(),
  inputTokens: count,
  outputTokens: count,
  calls: count,
  unpricedCalls: count,
};
const durationFigures: Shape<DurationFigures> = { count, medianMs: count, p90Ms: count, totalMs: count };
const waitingAt = { gate: z.string(), reason: z.enum(PAUSE_REASONS).optional() };
const metricsFigures: Shape<MetricsFigures> = {
  started: count,
  completed: count,
  failed: count,
  cancelled: count,
  closed: count,
  childRuns: answer<ChildRunFigures>('ChildRunFigures', {
    started: count,
    completed: count,
    failed: count,
    cancelled: count,
  }),
  successRate: z.number().min(0).max(1).nullable(),
  timeToCompletion: z.union([answer<DurationFigures>('Durations', durationFigures), z.null()]),
  costPerRun: z.object({ runs: count, meanUsd: z.number(), medianUsd: z.number() }).nullable(),
  spending: answer<SpendingFigures>('SpendingFigures', spendingFigures),
  stages: z.array(answer<StageSpending>('StageSpending', { ...spendingFigures, stage: z.string().nullable() })),
  models: z.array(answer<ModelSpending>('ModelSpending', { ...spendingFigures, model: z.string() })),
  waiting: z.array(answer<GateWaiting>('GateWaiting', { ...waitingAt, ...durationFigures })),
};

export const metrics = answer<Metrics>('Metrics', {
  from: z.iso.date(),
  to: z.iso.date(),
  timeZone: z.string(),
  bucket: z.enum(METRICS_BUCKETS),
  total: answer<MetricsFigures>('MetricsFigures', metricsFigures),
  parts: z.array(answer<MetricsPart>('MetricsPart', { ...metricsFigures, from: z.iso.date(), to: z.iso.date() })),
  workflows: z.array(answer<WorkflowFigures>('WorkflowFigures', { ...metricsFigures, workflow: z.string() })),
  now: z.object({ openRuns: count, waiting: z.array(z.object({ ...waitingAt, runs: count, since: time })) }),
});

export const newKey = z.strictObject({
  key: z.string().max(4_000, 'must have at most 4,000 characters'),
  keep: z.enum(['file', 'memory']),
  check: z.boolean().optional(),
  baseUrl: z.string().max(2_000, 'must have at most 2,000 characters').optional(),
});
export const defaultModels = z.record(z.string().max(64), z.string().trim().max(200));

export const providerSetup = answer<ProviderSetup>('ProviderSetup', {
  id: z.string(),
  title: z.string(),
  status: z.enum(PROVIDER_STATUSES),
  source: z.enum(KEY_SOURCES).nullable(),
  hint: z.string().nullable(),
  keysUrl: z.string(),
  models: strings,
  detail: z.string().nullable(),
  baseUrl: z.string().optional(),
  takesBaseUrl: z.boolean().optional(),
});

export const agentSetup = answer<AgentSetup>('AgentSetup', {
  id: z.string(),
  title: z.string(),
  status: z.enum(AGENT_STATUSES),
  version: z.string().nullable(),
  detail: z.string().nullable(),
  way: z.string().nullable(),
});

export const setup = answer<Setup>('Setup', {
  isReady: z.boolean(),
  providers: z.array(providerSetup),
  agents: z.array(agentSetup),
  defaultModels: z.record(z.string(), z.string()),
});

export const me = z.object({ userId: z.string() }).openapi('Me');
export const ticket = z.object({ ticket: z.string() }).openapi('Ticket');
export const signInLink = z.object({ url: z.string() }).openapi('SignInLink');
export const signOut = z.strictObject({ everywhere: z.boolean().optional() });
export const signedOut = z.object({ ended: count }).openapi('SignedOut');
export const health = z.object({ status: z.literal('ok') }).openapi('Health');

/** Number() reads more than people write for the number of an event: '0x2', '1e0', ' '. */
function trueOrFalse(value: unknown): unknown {
  return value === 'true' || value === 'false' ? value === 'true' : value;
}

function wholeNumber(value: unknown): unknown {
  return typeof value === 'string' && !/^\d+$/.test(value) ? Number.NaN : value;
}
