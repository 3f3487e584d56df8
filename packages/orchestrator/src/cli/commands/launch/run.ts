/** The command `run`: starts a run and follows it. */
import type { RunConfigRequest, TrustLevel } from '@autonomous/shared';
import { InvalidArgumentError, Option } from 'commander';
import { collectModels, type CommandLine, type JsonOptions } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { UsageError } from '../../exit.ts';
import { followStarted } from '../../follow/follow-started.ts';
import { readConfigFile, readJson } from '../../launch/input-files.ts';
import { type CliIo, say } from '../../io.ts';
import { findProject, launchOn } from '../../project.ts';
import { addEnd, endOf, type EndOptions } from '../../launch/run-end.ts';
import { workflowToLaunch } from '../../run-workflow.ts';

/** Trust modes that have an option of their own, such as `--planning manual`, with what is decided there. */
const TRUST_OPTIONS = { planning: 'the plan', implementation: 'the result', fixes: 'what to do about failed checks' };
type TrustOptions = { readonly [Mode in keyof typeof TRUST_OPTIONS]?: TrustLevel };

interface RunOptions extends JsonOptions, TrustOptions, EndOptions {
  readonly project?: string;
  readonly workflow?: string;
  readonly input?: string;
  readonly trust?: Readonly<Record<string, TrustLevel>>;
  readonly base?: string;
  readonly model?: Readonly<Record<string, string>>;
  readonly config?: string;
  readonly detach?: boolean;
}

export function addRun(line: CommandLine): void {
  const command = line
    .client('run [request...]', 'starts a run and follows it')
    .option('--project <project>', 'id, name, path or URL; else the repository in the current folder')
    .option('--workflow <name>', "what kind of run; else the server's default")
    .option('--input <json>', 'input of a workflow that takes one: JSON, or @FILE')
    .option(
      '--trust <mode=level>',
      'a trust mode of the workflow, manual or auto, such as review=manual; may be repeated',
      collectTrust,
    );
  for (const [mode, what] of Object.entries(TRUST_OPTIONS)) command.addOption(trustOption(mode, what));
  addEnd(command, 'when every gate is passed')
    .option('--base <branch>', 'branch to start from and to merge into')
    .option('--model <role=model>', 'model of a role of the workflow; may be repeated', collectModels)
    .option('--config <file>', 'run configuration in JSON; options win over it')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run as JSON')
    .action(line.ending((request: string[], options: RunOptions) => run(line.io, request.join(' '), options)));
}

function trustOption(mode: string, what: string): Option {
  return new Option(`--${mode} <mode>`, `manual asks you about ${what}, auto continues without asking`).choices([
    'auto',
    'manual',
  ]);
}

/** Collects the values of `--trust`. @throws {InvalidArgumentError} when a value is not of the form `MODE=manual` or `MODE=auto` */
function collectTrust(
  value: string,
  before: Readonly<Record<string, TrustLevel>> | undefined,
): Readonly<Record<string, TrustLevel>> {
  const [, mode, level] = /^([^=]+)=(auto|manual)$/.exec(value) ?? [];
  if (mode === undefined || level === undefined)
    throw new InvalidArgumentError('Write MODE=manual or MODE=auto with a trust mode of the workflow.');
  return { ...before, [mode]: level as TrustLevel }; // the expression takes no other words
}

const EMPTY_REQUEST = 'The request is empty; say what is to be done.';

async function run(io: CliIo, request: string, options: RunOptions): Promise<number> {
  const config = await runConfig(io, options);
  const input = options.input === undefined ? undefined : await readJson(io, options.input, 'The input');
  const isEmpty = request.trim() === '';
  if (isEmpty && options.workflow === undefined && input === undefined) throw new UsageError(EMPTY_REQUEST);
  const client = await connect(io, options.server);
  const { name: workflow, needsProject, defaultRequest } = await workflowToLaunch(client, options.workflow);
  if (isEmpty && needsProject && defaultRequest === undefined) throw new UsageError(EMPTY_REQUEST);
  const project =
    needsProject || options.project !== undefined ? await findProject(client, io, options.project) : undefined;
  const asked = { workflow, request: isEmpty ? undefined : request, config, input };
  const launched = await launchOn(client, io, options.project, project, asked);
  if (!options.json && !options.detach) {
    say(io, project ? `run ${launched.id} on ${project.name} (${project.repository})` : `run ${launched.id}`);
  }
  return followStarted(io, client, launched, project?.name ?? workflow, options);
}

/** The file's configuration under what the options say. */
async function runConfig(io: CliIo, options: RunOptions): Promise<RunConfigRequest> {
  const file = options.config === undefined ? {} : await readConfigFile(io, options.config);
  const { base, model, trust } = options;
  const named = Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(TRUST_OPTIONS, name)));
  return {
    ...file,
    ...section('trustMode', file.trustMode, { ...named, ...trust }),
    ...section('git', file.git, { ...endOf(options), baseBranch: base }),
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
