/** As `changes-in-turn`, with a list of changes that an agent writes and a person approves before the first attempt. */
import {
  activity,
  type Activity,
  type ActivityTools,
  approvalGate,
  approves,
  attemptFailedAt,
  type AttemptRunContext,
  attemptWorkflow,
  callAgent,
  COMMON_RULES,
  type CommonInput,
  commitOnBranch,
  type Cost,
  hashOf,
  headerOf,
  NeedsHuman,
  noteFeedback,
  ONE_TRY_A_SANDBOX,
  projectFacts,
  promptNotes,
  requestPart,
  type Role,
  rolePrompt,
  type RunHeader,
  THREE_TRIES,
  withReadOnlyCheckout,
} from '@autonomous/orchestrator/workflow';
import { enqueueActions } from 'xstate';
import { z } from 'zod';

const listSchema = z.object({ changes: z.array(z.string().trim().min(1).max(2_000)).min(1).max(20) });
type List = z.infer<typeof listSchema>;

const lister: Role<CommonInput, List> = {
  name: 'lister',
  version: 1,
  tools: ['read', 'list', 'search'],
  maxSteps: 40,
  result: listSchema,
  instructions: `You list the changes that a request needs, in the order in which they are to be made. After each of them the project
works and its tests pass. You only read; you change nothing.

${COMMON_RULES}`,
  parts: (input) =>
    rolePrompt('lister', input, { first: [requestPart(input)], task: 'List the changes and call "finish".' }),
};

const input = z.strictObject({});
type Change = { readonly id: string; readonly title: string };
interface Own {
  readonly left: readonly Change[];
  readonly skipped: readonly string[];
  /** Lists that were written. They tell a call of the agent from those before it. */
  readonly lists: number;
  /** Hash of the list that an approval has to name; `null` before there is one. */
  readonly hash: string | null;
}
type Context = AttemptRunContext<z.output<typeof input>, Own, Change>;

type ListInput = RunHeader &
  Pick<Context, 'config' | 'head' | 'baseCommit' | 'excludePaths' | 'notes'> & { readonly call: number };
type Listed = List & { readonly cost: Cost };
type WriteInput = RunHeader & List & { readonly head: string };
type Written = { readonly path: string; readonly hash: string; readonly commit: string };

const actors = { list: activity<ListInput, Listed>(), writeList: activity<WriteInput, Written>() };

type Has = { readonly context: Context };
type Done<Output> = { readonly event: { readonly output: Output } };

const shownList = ({ own }: Context) => ({ artifactHash: own.hash });

