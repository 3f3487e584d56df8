/** Commands of workflows that only the server has: each starts a run of one. */
import { setTimeout as sleep } from 'node:timers/promises';
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
  const nameOf = (workflow: (typeof workflows)[number]): string => workflow.command?.name ?? workflow.name;
  const found = workflows.find((workflow) => nameOf(workflow) === name);
  if (found !== undefined) addCommandOf(line, found);
  else if (workflows.length > 0)
    note(line.io, `Commands of the server's workflows: ${workflows.map(nameOf).join(', ')}`);
}

async function workflowsOf({ io }: CommandLine, server: string | undefined) {
  try {
    const client = await connect(io, server);
    return launchableOf({ workflows: await withinTime(client.listWorkflows()) });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    note(io, `Commands of workflows that only a server has are not known: ${why}`);
    return [];
  }
}

/** Longest wait for the list, which no command that the program has itself needs. */
const ANSWER_MS = 5_000;

async function withinTime<Value>(answer: Promise<Value>): Promise<Value> {
  const late = new AbortController();
  const limit = sleep(ANSWER_MS, null, { signal: late.signal }).then(() => {
    throw new Error(`the server gave no answer within ${ANSWER_MS / 1_000} seconds.`);
  });
  try {
    return await Promise.race([answer, limit]);
  } finally {
    late.abort();
    // Aborted, or told already.
    limit.catch(() => undefined);
  }
}

/** The address as the command line takes it: the last one that is given, and none among the words after `--`. */
function serverIn(argv: readonly string[]): string | undefined {
  const end = argv.indexOf('--');
  const options = end === -1 ? argv : argv.slice(0, end);
  const given = options.flatMap((each, index) => {
    if (each.startsWith('--server=')) return [each.slice('--server='.length)];
    return each === '--server' ? [options[index + 1]] : [];
  });
  return given.at(-1);
}
