/** A custom workflow with one child `build` that may change only the files which its input names. */
import type { AllowedFiles, RunConfig } from '@autonomous/shared';
import { emit, setup } from 'xstate';
import { z } from 'zod';
import type { ActivityTools } from '../../src/activities/tools.ts';
import { type ActivityContext, type ActivityRegistry, ONE_TRY } from '../../src/core/activity.ts';
import { childRun, type ChildRequest } from '../../src/core/child-runs.ts';
import { activity, defineWorkflow, type StateMeta } from '../../src/core/definition.ts';

interface Context {
  readonly projectId: string;
  readonly request: string;
  readonly config: RunConfig;
  readonly input: AllowedFiles;
}
interface Begin {
  readonly projectId: string;
}

const definition = defineWorkflow({
  name: 'limited',
  version: 1,
  description: 'one build that may change some files alone',
  needsProject: true,
  input: z.strictObject({ changes: z.array(z.string()), newFiles: z.array(z.string()) }),
  machine: setup({
    types: {
      context: {} as Context,
      input: {} as Context,
      events: {} as { type: 'RUN_CANCELLED' },
      meta: {} as StateMeta<Context>,
    },
    actors: { begin: activity<Begin, string>(), build: childRun<ChildRequest>('build') },
  }).createMachine({
    id: 'limited',
    initial: 'beginning',
    context: ({ input }) => input,
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
            actions: emit(({ context, event }) => ({
              type: 'RUN_CONFIGURED',
              config: context.config,
              baseCommit: event.output,
              notices: [],
            })),
          },
          onError: 'failed',
        },
      },
      building: {
        meta: { status: 'running' },
        invoke: {
          id: 'build',
          src: 'build',
          input: ({ context }) => ({ request: context.request, allowedFiles: context.input }),
          onDone: 'completed',
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
        perform: async ({ projectId }: Begin, context: ActivityContext) => {
          const project = await tools.project(projectId, context.runId);
          return (await tools.repository.remoteHead(project, project.baseBranch)) ?? '';
        },
      },
    }),
  },
];
