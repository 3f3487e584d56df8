/** Commands of workflows that only the server has: each starts a run of one. */
import { launchableOf } from '@autonomous/shared/client';
import type { CommandLine } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { note } from '../../io.ts';
import { addCommandOf } from '../../launch/workflow-command.ts';

/** As workflows are named. */
const NAME = /^[a-z][a-z0-9-]*$/;

/**
 * Adds the command of the server's workflow that is called so, where there is one. Without a server the program refuses the name as it
 * does any other.
 * @param argv all arguments, among which the server may be named
 */
export async function addServersCommand(line: CommandLine, name: string, argv: readonly string[]): Promise<void> {
  if (!NAME.test(name)) return;
  const workflows = await workflowsOf(line, serverIn(argv));
  const found = workflows.find((workflow) => (workflow.command?.name ?? workflow.name) === name);
  if (found !== undefined) addCommandOf(line, found);
}

async function workflowsOf({ io }: CommandLine, server: string | undefined) {
  try {
    const client = await connect(io, server);
    return launchableOf({ workflows: await client.listWorkflows() });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    note(io, `Commands of workflows that only a server has are not known: ${why}`);
    return [];
  }
}

function serverIn(argv: readonly string[]): string | undefined {
  const at = argv.indexOf('--server');
  const joined = argv.find((each) => each.startsWith('--server='));
  return at === -1 ? joined?.slice('--server='.length) : argv[at + 1];
}
