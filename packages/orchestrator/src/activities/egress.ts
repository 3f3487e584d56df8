/** Resolves the hosts that a role may reach from its sandbox, and reports refused requests in the run. */
import type { RunConfig } from '@autonomous/shared';
import type { EgressRefusal, SandboxSpec } from '../sandboxes/sandbox.ts';
import type { ActivityContext } from '../core/activity.ts';
import type { ActivityTools } from './tools.ts';

/**
 * The server's list, less what the project or the run leaves out of it. An empty one lets nothing through and says so.
 * @param step command of an install step that was found from a project's files; it narrows the registries that are open by default
 */
export async function networkOf(
  tools: Pick<ActivityTools, 'egress'>,
  role: string,
  config: Pick<RunConfig, 'egress'>,
  step?: string,
): Promise<Extract<SandboxSpec['network'], object>> {
  const allowed = await tools.egress(role, step);
  const wanted = config.egress?.[role];
  return { allow: wanted === undefined ? allowed : allowed.filter((entry) => wanted.includes(withoutMark(entry))) };
}

/** Puts refusals on the run, as lines of its transcript. */
export function refusalNotes(progress: ActivityContext['progress'], role: string): (refusal: EgressRefusal) => void {
  return ({ host, port, reason, message }) =>
    progress({
      kind: 'note',
      role,
      text: `Network: refused for the ${role}: ${message}.`,
      data: { egressRefused: { role, host, port, reason } },
    });
}

/** Removes the mark, which only the operator's configuration may contain. */
function withoutMark(entry: string): string {
  return entry.replace(/^internal:/, '');
}
