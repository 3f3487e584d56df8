/**
 * Renders a run's events and progress as lines for a terminal. Pure. Output of models that only play a script is
 * labelled "(scripted)".
 */
import { styleText } from 'node:util';
import {
  BUDGET_NAMES,
  documentWordOf,
  type EventPayloads,
  gateInfoOf,
  type GateOpening,
  type Evidence,
  type JsonValue,
  type Progress,
  type RunView,
  stageTitleOf,
  type WorkflowEvent,
  type WorkflowEventType,
  type WorkflowInfo,
  wordsOf,
  ownedFilesNotices,
} from '@autonomous/shared';
import {
  eventInfoOf,
  moreText,
  namedTests,
  ownEventText,
  PAUSE_LABELS,
  sanitizeText,
  testCountText,
} from '@autonomous/shared/presentation';

/** `wait` stands out: a person has to act. `quiet` is what may be overlooked. */
export type Tone = 'stage' | 'good' | 'bad' | 'wait' | 'plain' | 'quiet';

export interface TimelineEntry {
  /** May have several lines. */
  readonly text: string;
  readonly tone: Tone;
}

/** Parts of a run that show which words came from a script. */
export type RunFacts = Pick<RunView, 'config' | 'evidence' | 'currentStage'>;

/**
 * Describes an event for a person.
 * @param run the run as it was before the event; absent: only events that say themselves that a script made them are labelled
 * @param workflow the workflow of the run; absent: stages, gates and documents are titled after their names
 * @returns `null` for events that say nothing to a person
 */
export function describeEvent(
  event: WorkflowEvent,
  run: RunFacts | null = null,
  workflow?: WorkflowInfo,
): TimelineEntry | null {
  // The table is total over the vocabulary; the payload's type follows from the event's type.
  const describe = DESCRIPTIONS[event.type as WorkflowEventType] as Describe<never> | undefined;
  if (describe) return describe(event.payload as never, { event, run, workflow });
  const text = ownEventText(event, workflow);
  return text === null ? null : entry(eventInfoOf(workflow, event.type)?.tone ?? 'plain', text);
}

/** Describes progress of a running activity in one line; `null` for output and token counts, which the transcript contains. */
export function describeProgress(progress: Progress): string | null {
  const role = progress.role ?? progress.activity;
  const isScripted = progress.scripted === true || isScriptedModel(progress.model);
  const who = isScripted ? `${role} (scripted)` : role;
  switch (progress.kind) {
    case 'tool_call':
      return ENDING_TOOLS.has(String(progress.data?.['tool'])) ? null : `${who}: ${oneLine(progress.text)}`;
    case 'text':
    case 'note':
      return `${who}: ${oneLine(progress.text)}`;
    case 'tool_result':
      return progress.data?.['ok'] === false ? `${who}: that failed: ${oneLine(progress.text)}` : null;
    case 'command':
      return oneLine(progress.text);
    case 'message':
      return `${who} receives: ${oneLine(progress.text)}`;
    case 'output':
    case 'usage':
    case 'prompt':
    case 'pulse':
      return null;
    default:
      return progress.kind satisfies never;
  }
}

/**
 * One entry of the timeline: seconds since the run began, a sign for its tone, the text.
 * @param entry `atMs` in milliseconds since the run began
 * @returns without a newline at its end; what could steer a terminal is an escape
 */
export function formatTimeline(
  { atMs, text, tone }: TimelineEntry & { readonly atMs: number },
  { color }: { readonly color: boolean },
): string {
  const paint = (format: Format | null, painted: string): string =>
    color && format !== null ? styleText(format, painted, { validateStream: false }) : painted;
  const { sign, format } = TONES[tone];
  const seconds = (Math.max(0, atMs) / 1000).toFixed(1).padStart(SECONDS_WIDTH);
  const [first = '', ...rest] = printable(text).split('\n');
  return [
    `${paint('dim', seconds)}  ${paint(format, `${sign} ${first}`)}`,
    ...rest.map((line) => `${' '.repeat(SECONDS_WIDTH + 4)}${tone === 'quiet' ? paint('dim', line) : line}`),
  ].join('\n');
}

