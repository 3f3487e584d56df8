/** Engine-owned files in a machine: the input of the activity that commits them, and what follows from its outcome. */
import type { RunConfig } from '@autonomous/shared';
import type { EventObject, MachineContext } from 'xstate';
import type { CommitOwnedInput, OwnedCommitted } from '../../activities/git/commit-owned-files.ts';
import type { RunHeader } from '../../activities/types.ts';
import { actingOn } from './acting.ts';
import { changeOf } from './change.ts';
import { headerOf } from './run-context.ts';

export interface OwningContext extends RunHeader {
  readonly config: { readonly git: RunConfig['git'] };
  /** Head of the run's branch in the mirror. */
  readonly head: string;
}

/** Input of an activity made by `commitOwnedFiles`; add what the update needs. */
export function ownedFilesInput(context: OwningContext): CommitOwnedInput {
  return { ...headerOf(context), head: context.head, baseBranch: context.config.git.baseBranch };
}

/** Actions after a commit of engine-owned files. */
export function ownedFilesActions<Context extends MachineContext & OwningContext, Event extends EventObject>() {
  const acting = actingOn<Context, Event>();
  return {
    /** Emits OWNED_FILES_COMMITTED. A commit on the run's branch becomes its `head`. */
    keepOwnedFiles: acting((_, { output: { commit, ...fact } }: { output: OwnedCommitted }) => {
      if (commit === null) return null;
      return {
        ...(fact.to === 'branch' ? { change: changeOf<Context, OwningContext>({ head: commit }) } : {}),
        facts: [{ type: 'OWNED_FILES_COMMITTED', ...fact, commit }],
      };
    }),
  };
}
