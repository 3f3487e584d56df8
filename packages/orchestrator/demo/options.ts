/** Options of the demo. */
import path from 'node:path';
import { Command, CommanderError, Option } from 'commander';
import { startCommand } from '../src/server/start-command.ts';

export interface DemoOptions {
  /** Ask the person at the terminal instead of deciding for them. */
  readonly interactive: boolean;
  /** Leave the server up afterwards. */
  readonly keep: boolean;
  /** Leave every decision to clients, and keep the server until it is stopped. */
  readonly attach: boolean;
  /** Absolute folder for everything that the demo makes; `null` chooses a temporary one. */
  readonly out: string | null;
  readonly json: boolean;
  /** The run ends with a pull request at a stand-in for GitHub, which a reviewer looks at. */
  readonly forge: boolean;
  /** Absolute path of a project of the person's own; `null` is the bundled one. */
  readonly project: string | null;
  readonly request: string;
  readonly workflow: (typeof DEMO_WORKFLOWS)[number];
  /** Absolute path of the script; `null` is the bundled one. */
  readonly script: string | null;
}

/** Workflows that there is a bundled script for. */
const DEMO_WORKFLOWS = [
  'build',
  'phased-plan',
  'backlog',
  'roadmap-item',
  'research',
  'research-and-plan',
  'full-auto',
] as const;

const BUNDLED_REQUEST = 'Create login flow with OAuth';

/**
 * @param args without node and the file
 * @returns an exit code where nothing is to be run: help, or arguments that cannot be taken
 */
export function readOptions(
  args: readonly string[],
  workingFolder: string,
): DemoOptions | { readonly exitCode: number } {
  const command = new Command(startCommand().demo)
    .description(
      'Runs a whole build, from request to merge, on a small real project. Needs no keys: a script plays the models.',
    )
    .option('--interactive', 'you approve the plan and answer the questions')
    .option('--keep', 'leave the server up afterwards')
    .option(
      '--attach',
      'leave the decisions to an editor or a browser that connects; the server stays up until it is ended',
    )
    .option('--out <dir>', 'folder for the project, its remote and the data')
    .option('--json', 'print one JSON object as the last line')
    .option('--forge', 'with a pull request: a reviewer asks for a change, the run makes it, then it is merged')
    .option('--project <path>', 'a git repository of your own; it is cloned and stays untouched')
    .option('--request <text>', 'what to ask for')
    .option('--script <file>', 'script that the models play')
    .addOption(
      new Option(
        '--workflow <name>',
        'build, phased-plan: a plan of four phases, backlog: three items of a table, roadmap-item: an item of a roadmap, research: a report with its sources, research-and-plan: the same and a plan, or full-auto: a plan of four features, of which two fail',
      )
        .choices(DEMO_WORKFLOWS)
        .default('build'),
    )
    .exitOverride();
  try {
    command.parse(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? 0 : 64 };
    throw error;
  }
  const given = command.opts<{
    interactive?: boolean;
    keep?: boolean;
    attach?: boolean;
    json?: boolean;
    forge?: boolean;
    out?: string;
    project?: string;
    request?: string;
    script?: string;
    workflow: DemoOptions['workflow'];
  }>();
  if (given.project !== undefined && (given.request === undefined || given.script === undefined)) {
    console.error('--project needs --request and --script: the bundled script fits the bundled project alone.');
    return { exitCode: 64 };
  }
  if (given.workflow !== 'build' && (given.project ?? given.script ?? given.request) !== undefined) {
    console.error(
      `--workflow ${given.workflow} plays the bundled sample: leave --project, --request and --script out.`,
    );
    return { exitCode: 64 };
  }
  const isOther = given.workflow !== 'build' || (given.project ?? given.script ?? given.request) !== undefined;
  if (given.forge === true && (isOther || given.attach === true)) {
    console.error(
      '--forge plays the bundled build run: leave --workflow, --project, --request, --script and --attach out.',
    );
    return { exitCode: 64 };
  }
  const absolute = (file: string | undefined) => (file === undefined ? null : path.resolve(workingFolder, file));
  return {
    interactive: given.interactive ?? false,
    keep: given.keep ?? false,
    attach: given.attach ?? false,
    out: absolute(given.out),
    json: given.json ?? false,
    forge: given.forge ?? false,
    project: absolute(given.project),
    request: given.request ?? BUNDLED_REQUEST,
    workflow: given.workflow,
    script: absolute(given.script),
  };
}