export const listedChanges = attemptWorkflow({
  name: 'listed-changes',
  description: 'Has an agent list changes, and makes them one on top of the other once a person approves the list',
  input,
  units: 'changes',
  begin: (): Own => ({ left: [], skipped: [], lists: 0, hash: null }),
  next: ({ own }): Change | undefined => own.left[0],
  request: ({ request }, { title }) => `${title}\n\nIt is one part of: ${request}`,
  settle({ own }, { title }, end) {
    const left = own.left.slice(1);
    if (end.kind === 'merged') return { ...own, left };
    return { ...own, left, skipped: [...own.skipped, `${title} is left out: ${end.why}`] };
  },
  failures: ({ skipped }) => skipped,
  left: ({ left, skipped }) => left.length + skipped.length,

  roles: [{ role: lister, title: 'Lister', defaultsOf: 'planner' }],
  gates: {
    list: {
      title: 'List',
      waiting: 'List to approve',
      presents: 'document',
      document: 'list',
      needs: { reject: 'feedback' },
    },
  },
  documents: { list: { title: 'List', drawnAs: 'markdown' } },
  actors,

  // Its own states lie between the preparation and the first attempt: the last one leads to `choosing`.
  before(base) {
    const setup = base.extend({
      guards: { namesTheList: approves(shownList) },
      actions: {
        keepList: enqueueActions(({ enqueue, context: { own } }, { changes, cost }: Listed) => {
          const left = changes.map((title, index) => ({ id: `change-${index + 1}`, title }));
          enqueue.assign({ own: { ...own, left, lists: own.lists + 1 } });
          enqueue.emit({ type: 'COST_RECORDED', ...cost });
        }),
        keepDocument: enqueueActions(({ enqueue, context: { own } }, { path, hash, commit }: Written) => {
          enqueue.assign({ own: { ...own, hash }, head: commit });
          enqueue.emit({
            type: 'ARTIFACT_CREATED',
            artifact: { stage: 'planning', type: 'list', gitPath: path, commitSha: commit, hash, version: own.lists },
          });
        }),
      },
    });
    return {
      setup,
      initial: 'listing',
      states: {
        listing: setup.createStateConfig({
          meta: { status: 'running', stage: 'planning' },
          invoke: {
            id: 'lister',
            src: 'list',
            input: ({ context }: Has): ListInput => {
              const { config, head, baseCommit, excludePaths, notes, own } = context;
              return { ...headerOf(context), config, head, baseCommit, excludePaths, notes, call: own.lists + 1 };
            },
            onDone: {
              target: 'writing',
              actions: { type: 'keepList', params: ({ event }: Done<Listed>) => event.output },
            },
            onError: attemptFailedAt('planning'),
          },
        }),
        writing: setup.createStateConfig({
          meta: { status: 'running', stage: 'planning' },
          invoke: {
            id: 'writeList',
            src: 'writeList',
            input: ({ context }: Has): WriteInput => ({
              ...headerOf(context),
              head: context.head,
              changes: context.own.left.map(({ title }) => title),
            }),
            onDone: {
              target: 'deciding',
              actions: { type: 'keepDocument', params: ({ event }: Done<Written>) => event.output },
            },
            onError: attemptFailedAt('planning'),
          },
        }),
        deciding: setup.createStateConfig({
          meta: approvalGate<Context>({
            stage: 'planning',
            kind: 'list',
            decisions: ['approve', 'reject'],
            summary: ({ own }) => `Changes on the list: ${own.left.length}. Make them?`,
            shows: shownList,
          }),
          on: {
            APPROVAL_GRANTED: { guard: 'namesTheList', target: 'choosing' },
            APPROVAL_REJECTED: { target: 'listing', actions: noteFeedback },
          },
        }),
      },
    };
  },
  activities: (tools) => ({ list: list(tools), writeList: writeList(tools) }),
});

/** Calls the agent on a checkout that it can read and not change. */
function list(tools: ActivityTools): Activity<ListInput, Listed> {
  return {
    retry: ONE_TRY_A_SANDBOX,
    async perform(given, context) {
      const { outcome, cost } = await withReadOnlyCheckout(tools, context, given, async (project, work) =>
        callAgent(tools, context, {
          role: lister,
          input: { call: given.call, request: given.request, notes: promptNotes(given.notes) },
          facts: await projectFacts(tools, context, project, given, work),
          model: given.config.modelRouting['lister'] ?? '',
          config: given.config,
          work,
          notes: given.notes,
        }),
      );
      // The role has no tool to ask with.
      if (outcome.kind === 'question') throw new NeedsHuman('agent_failed', 'The lister asked instead of finishing.');
      return { ...outcome.result, cost };
    },
  };
}

/** Commits the list as a document to the run's branch. The same list gives the same commit. */
function writeList(tools: ActivityTools): Activity<WriteInput, Written> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, runId, branch, head, changes }, context) {
      const { repository } = tools;
      const project = await tools.project(projectId, context.runId);
      const path = `.autonomous/runs/${runId}/list.md`;
      const text = tools.scrub(`# Changes\n\n${changes.map((change, index) => `${index + 1}. ${change}\n`).join('')}`);
      const tree = await repository.writeFiles(project, await repository.treeOf(project, head), { [path]: text });
      const commit = await commitOnBranch(tools, context, { project, branch, head, tree, message: 'List of changes' });
      return { path, hash: hashOf(text), commit };
    },
  };
}

export const workflows = [listedChanges];
