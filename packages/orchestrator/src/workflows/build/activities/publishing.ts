/** Activity of the stage publishing: the record of the run in its branch. */
import { type RunDecision, type RunView, TerminalFailure } from '@autonomous/shared';
import { readForeignText } from '../../../foreign-text/foreign-text.ts';
import { type ExtendedMemory, MEMORY_PATH, type MemoryUpdate } from '../../../documents/memory/memory.ts';
import { acceptedMemory } from '../../../documents/memory/memory-concern.ts';
import { RecordRedactor } from '../../../foreign-text/record-redactor.ts';
import { renderEventLog, withChain } from '../../../documents/event-log.ts';
import { renderRunContext } from '../../../documents/run-context.ts';
import type { ValidationReport } from '../documents/validation-report.ts';
import type { RemoteProject } from '../../../repository/repository.ts';
import { type Activity, type ActivityContext, THREE_TRIES } from '../../../core/activity.ts';
import type { BuildActivities } from '../types.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { commitOnBranch, committedBefore } from '../../../activities/git/commits.ts';
import { assertAccepted } from '../../../activities/evidence/concerns.ts';
import { renderReport, reportPath } from './validation-report.ts';

/** Characters of a memory file that is still extended. */
const MAX_MEMORY = 1_000_000;

type Of<Name extends keyof BuildActivities> = Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;

/** The file as it is where it cannot be read in time: people and agents write it, too. */
async function extendedMemory(text: string | null, update: MemoryUpdate, signal: AbortSignal): Promise<ExtendedMemory> {
  const isTooLong = text !== null && text.length > MAX_MEMORY;
  const read = isTooLong
    ? { ok: false as const, why: `has more than ${MAX_MEMORY} characters` }
    : await readForeignText('extendMemory', [text, update], { signal });
  if (read.ok) return read.value;
  const notice = `${MEMORY_PATH} ${read.why}. It was left as it is; shorten it, so that runs can add to it again.`;
  return { text: text ?? '', notices: [notice] };
}

/** Copies the run's record into its branch: the last commit before it is published. */
export function copyRecord(tools: ActivityTools): Of<'copyRecord'> {
  return {
    retry: THREE_TRIES,
    async find(input, context) {
      const project = await tools.project(input.projectId, input.runId);
      const commit = await committedBefore(tools, context, { ...input, project });
      if (commit === null) return undefined;
      const codeTree = await tools.repository.codeTree(project, commit);
      // Nobody was told of them: the outcome of the first try is lost.
      const { notices } = await memoryWith(tools, context, project, input, await tools.view(input.runId));
      return { commit, codeTree, notices };
    },
    async perform(input, context) {
      const { repository } = tools;
      const project = await tools.project(input.projectId, input.runId);
      const [view, events, steps] = await Promise.all([
        tools.view(input.runId),
        tools.log(input.runId),
        tools.steps(input.runId),
      ]);
      await assertAccepted(tools, {
        project,
        view,
        baseCommit: view.baseCommit ?? input.head,
        head: input.head,
        signal: context.signal,
      });
      const folder = `.autonomous/runs/${input.runId}`;
      const memory = await memoryWith(tools, context, project, input, view);
      const override = input.accepted ? overrideOf(view) : undefined;
      const record = {
        'context.json': renderRunContext({ ...view, completedAt: context.startedAt }),
        'events.jsonl': renderEventLog(events),
      };
      const redactor = new RecordRedactor({ scrub: (text) => tools.scrub(text) });
      const { files } = await redactor.redact(input.runId, record, [], context.signal);
      context.signal.throwIfAborted();
      const tree = await repository.writeFiles(project, await repository.treeOf(project, input.head), {
        [`${folder}/context.json`]: `${JSON.stringify(JSON.parse(files['context.json']), null, 2)}\n`,
        [`${folder}/events.jsonl`]: withChain(record['events.jsonl'], files['events.jsonl'], steps),
        [MEMORY_PATH]: tools.scrub(memory.text),
        ...(override
          ? { [reportPath(input.runId)]: await overriddenReport(tools, context, project, input, view, override) }
          : {}),
      });
      const commit = await commitOnBranch(tools, context, {
        project,
        branch: input.branch,
        head: input.head,
        tree,
        message: `Record of run ${input.runId}`,
      });
      const codeTree = await repository.codeTree(project, commit);
      if (codeTree !== input.codeTree) {
        throw new TerminalFailure(
          `The branch ${input.branch} holds the code tree ${codeTree}, validated was ${input.codeTree}.`,
        );
      }
      return { commit, codeTree, notices: memory.notices };
    },
  };
}

