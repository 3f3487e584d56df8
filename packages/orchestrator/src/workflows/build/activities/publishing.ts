/** Activities of the stage publishing: taking in the latest base, the record, the push, the merge. */
import { NeedsHuman, type RunDecision, type RunView, TerminalFailure } from '@autonomous/shared';
import { readForeignText } from '../../../artifacts/foreign-text.ts';
import { type ExtendedMemory, MEMORY_PATH, type MemoryUpdate } from '../../../artifacts/memory.ts';
import { acceptedMemory } from '../../../artifacts/memory-concern.ts';
import { renumberedSpecPath } from '../documents/plan-document.ts';
import { RecordRedactor } from '../../../artifacts/record-redactor.ts';
import { renderEventLog, renderRunContext } from '../../../artifacts/run-context.ts';
import type { ValidationReport } from '../documents/validation-report.ts';
import type { RemoteProject } from '../../../repository/repository.ts';
import { type Activity, type ActivityContext, THREE_TRIES } from '../../../core/activity.ts';
import type { BuildActivities, Integrated, Merged } from '../types.ts';
import type { ActivityTools } from '../../../activities/tools.ts';
import { commitOnBranch, committedBefore } from '../../../activities/commits.ts';
import { assertAccepted } from '../../../activities/concerns.ts';
import { outgoingCommit } from '../../../activities/outgoing.ts';
import { assertOwnChanges } from '../../../activities/own-changes.ts';
import { fetchRemote, pushRemote } from '../../../activities/remote.ts';
import { renderReport, reportPath } from './validation-report.ts';

/** Characters of a memory file that is still extended. */
const MAX_MEMORY = 1_000_000;

type Of<Name extends keyof BuildActivities> = Activity<BuildActivities[Name]['input'], BuildActivities[Name]['output']>;

export function integrate(tools: ActivityTools): Of<'integrate'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Integrated> {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      await fetchRemote(tools, context, project);
      const base = await repository.remoteHead(project, input.baseBranch);
      if (base === null)
        throw new NeedsHuman('remote_unavailable', `The remote has no branch '${input.baseBranch}' any more.`);
      if (base === input.baseCommit) return { moved: false };
      await assertMovedOn(tools, project, input, base);
      // The base may move once more between two attempts: each of its states is an effect of its own.
      const key = `${context.key}/${base.slice(0, 12)}`;
      const planPath = await freePlanPath(tools, project, input, base);
      const commit = await mergeBase(tools, { ...context, key }, project, input, base, planPath);
      return { moved: true, baseCommit: base, commit, codeTree: await repository.codeTree(project, commit), planPath };
    },
  };
}

type Integration = BuildActivities['integrate']['input'];

/** What was taken out of the base branch on purpose must not come back with a run that began before. */
async function assertMovedOn(
  tools: ActivityTools,
  project: RemoteProject,
  input: Integration,
  base: string,
): Promise<void> {
  if (await tools.repository.isAncestor(project, input.baseCommit, base)) return;
  throw new NeedsHuman(
    'merge_conflict',
    `The history of ${input.baseBranch} was rewritten: it no longer contains ${input.baseCommit}, where this run began. Nothing was merged. Cancel the run and start a new one, or restore that commit and retry.`,
  );
}

/** Path of the plan on the new base. Runs that began at the same time may have given their plans the same number. */
async function freePlanPath(
  tools: ActivityTools,
  project: RemoteProject,
  input: Integration,
  base: string,
): Promise<string> {
  const { repository } = tools;
  const [ours, theirs] = await Promise.all([
    repository.readFile(project, input.head, input.planPath),
    repository.readFile(project, base, input.planPath),
  ]);
  // Somebody may have merged the run's pushed branch by hand.
  return ours === theirs
    ? input.planPath
    : renumberedSpecPath(input.planPath, await repository.listFiles(project, base));
}

async function mergeBase(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  input: Integration,
  base: string,
  planPath: string,
): Promise<string> {
  const head = await prepared(tools, context, project, input, planPath);
  const merged = await tools.repository.mergeTrees(project, head, base);
  if (!merged.ok) {
    throw new NeedsHuman(
      'merge_conflict',
      `The run and ${input.baseBranch} changed the same lines of ${merged.conflicts.join(', ')}. Nothing was merged; cancel the run, or mend ${input.baseBranch} and retry.`,
    );
  }
  return commitOnBranch(tools, context, {
    project,
    branch: input.branch,
    head,
    tree: merged.tree,
    secondParent: base,
    message: `Take in ${input.baseBranch}`,
  });
}

/**
 * Prepares the run's head for a merge with the new base. The memory file is restored to its state at the run's start:
 * it is never text-merged, but written again on the latest base. The plan moves to a path whose number is free.
 * @returns the new commit, or the head where nothing had to change
 */
