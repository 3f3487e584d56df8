/** Looks in the sandbox for the programs that the specification of an item asks for, before anything is begun. */
import { RetryableFailure } from '@autonomous/shared';
import { setupOf } from '../../activities/install/install-step.ts';
import type { ActivityTools } from '../../activities/tools.ts';
import { closeFolder, openFolder } from '../../activities/work-folders.ts';
import { type Activity, THREE_TRIES } from '../../core/activity.ts';
import { environmentReason, missingOf, questionAbout } from './environment.ts';
import type { BacklogActivities } from './types.ts';

type Input = BacklogActivities['checkEnvironment']['input'];
type Output = BacklogActivities['checkEnvironment']['output'];

const TIMEOUT_MS = 60_000;

/** On a fresh checkout with the output of the install step, as the item's own commands run: both may bring programs or choose their versions. */
export function checkEnvironment(tools: ActivityTools): Activity<Input, Output> {
  return {
    retry: THREE_TRIES,
    async perform({ runId, projectId, head, setup, excludePaths, item, specPath, needs }, context): Promise<Output> {
      const { key, signal, progress } = context;
      const project = await tools.project(projectId, runId);
      const treeish = await tools.repository.codeTree(project, head);
      const work = await openFolder(tools, {
        project,
        runId,
        name: 'environment',
        treeish,
        excludePaths,
        setup: await setupOf(tools, { project, runId, treeish }, setup),
        signal,
        progress,
      });
      const { folder, home } = work;
      try {
        const sandbox = await tools.sandboxes.open({
          key,
          folder,
          home,
          readOnly: [],
          network: 'none',
          limits: tools.limits,
          signal,
        });
        try {
          const command = questionAbout(needs);
          const { exitCode, timedOut, stdout, stderr } = await sandbox.run({ command, timeoutMs: TIMEOUT_MS, signal });
          signal.throwIfAborted();
          // A sandbox that was ended says nothing about its programs.
          if (exitCode === null && !timedOut)
            throw new RetryableFailure(`The sandbox ended before it said what it has: ${stderr.trim().slice(-500)}`, {
              reason: 'sandbox_unavailable',
            });
          const missing = missingOf(needs, stdout);
          for (const text of missing) progress({ kind: 'note', text: `${item} is missing ${text}` });
          return { reason: missing.length === 0 ? null : environmentReason(item, specPath, missing) };
        } finally {
          await sandbox.dispose();
        }
      } finally {
        await closeFolder(folder);
      }
    },
  };
}