/** Text from models and repositories as a terminal may have it: control characters and reordering marks as escapes, lines kept. */
export function printable(text: string): string {
  return sanitizeText(text);
}

/** A model's name, labelled where it only plays a script. */
export function modelName(id: string): string {
  return isScriptedModel(id) ? `${id} (scripted)` : id;
}

type Format = Parameters<typeof styleText>[0];

/** Tools that end an agent call. They are not printed, because the following events show the end. */
const ENDING_TOOLS: ReadonlySet<string> = new Set(['finish', 'ask']);
const SECONDS_WIDTH = 7;
const HASH_LENGTH = 10;
const LINE_LENGTH = 300;

const TONES: Readonly<Record<Tone, { readonly sign: string; readonly format: Format | null }>> = {
  stage: { sign: '━━', format: ['bold', 'cyan'] },
  good: { sign: '✓', format: 'green' },
  bad: { sign: '✗', format: 'red' },
  wait: { sign: '●', format: ['bold', 'yellow'] },
  plain: { sign: '·', format: null },
  quiet: { sign: ' ', format: 'dim' },
};

interface Facts {
  readonly event: WorkflowEvent;
  readonly run: RunFacts | null;
  readonly workflow: WorkflowInfo | undefined;
}
type Describe<Payload> = (payload: Payload, facts: Facts) => TimelineEntry | null;

const nothing = (): null => null;