async function prepared(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  input: Integration,
  planPath: string,
): Promise<string> {
  const { repository } = tools;
  const before = await repository.treeOf(project, input.head);
  let tree = await repository.restorePaths(project, before, input.baseCommit, [MEMORY_PATH]);
  if (planPath !== input.planPath) {
    const plan = await repository.readFile(project, input.head, input.planPath);
    tree = await repository.writeFiles(project, tree, { [input.planPath]: null, [planPath]: plan });
  }
  if (tree === before) return input.head;
  const message = `Make room for what ${input.baseBranch} has brought`;
  return commitOnBranch(
    tools,
    { ...context, key: `${context.key}/room` },
    { project, branch: input.branch, head: input.head, tree, message },
  );
}

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
      const project = await tools.project(input.projectId);
      const commit = await committedBefore(tools, context, { ...input, project });
      if (commit === null) return undefined;
      const codeTree = await tools.repository.codeTree(project, commit);
      // Nobody was told of them: the outcome of the first try is lost.
      const { notices } = await memoryWith(tools, context, project, input, await tools.view(input.runId));
      return { commit, codeTree, notices };
    },
    async perform(input, context) {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      const [view, events] = await Promise.all([tools.view(input.runId), tools.events(input.runId)]);
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
        [`${folder}/events.jsonl`]: files['events.jsonl'],
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

/** Memory entries to keep: all answers of people, and those entries of agents that people have accepted. */
function keptMemory(input: BuildActivities['copyRecord']['input'], view: RunView) {
  // An agent that repeats a question with reasons of its own adds something that nobody has said.
  const isAnswer = ({ topic, choice, rationale }: RunDecision): boolean =>
    rationale === ANSWERED &&
    view.clarifications.some(
      ({ question, response, status }) => status === 'answered' && question === topic && response === choice,
    );
  const answers = input.decisions.filter(isAnswer);
  const ofAgents = { ...input, decisions: input.decisions.filter((decision) => !answers.includes(decision)) };
  const { left, decisions, ...memory } = acceptedMemory(ofAgents, view.acceptedConcerns ?? [], input.request);
  const message = `${left} ${left === 1 ? 'entry' : 'entries'} for ${MEMORY_PATH} of this run ${left === 1 ? 'was' : 'were'} left out, since no person has accepted ${left === 1 ? 'it' : 'them'} at a gate; the run's record has ${left === 1 ? 'it' : 'them'}.`;
  return { memory: { ...memory, decisions: [...decisions, ...answers] }, notices: left === 0 ? [] : [message] };
}

/** Latest acceptance of a failed result. The machine has asserted that it is for the present result. */
function overrideOf(view: RunView): ValidationReport['override'] {
  const outcome = view.gates.findLast(({ kind, decision }) => kind === 'fix' && decision === 'accept');
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

export function merge(tools: ActivityTools): Of<'merge'> {
  return {
    retry: THREE_TRIES,
    async perform(input, context): Promise<Merged> {
      const { repository } = tools;
      const project = await tools.project(input.projectId);
      const codeTree = await repository.codeTree(project, input.head);
      if (codeTree !== input.codeTree) {
        throw new TerminalFailure(
          `The branch ${input.branch} holds the code tree ${codeTree}, validated was ${input.codeTree}.`,
        );
      }
      // A squash onto a base that the head does not contain would undo what others did there.
      if (!(await repository.isAncestor(project, input.baseCommit, input.head))) return { merged: false };
      await assertOwnChanges(tools, { ...input, project });
      const view = await tools.view(input.runId);
      const { baseCommit, head: result } = input;
      await assertAccepted(tools, { project, view, baseCommit, head: result, signal: context.signal });
      const head = await outgoingCommit(tools, context, { ...input, project, commit: input.head });
      const commit = await mergeCommit(tools, context, project, { ...input, head });
      const pushed = await pushRemote(tools, context, project, input.baseBranch, commit, input.baseCommit);
      if (pushed.ok) return { merged: true, commit, strategy: input.strategy };
      // Pushed before a crash, and others went on from there?
      await fetchRemote(tools, context, project);
      const base = await repository.remoteHead(project, input.baseBranch);
      if (base !== null && (await repository.isAncestor(project, commit, base)))
        return { merged: true, commit, strategy: input.strategy };
      return { merged: false };
    },
  };
}

/** The commit that the base branch is moved to: the same one for the same head and base, however often the merge is tried. */
async function mergeCommit(
  tools: ActivityTools,
  context: ActivityContext,
  project: RemoteProject,
  input: BuildActivities['merge']['input'],
): Promise<string> {
  if (input.strategy === 'ff') return input.head;
  const { repository } = tools;
  return repository.commit(project, {
    branch: `autonomous-merge/${input.runId}-${input.baseCommit.slice(0, 12)}-${input.head.slice(0, 12)}`,
    tree: await repository.treeOf(project, input.head),
    parent: input.baseCommit,
    ...(input.strategy === 'merge' ? { secondParent: input.head } : {}),
    message: `${input.title}\n\nRun: ${input.runId}\nBranch: ${input.branch}`,
    effectKey: `${input.runId}/merge/${input.baseCommit}/${input.head}`,
    at: context.startedAt,
  });
}
