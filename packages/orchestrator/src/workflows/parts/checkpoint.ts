/** Work that an agent left in its folder when its stage failed: it is committed before a person is asked. */
import type { EventObject, MachineContext } from 'xstate';
import type { Checkpoint, RunHeader } from '../../activities/types.ts';
import { actingOn } from './acting.ts';
import { changeOf } from './change.ts';
import { notTaken } from './costs.ts';
import type { PausableContext } from './pausing.ts';
import { headerOf } from './run-context.ts';

export interface CheckpointContext extends RunHeader, PausableContext {
  readonly head: string;
  readonly baseCommit: string;
  readonly excludePaths: readonly string[];
}

export function checkpointActions<Context extends MachineContext & CheckpointContext, Event extends EventObject>() {
  return {
    keepCheckpoint: actingOn<Context, Event>()(({ head }, { kept }: { kept: Checkpoint }) => ({
      change: changeOf<Context, CheckpointContext>({ head: kept.commit ?? head }),
      facts: kept.refused.map(notTaken),
    })),
  };
}

/** The state before `paused`. Its activity is `checkpoint`. */
export const interruptedState = {
  meta: { status: 'running', stage: ({ paused }: PausableContext) => paused?.stage ?? null },
  invoke: {
    id: 'checkpoint',
    src: 'checkpoint',
    input: ({ context }: { readonly context: CheckpointContext }) => ({
      ...headerOf(context),
      head: context.head,
      baseCommit: context.baseCommit,
      stage: context.paused?.stage ?? '',
      excludePaths: context.excludePaths,
    }),
    onDone: {
      target: 'paused',
      actions: {
        type: 'keepCheckpoint',
        params: ({ event }: { readonly event: { readonly output: Checkpoint } }) => ({ kept: event.output }),
      },
    },
    onError: 'paused',
  },
} as const;