/** The project's memory with what this run adds to it. */
async function memoryWith(
  { repository }: ActivityTools,
  context: ActivityContext,
  project: RemoteProject & { readonly name: string },
  input: BuildActivities['copyRecord']['input'],
  view: RunView,
): Promise<ExtendedMemory> {
  const kept = keptMemory(input, view);
  const text = await repository.readFile(project, input.head, MEMORY_PATH);
  const update = { project: project.name, date: context.startedAt.slice(0, 10), runId: input.runId, ...kept.memory };
  const extended = await extendedMemory(text, update, context.signal);
  return { text: extended.text, notices: [...extended.notices, ...kept.notices] };
}

/** The reason that the workflow gives for a decision which is a person's answer. */
const ANSWERED = 'answered by a person';

/**
 * Memory entries to keep: all answers of people that this server was told, and those entries of agents, and of a record, that people have
 * accepted.
 */
export function keptMemory(
  input: Pick<BuildActivities['copyRecord']['input'], 'title' | 'decisions' | 'techStack' | 'patterns' | 'request'>,
  view: Pick<RunView, 'clarifications' | 'rebuiltUpTo' | 'acceptedConcerns'>,
) {
  // The end of its id is the number of the event that asked.
  const isOfRecord = (id: string): boolean => Number(id.split('.').at(-1)) <= (view.rebuiltUpTo ?? 0);
  // An agent that repeats a question with reasons of its own adds something that nobody has said.
  const isAnswer = ({ topic, choice, rationale }: RunDecision): boolean =>
    rationale === ANSWERED &&
    view.clarifications.some(
      ({ id, question, response, status }) =>
        status === 'answered' && question === topic && response === choice && !isOfRecord(id),
    );
  const answers = input.decisions.filter(isAnswer);
  const ofAgents = { ...input, decisions: input.decisions.filter((decision) => !answers.includes(decision)) };
  const { left, decisions, ...memory } = acceptedMemory(ofAgents, view.acceptedConcerns ?? [], input.request);
  const message = `${left} ${left === 1 ? 'entry' : 'entries'} for ${MEMORY_PATH} of this run ${left === 1 ? 'was' : 'were'} left out, since no person has accepted ${left === 1 ? 'it' : 'them'} at a gate; the run's record has ${left === 1 ? 'it' : 'them'}.`;
  return { memory: { ...memory, decisions: [...decisions, ...answers] }, notices: left === 0 ? [] : [message] };
}

/** Latest acceptance of a failed result that this server was told. The machine has asserted that it is for the present result. */
function overrideOf(view: RunView): ValidationReport['override'] {
  const outcome = view.gates.findLast(
    ({ kind, decision, rebuiltAt }) => kind === 'fix' && decision === 'accept' && rebuiltAt === undefined,
  );
  return outcome && { by: outcome.by, at: outcome.at, reason: outcome.notes ?? '', accepted: outcome.accepted ?? [] };
}

/** The last report once more, with a person's word on it. */
async function overriddenReport(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  input: BuildActivities['copyRecord']['input'],
  view: RunView,
  override: NonNullable<ValidationReport['override']>,
): Promise<string> {
  const at = view.artifacts.findLast(({ type }) => type === 'validation_report')?.createdAt ?? context.startedAt;
  const commit = input.evidence[0]?.commit ?? input.head;
  const { text } = await renderReport(tools, context, project, { ...input, at, commit, view, override });
  return text;
}
