/** Options of the tries. */
import path from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { AGENTS } from '../agents-e2e/agents.ts';
import { SERVER_VARIABLES } from '../src/config.ts';
import { REPOSITORIES } from './repositories.ts';

export interface TriesOptions {
  /** Absolute folder with one clone a name. */
  readonly from: string;
  readonly names: readonly string[];
  /** File for the results; `null`: none. */
  readonly json: string | null;
  /** External agent that implements; `null`: the scripted model does. */
  readonly agent: string | null;
  /** Variables of the server for all tries. */
  readonly variables: Readonly<Record<string, string>>;
}

const WRONG_USAGE = 64;

/** @returns an exit code where nothing is to be tried: help, or arguments that cannot be taken */
export function readOptions(
  args: readonly string[],
  workingFolder: string,
): TriesOptions | { readonly exitCode: number } {
  const names = REPOSITORIES.map(({ name }) => name);
  const command = new Command('npm run real-repositories --')
    .description(
      'Starts a server and a run on each of a list of public repositories, which the folder has as git clones.',
    )
    .requiredOption('--from <folder>', 'folder with one clone, bare or not, for each name')
    .option('--only <names>', `some of ${names.join(', ')}, with commas between them`)
    .option('--json <file>', 'write the results to a file')
    .addOption(
      new Option(
        '--agent <name>',
        'an external agent implements, with a model that plays the change; it is killed once',
      ).choices(Object.keys(AGENTS)),
    )
    .option('--env <variable...>', 'NAME=VALUE: a variable of the server for all runs')
    .exitOverride();
  try {
    command.parse(args, { from: 'user' });
    const given = command.opts<{ from: string; only?: string; json?: string; agent?: string; env?: string[] }>();
    const only = given.only?.split(',').filter((name) => name !== '') ?? names;
    const unknown = only.filter((name) => !names.includes(name));
    if (unknown.length > 0)
      command.error(`error: --only: there is no ${unknown.join(', ')}; there are ${names.join(', ')}`);
    return {
      from: path.resolve(workingFolder, given.from),
      names: only,
      json: given.json ?? null,
      agent: given.agent ?? null,
      variables: variablesOf(given.env ?? [], (message) => command.error(message)),
    };
  } catch (error) {
    if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? 0 : WRONG_USAGE };
    throw error;
  }
}

function variablesOf(pairs: readonly string[], refuse: (message: string) => never): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const end = pair.indexOf('=');
      const name = pair.slice(0, Math.max(end, 0));
      if (!Object.hasOwn(SERVER_VARIABLES, name))
        refuse(`error: --env ${pair}: write NAME=VALUE with a variable of .env.example`);
      return [name, pair.slice(end + 1)];
    }),
  );
}