const DESCRIPTIONS: { readonly [Type in WorkflowEventType]: Describe<EventPayloads[Type]> } = {
  RUN_QUEUED: ({ position, start }, { event }) =>
    plain(`${start ? `run ${event.workflowRunId}: ${oneLine(start.request)}\n` : ''}queued, place ${position}`),
  RUN_STARTED: (start, { event }) => {
    const { request, workflow, branch } = start;
    const run = `run ${event.workflowRunId}${request === '' ? '' : `: ${oneLine(request)}`}`;
    const way = `workflow ${workflow.name}${branch === '' ? '' : `, branch ${branch}`}`;
    return entry('stage', lines(run, way, ...ownedFilesNotices(start)));
  },
  RUN_ADMITTED: ({ waitedMs }) => plain(`left the queue after ${seconds(waitedMs)}`),
  RUN_CONFIGURED: ({ config, baseCommit, notices }, { workflow }) => {
    const from = `from ${config.git.baseBranch} at ${short(baseCommit)}`;
    const trust = trustOf(config.trustMode, workflow);
    return plain(lines([from, ...trust].join('; '), models(config.modelRouting), ...notices));
  },
  STAGE_STARTED: ({ stage }, { workflow }) => entry('stage', wordsOf(stageTitleOf(workflow, stage))),
  STAGE_COMPLETED: nothing,
  STATE_CHANGED: nothing,
  APPROVAL_REQUESTED: (opening, facts) => {
    const asked = record(opening.details['question'])?.['question'];
    return gate(
      opening,
      `${wordsOf(gateInfoOf(facts.workflow, opening.gate).title)} gate: ${opening.summary}`,
      ...[opening.details['path'], opening.details['report']].flatMap(string),
      ...string(opening.details['parserMessage']),
      ...string(asked).map((question) => `last question${scriptedIn(facts, opening.stage)}: ${question}`),
    );
  },
  APPROVAL_GRANTED: ({ by, notes, editedPlan }) =>
    entry('good', `approved by ${by}${editedPlan === undefined ? '' : ' with changes'}${said(notes)}`),
  APPROVAL_REJECTED: ({ by, feedback }) => entry('bad', `sent back by ${by}${said(feedback)}`),
  CLARIFICATION_REQUESTED: (opening, facts) => {
    const { question, context, options = [] } = opening.question;
    return gate(
      opening,
      `question${scriptedIn(facts, opening.stage)}: ${question}`,
      oneLine(context),
      ...options.map((option, index) => `${index + 1}. ${option}`),
    );
  },
  CLARIFICATION_ANSWERED: ({ by, response }) => entry('good', `answered by ${by}${said(response)}`),
  CLARIFICATION_IGNORED: ({ by }) => plain(`question ignored by ${by}`),
  QUESTION_ASKED: ({ by, question }) => plain(`${by} asks: ${oneLine(question)}`),
  QUESTION_REPLIED: ({ reply }, facts) => plain(`reply${scriptedIn(facts)}: ${reply}`),
  ARTIFACT_CREATED: ({ artifact }, { workflow }) => {
    const { type, version, gitPath, commitSha, filesChanged } = artifact;
    const about = [
      ...(gitPath === undefined ? [] : [gitPath]),
      ...(commitSha === undefined ? [] : [`commit ${short(commitSha)}`]),
      ...(filesChanged === undefined ? [] : [files(filesChanged)]),
    ];
    const word = documentWordOf(workflow, type);
    return plain(`${word} ${version}: ${about.join(', ')}${artifact.scripted ? ' (scripted)' : ''}`);
  },
  IMPLEMENTATION_SUCCEEDED: ({ summary }, facts) =>
    entry('good', `implemented${scriptedIn(facts)}: ${oneLine(summary)}`),
  // The pause that follows says the same and what can be done.
  IMPLEMENTATION_FAILED: nothing,
  EVIDENCE_RECORDED: ({ mode, passed, commands, sandbox, restored = [], reusedFrom, ...counted }) => {
    const tests = testCountText(counted);
    const what = mode === 'as_is' ? 'the result as it is' : "the result with the base commit's tests put back";
    const where = sandbox === 'none' ? 'WITHOUT a sandbox' : `in ${sandbox}`;
    return entry(
      passed ? 'good' : 'bad',
      lines(
        `checks ${passed ? 'passed' : 'failed'} on ${what}${restored.length > 0 ? ` (${files(restored)})` : ''}`,
        ...commands.map(
          ({ command, exitCode, durationMs }) =>
            `$ ${oneLine(command)} → ${exitCode === null ? 'killed' : `exit code ${exitCode}`}, ${seconds(durationMs)}, ${where}`,
        ),
        ...(tests === null ? [] : [tests]),
        ...testLines(counted, NAMED_TESTS),
        ...(reusedFrom === undefined ? [] : [`the same code was checked by run ${reusedFrom}`]),
      ),
    );
  },
  BASELINE_RECORDED: ({ passed, failure, command, tests, missingTool, timeoutMinutes = {} }) =>
    plain(
      `checks on the base commit: ${
        failure === undefined
          ? `${passed ? 'passed' : `failed (exit code ${command.exitCode ?? 'none'})`}${missingTool === undefined ? '' : `, ${oneLine(missingTool)} is missing`}${tests === undefined ? '' : `, ${count(tests.executed, 'test')}`}`
          : `not run: ${oneLine(failure)}`
      }${Object.entries(timeoutMinutes)
        .map(([stage, minutes]) => `; ${stage} may take ${minutes} minutes`)
        .join('')}`,
    ),
  VALIDATION_PASSED: ({ summary }, facts) => entry('good', `validated${scriptedIn(facts)}${said(summary)}`),
  VALIDATION_FAILED: ({ severity, summary }, facts) => {
    const isFromReview = facts.run?.evidence.at(-1)?.passed === true;
    const label = isFromReview ? scriptedIn(facts) : '';
    return entry('bad', `validation failed (${severity})${label}${said(summary)}`);
  },
  FIX_DECIDED: ({ by, decision, attempt, reason, accepted = [] }) => {
    const who = by === 'policy' ? '' : ` by ${by}`;
    if (decision === 'accept') {
      return entry('good', lines(`accepted anyway${who}${said(reason)}`, ...accepted.map((fault) => `✗ ${fault}`)));
    }
    if (decision === 'close') return plain(`closed${who}${said(reason)}`);
    return plain(`fix attempt${attempt === undefined ? '' : ` ${attempt}`}${who}${said(reason)}`);
  },
  PROGRESS_CHANGED: ({ done, total }) => plain(`${done} of ${total} done`),
  DECISION_RECORDED: ({ topic, choice }, facts) =>
    plain(`decided${scriptedIn(facts)}: ${oneLine(topic)}: ${oneLine(choice)}`),
  RUN_PAUSED: (opening) =>
    gate(
      opening,
      `paused, ${PAUSE_LABELS[opening.reason]}: ${opening.message}`,
      ...(opening.question?.options ?? []).map((option, index) => `${index + 1}. ${option}`),
    ),
  RETRY_REQUESTED: ({ by, accepts, notes }) =>
    plain(accepts === undefined ? `retried by ${by}` : `accepted by ${by}${said(notes)}`),
  RUN_RESUMED: nothing,
  STAGE_EXTENDED: ({ by, minutes }) => plain(`${by} gives the stage ${minutes} minutes`),
  MESSAGE_SENT: ({ by, text }) => plain(`${by} says: ${oneLine(text)}`),
  COST_RECORDED: ({ role, model, scripted, calls, inputTokens, outputTokens }) =>
    entry(
      'quiet',
      `${role}: ${scripted && !isScriptedModel(model) ? `${model} (scripted)` : modelName(model)}, ${count(calls, 'call')}, ${figure(inputTokens)} tokens in, ${figure(outputTokens)} out`,
    ),
  CALL_BOOKED: nothing,
  CALL_SETTLED: nothing,
  REVIEW_COMMENT_ADDED: ({ by, path, line, text }) =>
    entry('quiet', `${by} comments on ${line > 0 ? `${path}:${line}` : path}: ${text}`),
  REVIEW_COMMENT_EDITED: ({ by, text }) => entry('quiet', `${by} changes a comment: ${text}`),
  REVIEW_COMMENT_DELETED: ({ by }) => entry('quiet', `${by} deletes a comment`),
  BUDGET_CHANGED: ({ by, ...change }) =>
    plain(
      `${by} sets ${BUDGET_NAMES.flatMap((name) => (change[name] === undefined ? [] : `${name} ${change[name] ?? 'without a bound'}`)).join(', ')}`,
    ),
  NOTICE: ({ message }) => plain(message),
  BASE_INTEGRATED: ({ baseBranch, baseCommit, commit }) =>
    plain(
      `${baseBranch} moved to ${short(baseCommit)}: taken in with commit ${short(commit)}; where that changes the code, it is checked again`,
    ),
  OWNED_FILES_COMMITTED: ({ branch, commit, paths, why }) =>
    plain(lines(`${paths.join(', ')} committed to ${branch}: commit ${short(commit)}`, ...string(why))),
  CHANGES_PUBLISHED: ({ branch, commit, pushed, note }) =>
    entry('good', lines(`${pushed ? 'pushed' : 'ready, not pushed:'} ${branch} at ${short(commit)}`, ...string(note))),
  RUN_MERGED: ({ baseBranch, commit, strategy }) =>
    entry('good', `merged into ${baseBranch} (${strategy}): commit ${short(commit)}`),
  ACTIVITY_COMPLETED: nothing,
  // A pause or the workflow's own facts follow and say more.
  ACTIVITY_FAILED: nothing,
  TIMER_FIRED: nothing,
  RUN_COMPLETED: ({ summary, failures }) =>
    failures === undefined
      ? entry('good', `completed${said(summary)}`)
      : entry('bad', lines(`${WITH_FAILURES}${said(withoutTheSame(summary))}`, ...failures)),
  RUN_FAILED: ({ message }) => entry('bad', `failed: ${message}`),
  RUN_CANCELLED: ({ by, reason, cause }) =>
    entry('bad', cause === undefined ? `cancelled by ${by}${said(reason)}` : `came to nothing: ${cause}`),
  RUN_MIGRATED: ({ from, to, by, how }) =>
    plain(`migrated from version ${from} of its workflow to ${to} by ${by}: its state was ${how}`),
  RUN_FORKED: ({ from, at }) => plain(`forked from ${from} at event ${at}`),
};

