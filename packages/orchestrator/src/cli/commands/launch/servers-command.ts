/** Commands of workflows that only the server has: each starts a run of one. */
import { setTimeout as sleep } from 'node:timers/promises';
import { launchableOf } from '@autonomous/shared/client';
import type { Command } from 'commander';
import type { CommandLine } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { note } from '../../io.ts';
import { addCommandOf } from '../../launch/workflow-command.ts';

/**
 * Adds commands for the server's workflows for which the program has none. Without a server it adds none, and says why where the
 * command line names a command.
 * @param argv all arguments, among which the server may be named
 */
export async function addServersCommands(line: CommandLine, program: Command, argv: readonly string[]): Promise<void> {
  const [name = '--help'] = argv;
  if (/^(?:-V|--version)$/.test(name)) return;
  try {
    const client = await connect(line.io, serverIn(argv));
    const workflows = launchableOf({ workflows: await withinTime(client.listWorkflows()) });
    const own = new Set(program.commands.map((command) => command.name()));
    for (const workflow of workflows)
      if (!own.has(firstWord(workflow.command?.name ?? workflow.name))) addCommandOf(line, workflow);
  } catch (error) {
    if (name.startsWith('-')) return;
    const why = error instanceof Error ? error.message : String(error);
    note(line.io, `Commands of workflows that only a server has are not known: ${why}`);
  }
}

const firstWord = (name: string): string => name.replace(/ .*/s, '');

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
