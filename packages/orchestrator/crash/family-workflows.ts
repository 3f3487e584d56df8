/**
 * Custom workflows of the sweep that do several things at once, as AUTONOMOUS_WORKFLOWS names them: a book whose two chapters are
 * child runs with a commit each, merged into its branch in order; a mailing of six letters, at most two at the same time; a
 * supervisor of one `build`; and a diary, an engine-owned file that gets two entries.
 */
import { appendFile, readFile } from 'node:fs/promises';
import { setTimeout as rest } from 'node:timers/promises';
import type { JsonValue, RunConfig } from '@autonomous/shared';
import { assign, emit, enqueueActions, setup } from 'xstate';
import { z } from 'zod';
import {
  commitOwnedFiles,
  type CommitOwnedInput,
  type OwnedCommitted,
} from '../src/activities/git/commit-owned-files.ts';
import { commitOnBranch } from '../src/activities/git/commits.ts';
import { integrateChild, mergeChild, type MergeChildInput } from '../src/activities/git/merge-child.ts';
import type { ActivityTools } from '../src/activities/tools.ts';
import type { RunHeader } from '../src/activities/types.ts';
import { MEMORY_PATH } from '../src/documents/memory/memory.ts';
import type { ActivityEvent } from '../src/core/definition.ts';
import {
  type Activity,
  activity,
  type ActivityContext,
  type ActivityRegistry,
  childRun,
  type ChildRequest,
  defineWorkflow,
  type StateMeta,
  TerminalFailure,
  THREE_TRIES,
} from '../src/library.ts';
import type { RemoteProject } from '../src/repository/repository.ts';
import { ownedFilesActions, ownedFilesInput } from '../src/workflows/parts/owned-files.ts';
import type { RunFact } from '../src/workflows/parts/signals.ts';
import { type FanOut, fanOut, startable, started, succeeded, verdictOf } from '../src/workflows/parts/fan-out.ts';

const running = { status: 'running' } as const;
const ends = {
  completed: { type: 'final', meta: { status: 'completed' } },
  failed: { type: 'final', meta: { status: 'failed' } },
  cancelled: { type: 'final', meta: { status: 'cancelled' } },
} as const;
const signals = { RUN_CANCELLED: z.looseObject({ by: z.string(), reason: z.string().optional() }) };

/** Start of a run that has a project, and its configuration. */
type Start = RunHeader & { readonly config: JsonValue };

function headerOf({ runId, projectId, request, branch, startedAt }: RunHeader): RunHeader {
  return { runId, projectId, request, branch, startedAt };
}

const configured = ({ config }: Start, baseCommit: string) => ({
  type: 'RUN_CONFIGURED' as const,
  config,
  baseCommit,
  notices: [],
});

const published = (branch: string, commit: string) => ({
  type: 'CHANGES_PUBLISHED' as const,
  branch,
  commit,
  pushed: false,
});

interface ChapterContext extends Start {
  readonly base: string;
}
type ChapterInput = RunHeader & { readonly head: string };

const chapter = defineWorkflow({
  name: 'chapter',
  version: 1,
  description: 'One commit',
  needsProject: true,
  machine: setup({
    types: {
      context: {} as ChapterContext,
      input: {} as Start,
      output: {} as { readonly wrote: string },
      events: {} as { type: 'RUN_CANCELLED' },
      meta: {} as StateMeta<ChapterContext>,
    },
    actors: { base: activity<RunHeader, string>(), write: activity<ChapterInput, string>() },
  }).createMachine({
    id: 'chapter',
    initial: 'beginning',
    context: ({ input }) => ({ ...input, base: '' }),
    output: ({ context }) => ({ wrote: context.request }),
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      beginning: {
        meta: running,
        invoke: {
          id: 'base',
          src: 'base',
          input: ({ context }) => headerOf(context),
          onDone: {
            target: 'writing',
            actions: [
              assign({ base: ({ event }) => event.output }),
              emit(({ context, event }) => configured(context, event.output)),
            ],
          },
          onError: 'failed',
        },
      },
      writing: {
        meta: running,
        invoke: {
          id: 'write',
          src: 'write',
          input: ({ context }) => ({ ...headerOf(context), head: context.base }),
          onDone: {
            target: 'completed',
            actions: emit(({ context, event }) => published(context.branch, event.output)),
          },
          onError: 'failed',
        },
      },
      ...ends,
    },
  }) as never, // A machine is any machine; its full type says nothing more to the engine.
  signals,
});

