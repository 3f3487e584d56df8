/** The commands that verify a project, from its files and from what a person said of them in an earlier run. */
import { type CheckCommands, findCheckCommands } from '../../project-analysis/check-commands.ts';
import { MEMORY_PATH, parseMemory } from '../../documents/memory/memory.ts';
import type { ReadFile } from '../../project-analysis/project-commands.ts';
import { COMMANDS_QUESTION, commandsIn } from './commands-question.ts';

/** Characters of a memory file that is read and extended. */
export const MAX_MEMORY = 1_000_000;

/**
 * Finds the commands that the files of a tree name; where they name no test command, those in the project's memory.
 * @param paths all files of the tree
 */
export async function findProjectChecks(paths: readonly string[], readFile: ReadFile): Promise<CheckCommands> {
  const found = await findCheckCommands(paths, readFile);
  if (found.test !== null) return found;
  const told = toldBefore(await readFile(MEMORY_PATH));
  return told === null ? found : { ...found, ...commandsIn(told, `a person, in ${MEMORY_PATH}`, found.lint) };
}

/** The latest answer to the question for the commands in the project's memory. */
function toldBefore(memory: string | null): string | null {
  if (memory === null || memory.length > MAX_MEMORY) return null;
  const lines = parseMemory(memory).pastDecisions.flatMap((decision) => decision.lines);
  const line = lines.findLast((each) => each.includes(COMMANDS_QUESTION.question));
  return line === undefined ? null : (/`([^`]+)`/.exec(line)?.[1]?.replaceAll(' ⏎ ', '\n') ?? null);
}