const WITH_FAILURES = 'completed with failures';

/** A summary of a workflow that says the same of itself. */
const withoutTheSame = (summary = ''): string => summary.replace(`, ${WITH_FAILURES}.`, '.');

function gate({ decisions }: GateOpening, ...text: readonly string[]): TimelineEntry {
  return entry('wait', lines(...text, `→ ${decisions.join(' · ')}`));
}

function entry(tone: Tone, text: string): TimelineEntry {
  return { text, tone };
}

function plain(text: string): TimelineEntry {
  return entry('plain', text);
}

function lines(...all: readonly string[]): string {
  return all.filter((line) => line !== '').join('\n');
}

/** `: text`, in one line; nothing where there is none. */
function said(text: string | undefined): string {
  return text === undefined || text.trim() === '' ? '' : `: ${oneLine(text)}`;
}

/** Tests that failed or are gone: a line for each outcome and, in quotes, for each name. @param most names of an outcome */
export function testLines({ tests }: Pick<Evidence, 'tests'>, most = Infinity): readonly string[] {
  const lists = tests === undefined ? [] : namedTests(tests);
  return lists.flatMap((list) => {
    const named = list.names.slice(0, most).map((name) => JSON.stringify(oneLine(name)));
    const entries = [...named, ...string(moreText(list, named.length))];
    return [`${list.title.toLowerCase()}:`, ...entries.map((line) => `  ${line}`)];
  });
}

