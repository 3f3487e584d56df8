/** A custom workflow that owns a file named by its input: it sets a status there, has a child `build` do the work, and sets it again. */
import type { RunConfig, RunConfigRequest } from '@autonomous/shared';
import { assign, emit, setup } from 'xstate';
import { z } from 'zod';
import {
  commitOwnedFiles,
  type CommitOwnedInput,
  type OwnedCommitted,
} from '../../src/activities/git/commit-owned-files.ts';
import { integrateChild, mergeChild } from '../../src/activities/git/merge-child.ts';
import type { ActivityTools } from '../../src/activities/tools.ts';
import type { RunHeader } from '../../src/activities/types.ts';
import { type ActivityContext, type ActivityRegistry, ONE_TRY } from '../../src/core/activity.ts';
import { childRun, type ChildRequest } from '../../src/core/child-runs.ts';
import { activity, defineWorkflow, type StateMeta } from '../../src/core/definition.ts';
import { ownedFilesActions, ownedFilesInput } from '../../src/workflows/parts/owned-files.ts';
import { headerOf } from '../../src/workflows/parts/run-context.ts';
import type { RunFact } from '../../src/workflows/parts/signals.ts';

interface Start extends RunHeader {
  readonly config: RunConfig;
  readonly requestedConfig: RunConfigRequest;
  readonly input: { readonly file: string };
}
interface Context extends Start {
  readonly baseCommit: string;
  readonly head: string;
  readonly childId: string;
}
type Status = CommitOwnedInput & { readonly file: string; readonly status: string };
type Merging = RunHeader & { readonly head: string; readonly childId: string };
type Cancelled = { readonly type: 'RUN_CANCELLED' };

const merging = ({ context }: { readonly context: Context }): Merging => ({
  ...headerOf(context),
  head: context.head,
  childId: context.childId,
});

/** Commits a status, then goes to the next state. */
const committing = <const Next extends string>(status: string, target: Next) =>
  ({
    meta: { status: 'running' },
    invoke: {
      id: `set-${status}`,
      src: 'setStatus',
      input: ({ context }: { readonly context: Context }) => ({
        ...ownedFilesInput(context),
        file: context.input.file,
        status,
      }),
      onDone: {
        target,
        actions: {
          type: 'keepOwnedFiles',
          params: ({ event }: { readonly event: { readonly output: OwnedCommitted } }) => ({ output: event.output }),
        },
      },
      onError: 'failed',
    },
  }) as const;

const definition = defineWorkflow({
  name: 'statuses',
  version: 1,
  description: 'one build, with its status in a file of the project',
  needsProject: true,
  input: z.strictObject({ file: z.string().default('ai/status.md') }),
  ownedFiles: (input) => [String(input['file'])],
  machine: setup({
    types: {
      context: {} as Context,
      input: {} as Start,
      events: {} as Cancelled,
      emitted: {} as RunFact,
      meta: {} as StateMeta<Context>,
    },
    actors: {
      begin: activity<RunHeader, string>(),
      setStatus: activity<Status, OwnedCommitted>(),
      build: childRun<ChildRequest>('build'),
      integrate: activity<Merging, { commit: string }>(),
      merge: activity<Merging, { commit: string; codeTree: string }>(),
    },
    actions: ownedFilesActions<Context, Cancelled>(),
  }).createMachine({
    id: 'statuses',
    initial: 'beginning',
    context: ({ input }) => ({ ...input, baseCommit: '', head: '', childId: '' }),
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      beginning: {
        meta: { status: 'running' },
        invoke: {
          id: 'begin',
          src: 'begin',
          input: ({ context }) => headerOf(context),
          onDone: {
            target: 'starting',
            actions: [
              assign({ baseCommit: ({ event }) => event.output, head: ({ event }) => event.output }),
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
      starting: committing('begun', 'building'),
      building: {
        meta: { status: 'running' },
        invoke: {
          id: 'build',
          src: 'build',
          input: ({ context }) => ({ request: context.request, title: 'Work' }),
          onDone: { target: 'integrating', actions: assign({ childId: ({ event }) => event.output.runId }) },
          onError: 'failed',
        },
      },
      integrating: {
        meta: { status: 'running' },
        invoke: { id: 'integrate', src: 'integrate', input: merging, onDone: 'merging', onError: 'failed' },
      },
      merging: {
        meta: { status: 'running' },
        invoke: {
          id: 'merge',
          src: 'merge',
          input: merging,
          onDone: { target: 'ending', actions: assign({ head: ({ event }) => event.output.commit }) },
          onError: 'failed',
        },
      },
      ending: committing('done', 'completed'),
      completed: { type: 'final', meta: { status: 'completed' } },
      failed: { type: 'final', meta: { status: 'failed' } },
      cancelled: { type: 'final', meta: { status: 'cancelled' } },
    },
  }) as never,
  signals: { RUN_CANCELLED: z.looseObject({}) },
});

export const workflows = [
  {
    definition,
    activities: (tools: ActivityTools): ActivityRegistry => ({
      begin: {
        retry: ONE_TRY,
        perform: async ({ projectId }: RunHeader, context: ActivityContext) => {
          const project = await tools.project(projectId, context.runId);
          return (await tools.repository.remoteHead(project, project.baseBranch)) ?? '';
        },
      },
      setStatus: commitOwnedFiles(tools, ({ file, status, request }: Status) => ({
        message: `Status: ${status}`,
        files: { [file]: (text) => `${text ?? '# Statuses\n'}- ${request}: ${status}\n` },
      })),
      integrate: integrateChild(tools),
      merge: mergeChild(tools),
    }),
  },
];
