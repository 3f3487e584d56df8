/** Asks a sandbox about itself: which programs it has. No file of a project is in it. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { NeedsHuman, RetryableFailure } from '@autonomous/shared';
import type { ActivityContext } from '../core/activity.ts';
import type { ActivityTools } from './tools.ts';
import { closeFolder, runFolder } from './work-folders.ts';

const TIMEOUT_MS = 60_000;

/**
 * @param command for `sh -c`, in an empty folder and without network
 * @returns its output; `null` where no sandbox can be started, or where starting one costs money
 */
export async function askSandbox(
  tools: Pick<ActivityTools, 'sandboxes' | 'workFolder' | 'limits'>,
  { runId, key, signal }: Pick<ActivityContext, 'runId' | 'key' | 'signal'>,
  command: string,
): Promise<string | null> {
  // A machine elsewhere has the programs of its template.
  if (tools.sandboxes.platform !== undefined) return null;
  const folder = path.join(runFolder(tools, runId), 'question');
  await mkdir(folder, { recursive: true });
  try {
    const sandbox = await tools.sandboxes.open({
      key: `${key}/question`,
      folder,
      readOnly: [],
      network: 'none',
      limits: tools.limits,
      signal,
    });
    try {
      const { exitCode, stdout } = await sandbox.run({ command, timeoutMs: TIMEOUT_MS, signal });
      return exitCode === null ? null : stdout;
    } finally {
      await sandbox.dispose();
    }
  } catch (error) {
    signal.throwIfAborted();
    // The first activity that needs a sandbox says what is the matter with it.
    if (error instanceof NeedsHuman || error instanceof RetryableFailure) return null;
    throw error;
  } finally {
    await closeFolder(folder);
  }
}
