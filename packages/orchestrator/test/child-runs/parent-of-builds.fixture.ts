/** A custom workflow that starts one run of `build` as its child and merges its result into its own branch. */
import type { RunConfig, RunConfigRequest } from '@autonomous/shared';
import { assign, emit, setup } from 'xstate';
import { z } from 'zod';
import { integrateChild, mergeChild } from '../../src/activities/git/merge-child.ts';
import type { ActivityTools } from '../../src/activities/tools.ts';
import { type ActivityContext, type ActivityRegistry, ONE_TRY } from '../../src/core/activity.ts';
import { childRun, type ChildRequest } from '../../src/core/child-runs.ts';
import { activity, defineWorkflow, type StateMeta } from '../../src/core/definition.ts';

interface Start {
  readonly runId: string;
  readonly projectId: string;
  readonly request: string;
  readonly branch: string;
  readonly startedAt: string;
  readonly config: RunConfig;
  readonly requestedConfig: RunConfigRequest;
}
interface Context extends Start {
  readonly base: string;
  readonly childId: string;
}
type Merging = Pick<Context, 'runId' | 'projectId' | 'request' | 'branch' | 'startedAt' | 'childId'> & { head: string };
const merging = ({ runId, projectId, request, branch, startedAt, childId, base }: Context): Merging => ({
  runId,
  projectId,
  request,
  branch,
  startedAt,
  childId,
  head: base,
});

const definition = defineWorkflow({
  name: 'phases',
  version: 1,
  description: 'one build as a child',
  needsProject: true,
  machine: setup({
    types: {
      context: {} as Context,
      input: {} as Start,
      events: {} as { type: 'RUN_CANCELLED' },
      meta: {} as StateMeta<Context>,
    },
    actors: {
      begin: activity<{ projectId: string }, string>(),
      phase: childRun<ChildRequest>('build'),
      integrate: activity<Merging, { commit: string }>(),
      merge: activity<Merging, { commit: string; codeTree: string }>(),
    },
  }).createMachine({
    id: 'phases',
    initial: 'beginning',
    context: ({ input }) => ({ ...input, base: '', childId: '' }),
    on: { RUN_CANCELLED: '.cancelled' },
    states: {
      beginning: {
        meta: { status: 'running' },
        invoke: {
          id: 'begin',
          src: 'begin',
          input: ({ context }) => ({ projectId: context.projectId }),
          onDone: {
            target: 'building',
            actions: [
              assign({ base: ({ event }) => event.output }),
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
      building: {
        meta: { status: 'running' },
        invoke: {
          id: 'phase-1',
          src: 'phase',
          input: ({ context }) => ({ request: context.request, title: 'Phase 1' }),
          onDone: { target: 'integrating', actions: assign({ childId: ({ event }) => event.output.runId }) },
          onError: 'failed',
        },
      },
      integrating: {
        meta: { status: 'running' },
        invoke: {
          id: 'integrate',
          src: 'integrate',
          input: ({ context }) => merging(context),
          onDone: 'merging',
          onError: 'failed',
        },
      },
      merging: {
        meta: { status: 'running' },
        invoke: {
          id: 'merge',
          src: 'merge',
          input: ({ context }) => merging(context),
          onDone: {
            target: 'completed',
            actions: emit(({ context, event }) => ({
              type: 'CHANGES_PUBLISHED',
              branch: context.branch,
              commit: event.output.commit,
              pushed: false,
            })),
          },
          onError: 'failed',
        },
      },
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
        perform: async ({ projectId }: { readonly projectId: string }, context: ActivityContext) => {
          const project = await tools.project(projectId, context.runId);
          return (await tools.repository.remoteHead(project, project.baseBranch)) ?? '';
        },
      },
      integrate: integrateChild(tools),
      merge: mergeChild(tools),
    }),
  },
];
