/** The command `run`: starts a run and follows it. */
import type { TrustLevel } from '@autonomous/shared';
import { Option } from 'commander';
import type { CommandLine } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { UsageError } from '../../exit.ts';
import { followStarted } from '../../follow/follow-started.ts';
import { readJson } from '../../launch/input-files.ts';
import { type CliIo, say } from '../../io.ts';
import { findProject, launchOn } from '../../project.ts';
import { addRunOptions, addTrust, configOf, type RunOptions } from '../../launch/run-options.ts';
import { workflowToLaunch } from '../../run-workflow.ts';

/** Trust modes that have an option of their own, such as `--planning manual`, with what is decided there. */
const TRUST_OPTIONS = { planning: 'the plan', implementation: 'the result', fixes: 'what to do about failed checks' };
type TrustOptions = { readonly [Mode in keyof typeof TRUST_OPTIONS]?: TrustLevel };

interface Options extends RunOptions, TrustOptions {
  readonly workflow?: string;
  readonly input?: string;
}

export function addRun(line: CommandLine): void {
  const command = line
    .client('run [request...]', 'starts a run and follows it')
    .option('--project <project>', 'id, name, path or URL; else the repository in the current folder')
    .option('--workflow <name>', "what kind of run; else the server's default")
    .option('--input <json>', 'input of a workflow that takes one: JSON, or @FILE');
  addTrust(command);
  for (const [mode, what] of Object.entries(TRUST_OPTIONS)) command.addOption(trustOption(mode, what));
  addRunOptions(command, 'when every gate is passed').action(
    line.ending((request: string[], options: Options) => run(line.io, request.join(' '), options)),
  );
}

function trustOption(mode: string, what: string): Option {
  return new Option(`--${mode} <mode>`, `manual asks you about ${what}, auto continues without asking`).choices([
    'auto',
    'manual',
  ]);
}

const EMPTY_REQUEST = 'The request is empty; say what is to be done.';

async function run(io: CliIo, request: string, options: Options): Promise<number> {
  const { planning, implementation, fixes } = options;
  const named = Object.entries({ planning, implementation, fixes }).flatMap(([mode, level]) =>
    level === undefined ? [] : [[mode, level] as const],
  );
  const config = await configOf(io, { ...options, trust: { ...Object.fromEntries(named), ...options.trust } });
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
