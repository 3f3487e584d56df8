/** The last commit of a run's branch before it is published: the record of the run. */
import { type RunView, TerminalFailure, type WorkflowEvent } from '@autonomous/shared';
import { renderEventLog, withChain } from '../../documents/event-log.ts';
import { MEMORY_PATH } from '../../documents/memory/memory.ts';
import { RecordRedactor } from '../../foreign-text/record-redactor.ts';
import { renderRunContext } from '../../documents/run-context.ts';
import { type Activity, type ActivityContext, THREE_TRIES } from '../../core/activity.ts';
import type { RemoteProject } from '../../repository/repository.ts';
import { commitOnBranch, committedBefore } from './commits.ts';
import { assertAccepted } from '../evidence/concerns.ts';
import type { ActivityTools } from '../tools.ts';
import type { Recorded, RunHeader } from '../types.ts';

export type RecordRunInput = RunHeader & {
  readonly head: string;
  readonly baseCommit: string;
  readonly codeTree: string;
  readonly title: string;
};

/** The parts of a record that are a workflow's own. */
export interface RecordParts<Input> {
  /** Files of the record besides the common ones, by name. Default: none. */
  files?(view: RunView, events: readonly WorkflowEvent[], input: Input): Readonly<Record<string, string>>;
  /** Path of the file in the project that the run followed; `null`: none. Default: none. */
  followed?(events: readonly WorkflowEvent[]): string | null;
  /** The project's memory after the run; `text: null` where it stays as it is. Default: it stays. */
  memory?(
    context: ActivityContext,
    project: RemoteProject & { readonly name: string },
    input: Input,
  ): Promise<{ readonly text: string | null; readonly notices: readonly string[] }>;
}

/** Copies the run's record into its branch. */
export function recordRun<Input extends RecordRunInput>(
  tools: ActivityTools,
  parts: RecordParts<Input> = {},
): Activity<Input, Recorded> {
  const { repository } = tools;
  const memoryOf: NonNullable<RecordParts<Input>['memory']> = (...given) =>
    parts.memory?.(...given) ?? Promise.resolve({ text: null, notices: [] });
  return {
    retry: THREE_TRIES,
    async find(input, context) {
      const project = await tools.project(input.projectId, input.runId);
      const commit = await committedBefore(tools, context, { ...input, project });
      if (commit === null) return undefined;
      const { notices } = await memoryOf(context, project, input);
      return { commit, codeTree: await repository.codeTree(project, commit), notices };
    },
    async perform(input, context) {
      const { runId, projectId, baseCommit, head, branch } = input;
      const { signal } = context;
      const project = await tools.project(projectId, context.runId);
      const [view, events, steps] = await Promise.all([tools.view(runId), tools.log(runId), tools.steps(runId)]);
      await assertAccepted(tools, {
        project,
        view,
        baseCommit,
        head,
        signal,
        followed: parts.followed?.(events) ?? null,
      });
      const memory = await memoryOf(context, project, input);
      const redactor = new RecordRedactor({ scrub: (text) => tools.scrub(text) });
      const record = {
        'context.json': renderRunContext({ ...view, completedAt: context.startedAt }),
        'events.jsonl': renderEventLog(events),
      };
      const { files } = await redactor.redact(runId, record, [], signal);
      signal.throwIfAborted();
      const own = Object.entries(parts.files?.(view, events, input) ?? {});
      const written = {
        'context.json': `${JSON.stringify(JSON.parse(files['context.json']), null, 2)}\n`,
        'events.jsonl': withChain(record['events.jsonl'], files['events.jsonl'], steps),
        ...Object.fromEntries(own.map(([name, text]) => [name, tools.scrub(text)])),
      };
      const folder = `.autonomous/runs/${runId}`;
      const tree = await repository.writeFiles(project, await repository.treeOf(project, head), {
        ...Object.fromEntries(Object.entries(written).map(([name, text]) => [`${folder}/${name}`, text])),
        ...(memory.text === null ? {} : { [MEMORY_PATH]: tools.scrub(memory.text) }),
      });
      const message = `Record of run ${runId}`;
      const commit = await commitOnBranch(tools, context, { project, branch, head, tree, message });
      const codeTree = await repository.codeTree(project, commit);
      if (codeTree !== input.codeTree)
        throw new TerminalFailure(
          `The branch ${branch} holds the code tree ${codeTree}, verified was ${input.codeTree}. Cancel the run.`,
        );
      return { commit, codeTree, notices: memory.notices };
    },
  };
}
