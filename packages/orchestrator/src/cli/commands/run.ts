/** The command `run`: starts a run and follows it. */
import type { RunConfigRequest, TrustLevel } from '@autonomous/shared';
import { Option } from 'commander';
import { collectModels, type CommandLine, type JsonOptions } from '../command-line.ts';
import { connect } from '../connection.ts';
import { UsageError } from '../exit.ts';
import { followStarted } from '../follow-started.ts';
import { readConfigFile, readJson } from '../input-files.ts';
import { type CliIo, say } from '../io.ts';
import { chooseProject } from '../project.ts';

interface RunOptions extends JsonOptions {
  readonly project?: string;
  readonly workflow: string;
  readonly input?: string;
  readonly planning?: TrustLevel;
  readonly implementation?: TrustLevel;
  readonly fixes?: TrustLevel;
  readonly autoMerge?: boolean;
  readonly base?: string;
  readonly model?: Readonly<Record<string, string>>;
  readonly config?: string;
  readonly detach?: boolean;
}

export function addRun(line: CommandLine): void {
  line
    .client('run [request...]', 'starts a run and follows it')
    .option('--project <project>', 'id, name, path or URL; else the repository you stand in')
    .option('--workflow <name>', 'what kind of run', 'build')
    .option('--input <json>', 'what a workflow of your own starts from: JSON, or @FILE')
    .addOption(trust('--planning', 'the plan'))
    .addOption(trust('--implementation', 'the result'))
    .addOption(trust('--fixes', 'what to do about failed checks'))
    .option('--auto-merge', 'merge when every gate is passed')
    .option('--base <branch>', 'branch to start from and to merge into')
    .option('--model <role=model>', 'model of planner, implementer or validator; may be repeated', collectModels)
    .option('--config <file>', 'run configuration in JSON; options win over it')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run as JSON')
    .action(line.ending((request: string[], options: RunOptions) => run(line.io, request.join(' '), options)));
}

function trust(flag: string, what: string): Option {
  return new Option(`${flag} <mode>`, `manual asks you about ${what}, auto continues without asking`).choices([
    'auto',
    'manual',
  ]);
}

async function run(io: CliIo, request: string, options: RunOptions): Promise<number> {
  const config = await runConfig(io, options);
  const input = options.input === undefined ? undefined : await readJson(io, options.input, 'The input');
  if (request.trim() === '' && options.workflow === 'build') {
    throw new UsageError('The request is empty; say what is to be built.');
  }
  const client = await connect(io, options.server);
  const { workflow } = options;
  const needsProject = workflow === 'build' || (await client.getWorkflow(workflow)).needsProject;
  const project =
    needsProject || options.project !== undefined ? await chooseProject(client, io, options.project) : undefined;
  const launched = await client.launchRun({
    projectId: project?.id,
    workflow,
    request: request.trim() === '' ? undefined : request,
    config,
    input,
  });
  if (!options.json && !options.detach) {
    say(io, project ? `run ${launched.id} on ${project.name} (${project.repository})` : `run ${launched.id}`);
  }
  return followStarted(io, client, launched, project?.name ?? workflow, options);
}

/** The file's configuration under what the options say. */
async function runConfig(io: CliIo, options: RunOptions): Promise<RunConfigRequest> {
  const file = options.config === undefined ? {} : await readConfigFile(io, options.config);
  const { planning, implementation, fixes, autoMerge, base, model } = options;
  return {
    ...file,
    ...section('trustMode', file.trustMode, { planning, implementation, fixes }),
    ...section('git', file.git, { autoMerge, baseBranch: base }),
    ...section('modelRouting', file.modelRouting, { ...model }),
  };
}

function section<Name extends string>(
  name: Name,
  file: object | undefined,
  options: Readonly<Record<string, unknown>>,
) {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  return Object.keys(given).length === 0 ? {} : { [name]: { ...file, ...given } };
}
