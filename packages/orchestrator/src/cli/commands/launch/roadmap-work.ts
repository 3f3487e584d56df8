/** The commands `roadmap work`, which has an item of the roadmap carried out, and `roadmap reset`. */
import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RunConfigRequest } from '@autonomous/shared';
import { type Command, Option } from 'commander';
import { ROADMAP_PATH, writeRoadmap } from '../../../workflows/roadmap-item/roadmap-file.ts';
import { APPROVALS } from '../../../workflows/roadmap-item/types.ts';
import { type CommandLine, type JsonOptions, numberFrom } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { CommandFailure, EXIT, exitCodeOf } from '../../exit.ts';
import { followWatching } from '../../follow/follow-watching.ts';
import { readConfigFile } from '../../launch/input-files.ts';
import { type CliIo, note, say, sayJson } from '../../io.ts';
import { refusedBeside } from '../../launch/open-run.ts';
import { findProject, launchOn } from '../../project.ts';
import { roadmapFileOf, roadmapIn } from '../../roadmap-files.ts';
import { addEnd, endOf, type EndOptions } from '../../launch/run-end.ts';

const WORKFLOW = 'roadmap-item';

interface WorkOptions extends JsonOptions, EndOptions {
  readonly server?: string;
  readonly project?: string;
  readonly roadmap?: string;
  readonly manual?: boolean;
  readonly approvals?: (typeof APPROVALS)[number];
  readonly maxAttempts?: number;
  readonly maxPhaseIterations?: number;
  readonly maxIterations?: number;
  readonly base?: string;
  readonly config?: string;
  readonly detach?: boolean;
}

/** Adds the commands to the group `roadmap`. */
export function addRoadmapWork(line: CommandLine, roadmap: Command): void {
  const work = roadmap
    .command('work <id>')
    .description('has an item carried out: ideation, specification, tasks, tests, publication and release')
    .option('--server <url>', 'address of the server; else AUTONOMOUS_SERVER, else this machine')
    .option('--project <project>', 'id, name, path or URL; else the repository you stand in')
    .option('--roadmap <file>', `path of the roadmap in the repository; else ${ROADMAP_PATH}`)
    .addOption(new Option('--approvals <which>', 'phases after which you approve; else named').choices([...APPROVALS]))
    .addOption(new Option('--manual', 'the same as --approvals all').conflicts('approvals'))
    .option('--max-attempts <count>', 'failures of a phase before you are asked; else 3', numberFrom(1, 20))
    .option('--max-phase-iterations <count>', 'iterations of a phase; else 20', numberFrom(1, 200))
    .option('--max-iterations <count>', 'iterations of all phases; else 100', numberFrom(1, 1_000));
  addEnd(work, 'when the result is approved')
    .option('--base <branch>', 'branch to start from and to merge into')
    .option('--config <file>', 'run configuration in JSON; options win over it')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run as JSON')
    .action(line.ending((id: string, options: WorkOptions) => workOn(line.io, id, options)));
  roadmap
    .command('reset <id>')
    .argument('[file]', `the roadmap; else ${ROADMAP_PATH} of the repository you stand in`)
    .description('sets an item back to not-started in the file; commit and push it then')
    .action(line.ending((id: string, file: string | undefined) => reset(line.io, id, file)));
}

async function workOn(io: CliIo, id: string, options: WorkOptions): Promise<number> {
  const config = await configOf(io, options);
  const client = await connect(io, options.server);
  const project = await findProject(client, io, options.project);
  const { roadmap = ROADMAP_PATH, maxAttempts, maxPhaseIterations, maxIterations } = options;
  const approvals = options.manual ? 'all' : options.approvals;
  const launched = await launchOn(client, io, options.project, project, {
    workflow: WORKFLOW,
    config,
    input: {
      item: id,
      roadmap,
      ...(approvals === undefined ? {} : { approvals }),
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
      ...(maxPhaseIterations === undefined ? {} : { maxPhaseIterations }),
      ...(maxIterations === undefined ? {} : { maxIterations }),
    },
  }).catch((error: unknown) => refusedBeside(io, error));
  if (options.detach) {
    if (options.json) sayJson(io, launched);
    else say(io, `${launched.id}\nFollow it with: ${io.program} watch ${launched.id}`);
    return EXIT.done;
  }
  if (!options.json) say(io, `run ${launched.id} on ${project.name}: ${id} of ${roadmap}`);
  const { run } = await followWatching({ client, io, runId: launched.id, json: options.json ?? false });
  return exitCodeOf(run);
}

async function configOf(io: CliIo, options: WorkOptions): Promise<RunConfigRequest> {
  const file = options.config === undefined ? {} : await readConfigFile(io, options.config);
  const git = { ...file.git, ...endOf(options), ...(options.base === undefined ? {} : { baseBranch: options.base }) };
  return { ...file, ...(Object.keys(git).length === 0 ? {} : { git }) };
}

/** The file is replaced in one step, so that nobody reads half of it. */
async function reset(io: CliIo, id: string, given: string | undefined): Promise<number> {
  const file = await roadmapFileOf(io, given);
  const { roadmap, text } = await roadmapIn(io, file);
  const item = roadmap.items.find((each) => each.id === id);
  if (item === undefined) throw new CommandFailure(`Item not found: ${id}`);
  const { tasksTotal: _total, tasksCompleted: _completed, ...state } = item.workflowState ?? {};
  const again = {
    ...item,
    status: 'not-started' as const,
    updatedAt: new Date().toISOString(),
    workflowState: { ...state, phase: 'not-started' as const, attempts: 0, blockers: [] },
  };
  const items = roadmap.items.map((each) => (each === item ? again : each));
  await replaceFile(path.resolve(io.cwd, file), writeRoadmap({ ...roadmap, items }, text));
  say(io, `${id} is not-started in ${file}. Commit and push it.`);
  note(io, `A run that works on it goes on: cancel it first (${io.program} list shows it).`);
  return EXIT.done;
}

async function replaceFile(file: string, text: string): Promise<void> {
  const next = `${file}.${randomUUID().slice(0, 8)}.tmp`;
  try {
    await writeFile(next, text, { flag: 'wx' });
    await rename(next, file);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}