interface BookContext extends Start {
  readonly head: string;
  readonly chapters: FanOut;
  /** Chapters that are merged, from the first one. */
  readonly merged: number;
}

const CHAPTERS = ['a', 'b'];

const merging = (context: BookContext): MergeChildInput => {
  const outcome = context.chapters.outcomes[CHAPTERS[context.merged] ?? ''];
  // Every chapter has succeeded by then, and the output of each is that of a child run.
  const child = (outcome?.ok === true ? outcome.output : {}) as { readonly runId?: string };
  return { ...headerOf(context), head: context.head, childId: child.runId ?? '' };
};

const book = defineWorkflow({
  name: 'book',
  version: 1,
  description: 'Two chapters at once, merged in order',
  needsProject: true,
  machine: setup({
    types: {
      context: {} as BookContext,
      input: {} as Start,
      events: {} as { type: 'RUN_CANCELLED' } | ActivityEvent<JsonValue>,
      meta: {} as StateMeta<BookContext>,
    },
    actors: {
      base: activity<RunHeader, string>(),
      chapter: childRun<ChildRequest>('chapter'),
      integrate: activity<MergeChildInput, { commit: string }>(),
      merge: activity<MergeChildInput, { commit: string }>(),
    },
  }).createMachine({
    id: 'book',
    initial: 'beginning',
    context: ({ input }) => ({ ...input, head: '', chapters: fanOut(CHAPTERS, 2), merged: 0 }),
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      beginning: {
        meta: running,
        invoke: {
          id: 'base',
          src: 'base',
          input: ({ context }) => headerOf(context),
          onDone: {
            target: 'writing',
            actions: [
              assign({ head: ({ event }) => event.output }),
              emit(({ context, event }) => configured(context, event.output)),
            ],
          },
          onError: 'failed',
        },
      },
      writing: {
        meta: running,
        entry: enqueueActions(({ context, enqueue }) => {
          const ids = startable(context.chapters);
          for (const id of ids)
            enqueue.spawnChild('chapter', { id, input: { request: `Write chapter ${id}`, title: id } });
          enqueue.assign({ chapters: started(context.chapters, ids) });
        }),
        on: {
          'xstate.done.actor.*': {
            target: 'writing',
            reenter: true,
            actions: assign({
              chapters: ({ context, event }) => succeeded(context.chapters, event.actorId, event.output),
            }),
          },
          'xstate.error.actor.*': 'failed',
        },
        always: { guard: ({ context }) => verdictOf(context.chapters) === 'succeeded', target: 'integrating' },
      },
      integrating: {
        meta: running,
        invoke: {
          id: 'integrate',
          src: 'integrate',
          input: ({ context }) => merging(context),
          onDone: 'merging',
          onError: 'failed',
        },
      },
      merging: {
        meta: running,
        invoke: {
          id: 'merge',
          src: 'merge',
          input: ({ context }) => merging(context),
          onDone: {
            target: 'merged',
            actions: assign({
              head: ({ event }) => event.output.commit,
              merged: ({ context }) => context.merged + 1,
            }),
          },
          onError: 'failed',
        },
      },
      merged: {
        meta: running,
        always: [
          { guard: ({ context }) => context.merged < CHAPTERS.length, target: 'integrating' },
          { target: 'completed', actions: emit(({ context }) => published(context.branch, context.head)) },
        ],
      },
      ...ends,
    },
  }) as never, // as above
  signals,
});