const NAMED_TESTS = 3;

function oneLine(text: string): string {
  const flat = printable(text).replaceAll(/\s+/g, ' ').trim();
  return flat.length > LINE_LENGTH ? `${flat.slice(0, LINE_LENGTH)}…` : flat;
}

function short(hash: string): string {
  return hash.slice(0, HASH_LENGTH);
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

function figure(number: number): string {
  return number.toLocaleString('en');
}

function count(number: number, thing: string): string {
  return `${figure(number)} ${thing}${number === 1 ? '' : 's'}`;
}

function files(paths: readonly string[]): string {
  const shown = paths.slice(0, 3).join(', ');
  return paths.length > 3 ? `${shown} and ${paths.length - 3} more` : shown;
}

function string(value: JsonValue | undefined): readonly string[] {
  return typeof value === 'string' && value !== '' ? [value] : [];
}

function record(value: JsonValue | undefined): Readonly<Record<string, JsonValue>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, JsonValue>>)
    : null;
}

function models(routing: RunView['config']['modelRouting']): string {
  const roles = Object.entries(routing);
  const [first] = roles;
  if (first === undefined) return 'no model';
  if (roles.every(([, model]) => model === first[1])) return `model ${modelName(first[1])}`;
  return roles.map(([role, model]) => `${role} ${modelName(model)}`).join(', ');
}

/** `planning manual, fixes auto`; none where the run has no trust modes. */
function trustOf(trustMode: RunView['config']['trustMode'], workflow: WorkflowInfo | undefined): readonly string[] {
  const names = workflow?.trustModes.map(({ name }) => name) ?? Object.keys(trustMode);
  const levels = names.flatMap((name) => (trustMode[name] === undefined ? [] : [`${name} ${trustMode[name]}`]));
  return levels.length === 0 ? [] : [levels.join(', ')];
}

/**
 * The label for words of an agent in a stage, if its model only plays a script. Where the workflow names no role for the stage,
 * the label stands if any model of the run does.
 * @param stage default: the stage in which the run was before the event
 */
function scriptedIn({ run, workflow }: Facts, stage: string | null = run?.currentStage ?? null): string {
  if (run === null) return '';
  const { modelRouting } = run.config;
  const name = workflow?.stages.find((each) => each.name === stage)?.role;
  const configuredAs = workflow?.roles.find((role) => role.name === name)?.configuredAs;
  const model = name === undefined ? undefined : modelRouting[configuredAs ?? name];
  const models = model === undefined ? Object.values(modelRouting) : [model];
  return models.some(isScriptedModel) ? ' (scripted)' : '';
}

function isScriptedModel(id: string | undefined): boolean {
  return id !== undefined && /^scripted(?::|$)/.test(id);
}
