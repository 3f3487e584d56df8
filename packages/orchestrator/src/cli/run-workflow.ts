/** Finds the description of a workflow among those that the server lists: titles of its stages, gates, documents and roles. */
import type { RunView, WorkflowSummary } from '@autonomous/shared';
import { type Client, launchableOf, workflowOf } from '@autonomous/shared/client';
import { CommandFailure } from './exit.ts';

/** The workflow of a run; `undefined` where the server has it no more, so that its names stand for themselves. */
export async function workflowOfRun(
  client: Client,
  { workflow }: Pick<RunView, 'workflow'>,
): Promise<WorkflowSummary | undefined> {
  return workflowOf({ workflows: await client.listWorkflows() }, workflow.name);
}

/**
 * The workflow that a launch starts.
 * @param name absent: the server's default
 * @throws {CommandFailure} when the server has none of this name, or no default
 */
export async function workflowToLaunch(client: Client, name: string | undefined): Promise<WorkflowSummary> {
  const workflows = await client.listWorkflows();
  const found = workflows.find((workflow) =>
    name === undefined ? workflow.isDefault === true : workflow.name === name,
  );
  if (found !== undefined) return found;
  const known = launchableOf({ workflows }).map((workflow) => `'${workflow.name}'`);
  const why = name === undefined ? 'The server has no default workflow' : `There is no workflow '${name}'`;
  throw new CommandFailure(`${why}; name one of ${known.join(', ')} with --workflow.`);
}
