/** The command `full-auto`: carries a whole plan out and follows the run. */
import type { RunConfigRequest } from '@autonomous/shared';
import { collectModels, type CommandLine, type JsonOptions, numberFrom } from '../command-line.ts';
import { connect } from '../connection.ts';
import { EXIT, exitCodeOf, UsageError } from '../exit.ts';
import { followWatching } from '../follow-watching.ts';
import { readConfigFile } from '../input-files.ts';
import { type CliIo, say, sayJson } from '../io.ts';
import { refusedBeside } from '../open-run.ts';
import { findProject, launchOn } from '../project.ts';
import { addEnd, endOf, type EndOptions } from '../run-end.ts';

const WORKFLOW = 'full-auto';

interface FullAutoOptions extends JsonOptions, EndOptions {
  readonly project?: string;
  readonly plan?: string;
  readonly attempts?: number;
  readonly maxIterations?: number;
  readonly review?: boolean;
  readonly base?: string;
  readonly model?: Readonly<Record<string, string>>;
  readonly config?: string;
  readonly detach?: boolean;
}

export function addFullAuto(line: CommandLine): void {
  const command = line
    .client(
      'full-auto <topic> [request...]',
      'researches, plans and builds feature by feature, and asks nobody until the end',
    )
    .option(
      '--plan <path>',
      'an existing plan in JSON, or its folder docs/research-TOPIC, in the repository; else it is researched and planned first',
    )
    .option('--project <project>', 'id, name, path or URL; else the repository you stand in')
    .option('--attempts <count>', 'attempts at a feature; else 3', numberFrom(1, 10))
    .option('--max-iterations <count>', 'attempts at features in all; else 100', numberFrom(1, 100))
    .option('--review', 'asks you about each result and the whole before it is published');
  addEnd(command, 'when no feature is left')
    .option('--base <branch>', 'branch to start from and to merge into')
    .option('--model <role=model>', 'model of a role; may be repeated', collectModels)
    .option('--config <file>', 'run configuration in JSON; options win over it')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run as JSON')
    .action(
      line.ending((topic: string, request: string[], options: FullAutoOptions) =>
        fullAuto(line.io, topic, request.join(' '), options),
      ),
    );
}

async function fullAuto(io: CliIo, topic: string, request: string, options: FullAutoOptions): Promise<number> {
  const { plan, attempts: maxAttempts, maxIterations, json = false } = options;
  if (request.trim() === '')
    throw new UsageError(`Say what is to be built: ${io.program} full-auto "${topic}" "Your request"`);
  const config = await configOf(io, options);
  const client = await connect(io, options.server);
  const project = await findProject(client, io, options.project);
  const given = Object.fromEntries(
    Object.entries({ plan, maxAttempts, maxIterations }).filter(([, value]) => value !== undefined),
  );
  const launched = await launchOn(client, io, project, {
    workflow: WORKFLOW,
    request,
    config,
    input: { topic, ...given },
  }).catch((error: unknown) => refusedBeside(io, error));
  if (options.detach) {
    if (json) sayJson(io, launched);
    else say(io, `${launched.id}\nFollow it with: ${io.program} watch ${launched.id}`);
    return EXIT.done;
  }
  if (!json) say(io, `run ${launched.id} on ${project.name}: full auto on ${topic}`);
  let isCutOff = false;
  const { run } = await followWatching({
    client,
    io,
    runId: launched.id,
    json,
    onEvent: ({ type, payload }) => {
      if (type === 'FEATURES_ENDED') isCutOff = (payload as { kind?: unknown }).kind === 'iterations';
    },
  });
  const code = exitCodeOf(run);
  return code === EXIT.notDone && isCutOff ? EXIT.limit : code;
}

/** The file's configuration under what the options say. */
async function configOf(io: CliIo, options: FullAutoOptions): Promise<RunConfigRequest> {
  const file = options.config === undefined ? {} : await readConfigFile(io, options.config);
  const { base, model, review } = options;
  const git = { ...file.git, ...endOf(options), ...(base === undefined ? {} : { baseBranch: base }) };
  return {
    ...file,
    ...(Object.keys(git).length === 0 ? {} : { git }),
    ...(review === true ? { trustMode: { ...file.trustMode, implementation: 'manual' } } : {}),
    ...(model === undefined ? {} : { modelRouting: { ...file.modelRouting, ...model } }),
  };
}
