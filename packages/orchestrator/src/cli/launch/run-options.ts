/** Options of every command that starts a run, and the configuration that they ask for. */
import type { RunConfigRequest, TrustLevel } from '@autonomous/shared';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { collectModels, type JsonOptions } from '../command-line.ts';
import type { CliIo } from '../io.ts';
import { readConfigFile } from './input-files.ts';

export interface RunOptions extends JsonOptions {
  readonly project?: string;
  readonly autoMerge?: boolean;
  readonly pullRequest?: boolean;
  readonly base?: string;
  readonly model?: Readonly<Record<string, string>>;
  readonly trust?: Readonly<Record<string, TrustLevel>>;
  /** Path of a file with a run configuration. */
  readonly config?: string;
  readonly detach?: boolean;
}

/** @param when the end, to be read after what the run does then */
export function addRunOptions(command: Command, when: string): Command {
  return command
    .addOption(new Option('--auto-merge', `merge ${when}`).conflicts('pullRequest'))
    .option('--pull-request', `open a pull request ${when}, instead of a merge that the configuration asks for`)
    .option('--base <branch>', 'branch to start from and to merge into')
    .option('--model <role=model>', 'model of a role of the workflow; may be repeated', collectModels)
    .option('--config <file>', 'run configuration in JSON; options win over it')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run as JSON');
}

export function addTrust(command: Command): Command {
  return command.option(
    '--trust <mode=level>',
    'a trust mode of the workflow, manual or auto, such as review=manual; may be repeated',
    collectTrust,
  );
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

/** The file's configuration under what the options say. */
export async function configOf(io: CliIo, options: RunOptions): Promise<RunConfigRequest> {
  const file = options.config === undefined ? {} : await readConfigFile(io, options.config);
  const { base, model, trust } = options;
  return {
    ...file,
    ...section('trustMode', file.trustMode, { ...trust }),
    ...section('git', file.git, { ...endOf(options), baseBranch: base }),
    ...section('modelRouting', file.modelRouting, { ...model }),
  };
}

function endOf({
  autoMerge,
  pullRequest,
}: RunOptions): Pick<NonNullable<RunConfigRequest['git']>, 'autoMerge' | 'createPR'> {
  if (pullRequest) return { createPR: true, autoMerge: false };
  return autoMerge ? { autoMerge: true } : {};
}

function section<Name extends string>(
  name: Name,
  file: object | undefined,
  options: Readonly<Record<string, unknown>>,
) {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  return Object.keys(given).length === 0 ? {} : { [name]: { ...file, ...given } };
}