const supervisor = defineWorkflow({
  name: 'supervisor',
  version: 1,
  description: 'One build',
  needsProject: true,
  machine: setup({
    types: {
      context: {} as Start,
      input: {} as Start,
      events: {} as { type: 'RUN_CANCELLED' },
      meta: {} as StateMeta<Start>,
    },
    actors: { base: activity<RunHeader, string>(), work: childRun<ChildRequest>('build') },
  }).createMachine({
    id: 'supervisor',
    initial: 'beginning',
    context: ({ input }) => input,
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      beginning: {
        meta: running,
        invoke: {
          id: 'base',
          src: 'base',
          input: ({ context }) => headerOf(context),
          onDone: { target: 'waiting', actions: emit(({ context, event }) => configured(context, event.output)) },
          onError: 'failed',
        },
      },
      waiting: {
        meta: running,
        invoke: {
          id: 'work',
          src: 'work',
          input: { request: 'Add the feature below', title: 'Feature' },
          onDone: 'completed',
          onError: 'failed',
        },
      },
      ...ends,
    },
  }) as never, // as above
  signals,
});

interface MailingContext {
  readonly letters: FanOut;
}

const MOST_AT_ONCE = 2;

const mailing = defineWorkflow({
  name: 'mailing',
  version: 1,
  description: 'Posts letters, at most two at once',
  machine: setup({
    types: {
      context: {} as MailingContext,
      input: {} as { readonly input: { readonly letters: number } },
      events: {} as { type: 'RUN_CANCELLED' } | ActivityEvent<string>,
      meta: {} as StateMeta<MailingContext>,
    },
    actors: { postOne: activity<{ letter: string }, string>() },
  }).createMachine({
    id: 'mailing',
    initial: 'posting',
    context: ({ input }) => ({
      letters: fanOut(
        Array.from({ length: input.input.letters }, (_, index) => `letter-${index + 1}`),
        MOST_AT_ONCE,
      ),
    }),
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      posting: {
        meta: running,
        entry: enqueueActions(({ context, enqueue }) => {
          const ids = startable(context.letters);
          for (const id of ids) enqueue.spawnChild('postOne', { id, input: { letter: id } });
          enqueue.assign({ letters: started(context.letters, ids) });
        }),
        on: {
          'xstate.done.actor.*': {
            target: 'posting',
            reenter: true,
            actions: assign({
              letters: ({ context, event }) => succeeded(context.letters, event.actorId, event.output),
            }),
          },
          'xstate.error.actor.*': 'failed',
        },
        always: { guard: ({ context }) => verdictOf(context.letters) === 'succeeded', target: 'completed' },
      },
      ...ends,
    },
  }) as never, // as above
  input: z.strictObject({ letters: z.number().int().min(1) }),
  signals,
});

const LETTERS = process.env['SWEEP_LETTERS'] ?? 'letters';
/** Long enough for two letters to be under way at the same time. */
const POSTING_MS = 20;
let underWay = 0;

/** One line in a file for each letter, so that a letter which is posted twice is there twice. */
const postOne: Activity<{ readonly letter: string }, string> = {
  retry: THREE_TRIES,
  async find({ letter }, { key }) {
    const posted = await readFile(LETTERS, 'utf8').catch(() => '');
    return posted.split('\n').includes(key) ? letter : undefined;
  },
  async perform({ letter }, { key }) {
    underWay += 1;
    try {
      if (underWay > MOST_AT_ONCE) throw new TerminalFailure(`${underWay} letters are posted at the same time.`);
      await rest(POSTING_MS);
      await appendFile(LETTERS, `${key}\n`);
      return letter;
    } finally {
      underWay -= 1;
    }
  },
};

/** Head of the remote's base branch. */
function baseOfProject(tools: ActivityTools): Activity<RunHeader, string> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, runId }) {
      const project = await tools.project(projectId, runId);
      return commitAt(project.baseBranch, await tools.repository.remoteHead(project, project.baseBranch));
    },
  };
}

/** Head of the branch of the run that started this one, or its base. */
function baseOfParent(tools: ActivityTools): Activity<RunHeader, string> {
  return {
    retry: THREE_TRIES,
    async perform({ runId }) {
      const { parent } = await tools.view(runId);
      const { branch, headCommit, baseCommit } = await tools.view(parent?.runId ?? '');
      return commitAt(branch, headCommit ?? baseCommit);
    },
  };
}

function commitAt(branch: string, commit: string | null | undefined): string {
  if (commit === null || commit === undefined) throw new TerminalFailure(`${branch} has no commit.`);
  return commit;
}

function writeChapter(tools: ActivityTools): Activity<ChapterInput, string> {
  return {
    retry: THREE_TRIES,
    async perform({ projectId, request, branch, head }, context: ActivityContext) {
      const { repository } = tools;
      const project: RemoteProject = await tools.project(projectId, context.runId);
      const tree = await repository.writeFiles(project, await repository.treeOf(project, head), {
        [`${request.replaceAll(' ', '-').toLowerCase()}.txt`]: `${request}\n`,
        [MEMORY_PATH]: `# Memory\n\n- ${request}\n`,
      });
      return commitOnBranch(tools, context, { project, branch, head, tree, message: request });
    },
  };
}

interface DiaryContext extends Start {
  readonly config: RunConfig;
  readonly head: string;
}
type Entry = CommitOwnedInput & { readonly entry: string };

const DIARY = 'diary.txt';

const entered = ({ event }: { readonly event: { readonly output: OwnedCommitted } }) => ({ output: event.output });

/** Adds an entry, then goes to the next state. */
const entering = <const Next extends string>(entry: string, target: Next) =>
  ({
    meta: running,
    invoke: {
      id: entry,
      src: 'enter',
      input: ({ context }: { readonly context: DiaryContext }) => ({ ...ownedFilesInput(context), entry }),
      onDone: {
        target,
        actions: [
          { type: 'keepOwnedFiles', params: entered },
          { type: 'reportEntry', params: entered },
        ],
      },
      onError: 'failed',
    },
  }) as const;

const diary = defineWorkflow({
  name: 'diary',
  version: 1,
  description: 'Two entries in an engine-owned file',
  needsProject: true,
  ownedFiles: [DIARY],
  machine: setup({
    types: {
      context: {} as DiaryContext,
      input: {} as Start & { readonly config: RunConfig },
      events: {} as { type: 'RUN_CANCELLED' },
      emitted: {} as RunFact,
      meta: {} as StateMeta<DiaryContext>,
    },
    actors: { base: activity<RunHeader, string>(), enter: activity<Entry, OwnedCommitted>() },
    actions: {
      ...ownedFilesActions<DiaryContext, { type: 'RUN_CANCELLED' }>(),
      reportEntry: emit((_, { output: { branch, commit } }: { output: OwnedCommitted }) => ({
        ...published(branch, commit ?? ''),
        pushed: true,
      })),
    },
  }).createMachine({
    id: 'diary',
    initial: 'preparing',
    context: ({ input }) => ({ ...input, head: '' }),
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      preparing: {
        meta: running,
        invoke: {
          id: 'base',
          src: 'base',
          input: ({ context }) => headerOf(context),
          onDone: {
            target: 'beginning',
            actions: [
              assign({ head: ({ event }) => event.output }),
              emit(({ context, event }) => ({
                type: 'RUN_CONFIGURED',
                config: context.config,
                baseCommit: event.output,
                notices: [],
              })),
            ],
          },
          onError: 'failed',
        },
      },
      beginning: entering('begun', 'ending'),
      ending: entering('done', 'completed'),
      ...ends,
    },
  }) as never,
  signals,
});

export const workflows = [
  {
    definition: diary,
    activities: (tools: ActivityTools): ActivityRegistry => ({
      base: baseOfProject(tools),
      // An entry that is made twice is there twice.
      enter: commitOwnedFiles(tools, ({ entry }: Entry) => ({
        message: `Diary: ${entry}`,
        files: { [DIARY]: (text) => `${text ?? ''}${entry}\n` },
      })),
    }),
  },
  {
    definition: chapter,
    activities: (tools: ActivityTools): ActivityRegistry => ({ base: baseOfParent(tools), write: writeChapter(tools) }),
  },
  {
    definition: book,
    activities: (tools: ActivityTools): ActivityRegistry => ({
      base: baseOfProject(tools),
      integrate: integrateChild(tools),
      merge: mergeChild(tools),
    }),
  },
  {
    definition: supervisor,
    activities: (tools: ActivityTools): ActivityRegistry => ({ base: baseOfProject(tools) }),
  },
  { definition: mailing, activities: { postOne } },
];
