/** The command `plan run`: carries out a plan in phases, and resumes one that waits. */
import { execFile } from 'node:child_process';
import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import {
  type Client,
  FINAL_STATUSES,
  type Gate,
  type Project,
  type RunConfigRequest,
  type RunView,
} from '@autonomous/shared';
import { type CheckCommands, findCheckCommands } from '../../artifacts/check-commands.ts';
import { type PlanDocument, readPlan, wavesOf } from '../../workflows/phased-plan/plan-file.ts';
import { collectModels, type CommandLine, type JsonOptions, numberFrom } from '../command-line.ts';
import { connect } from '../connection.ts';
import { CommandFailure, EXIT, exitCodeOf, UsageError } from '../exit.ts';
import { followFamily, openChildren } from '../follow-family.ts';
import { readConfigFile, readTextFile } from '../input-files.ts';
import { type CliIo, note, say, sayJson } from '../io.ts';
import { chooseProject } from '../project.ts';
import { statusOf } from '../run-texts.ts';

const execute = promisify(execFile);

const WORKFLOW = 'phased-plan';
const BLOCKED = 'phase_blocked';

interface PlanOptions extends JsonOptions {
  readonly project?: string;
  readonly resume?: boolean;
  readonly guidance?: string;
  readonly maxIterations?: number;
  readonly maxRetries?: number;
  readonly test?: string;
  /** `false`: none, also where the project has one. */
  readonly lint?: string | false;
  readonly autoMerge?: boolean;
  readonly squash?: boolean;
  readonly base?: string;
  readonly model?: Readonly<Record<string, string>>;
  readonly config?: string;
  readonly dryRun?: boolean;
  readonly detach?: boolean;
}

export function addPlan(line: CommandLine): void {
  const plan = line.command('plan', 'carries out plans in phases').usage('run FILE [options]');
  plan
    .command('run <file>')
    .description('carries out a plan in Markdown, phase by phase')
    .option('--server <url>', 'address of the server; else AUTONOMOUS_SERVER, else this machine')
    .option('--project <project>', 'id, name, path or URL; else the repository you stand in')
    .option('--resume', 'goes on with the run of this plan that waits: what you fixed by hand is verified first')
    .option('--guidance <text>', 'with --resume: a hint for the next attempt at a blocked phase')
    .option('--max-iterations <count>', 'calls of agents that write code, in all phases; else 50', numberFrom(1, 1_000))
    .option('--max-retries <count>', 'retries a phase before you are asked; else 3', numberFrom(0, 20))
    .option('--test <command>', "test command; else found in the project's files")
    .option('--lint <command>', "lint command; else found in the project's files")
    .option('--no-lint', 'no lint command, also where the project has one')
    .option('--auto-merge', 'merge when all phases are done')
    .option('--squash', 'with --auto-merge: one commit instead of one for each phase')
    .option('--base <branch>', 'branch to start from and to merge into')
    .option('--model <role=model>', 'model of a role; may be repeated', collectModels)
    .option('--config <file>', 'run configuration in JSON; options win over it')
    .option('--dry-run', 'only show the phases, their order and the commands; needs no server')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach or --dry-run one JSON object')
    .action(line.ending((file: string, options: PlanOptions) => runPlan(line.io, file, options)));
}

async function runPlan(io: CliIo, file: string, options: PlanOptions): Promise<number> {
  if (options.guidance !== undefined && !options.resume)
    throw new UsageError('--guidance goes with --resume: it is for a phase that is blocked.');
  const text = await readTextFile(io, file);
  const read = readPlan(text);
  if (!read.ok) throw new UsageError([`${file} cannot be carried out:`, ...read.faults].join('\n  '));
  const planPath = await pathOf(io, file);
  if (options.dryRun) return showPlan(io, planPath, read.plan, options);
  const client = await connect(io, options.server);
  const project = await chooseProject(client, io, options.project);
  const open = await openRunOf(client, project, planPath);
  if (options.resume) return resume(io, client, planPath, open, options);
  if (open !== undefined)
    throw new UsageError(
      `Run ${open.id} carries out ${planPath} already (${statusOf(open)}). Go on with it: add --resume. Or cancel it: ${io.program} cancel ${open.id}`,
    );
  const launched = await client.launchRun({
    projectId: project.id,
    workflow: WORKFLOW,
    request: requestOf(planPath),
    config: await configOf(io, options),
    input: {
      planPath,
      plan: text,
      ...(options.maxRetries === undefined ? {} : { maxRetries: options.maxRetries }),
      ...(options.maxIterations === undefined ? {} : { maxIterations: options.maxIterations }),
      ...(options.squash ? { commits: 'squash' } : {}),
      ...(options.test === undefined ? {} : { test: options.test }),
      ...(typeof options.lint === 'string' ? { lint: options.lint } : {}),
    },
  });
  if (options.detach) {
    if (options.json) sayJson(io, launched);
    else say(io, `${launched.id}\nFollow it with: ${io.program} plan run ${file} --resume`);
    return EXIT.done;
  }
  if (!options.json) say(io, `run ${launched.id} on ${project.name}: ${read.plan.phases.length} phases of ${planPath}`);
  return follow(io, client, launched.id, options);
}

/** Decides what waits, and follows on. */
async function resume(
  io: CliIo,
  client: Client,
  planPath: string,
  open: RunView | undefined,
  { guidance, ...options }: PlanOptions,
): Promise<number> {
  if (open === undefined)
    throw new UsageError(`No run of ${planPath} waits or is under way. Leave --resume out to start one.`);
  const toldUpTo = (await client.listEvents(open.id, Math.max(0, open.lastSequence - 1), 1))[0]?.position ?? 0;
  const runs = [...(await openChildren(client, open.id)), open];
  const gates = runs.flatMap(({ gate }) => (gate?.decisions.includes('retry') === true ? [gate] : []));
  if (guidance !== undefined && gates.length === 0)
    throw new CommandFailure(
      `Nothing of ${planPath} is blocked or paused, so that nobody takes the guidance. Leave --guidance out.`,
    );
  for (const { id, kind } of gates)
    await client.decideGate(
      id,
      kind === BLOCKED && guidance !== undefined
        ? { decision: 'reject', feedback: guidance }
        : { decision: 'retry', ...(guidance === undefined ? {} : { notes: guidance }) },
    );
  if (options.detach) {
    say(io, `${open.id} goes on`);
    return EXIT.done;
  }
  return follow(io, client, open.id, options, toldUpTo);
}

async function follow(
  io: CliIo,
  client: Client,
  runId: string,
  { json = false }: PlanOptions,
  toldUpTo?: number,
): Promise<number> {
  const options = { client, io, runId, json, ...(toldUpTo === undefined ? {} : { toldUpTo }) };
  const { run, gates, interrupted } = await followFamily(options);
  if (json) return exitCode(run, gates);
  if (interrupted) note(io, `The run continues. Follow it with: ${io.program} watch ${runId}`);
  else for (const gate of gates) say(io, wayOn(io, gate));
  if (run.status === 'completed') say(io, 'ALL_PHASES_COMPLETE');
  return exitCode(run, gates);
}

function exitCode(run: RunView, gates: readonly Gate[]): number {
  const isLimit = gates.some(({ summary }) => summary.includes('iterations is reached'));
  return isLimit ? EXIT.limit : exitCodeOf(run);
}

function wayOn(io: CliIo, gate: Gate): string {
  // Its own message names the ways on.
  if (gate.kind === BLOCKED) return `  ${io.program} show ${gate.runId} --diff`;
  return [gate.summary, ...gate.decisions.map((decision) => `  ${io.program} ${decision} ${gate.runId}`)].join('\n');
}

/** The newest run of a plan that has not ended. */
async function openRunOf(client: Client, project: Project, planPath: string): Promise<RunView | undefined> {
  for (let cursor: string | undefined; ;) {
    const page = await client.listRuns({ projectId: project.id, limit: 200, cursor });
    const found = page.items.find(
      ({ workflow, status, originalRequest }) =>
        workflow.name === WORKFLOW && !FINAL_STATUSES.has(status) && originalRequest === requestOf(planPath),
    );
    if (found !== undefined || page.nextCursor === null) return found;
    cursor = page.nextCursor;
  }
}

function requestOf(planPath: string): string {
  return `Carry out ${planPath}`;
}

/** Path of the plan in its repository; where it lies in none, as the person named it. */
async function pathOf(io: CliIo, file: string): Promise<string> {
  const absolute = await realpath(path.resolve(io.cwd, file));
  const top = await topOf(path.dirname(absolute));
  return top === null ? file : path.relative(top, absolute).split(path.sep).join('/');
}

async function topOf(folder: string): Promise<string | null> {
  return execute('git', ['-C', folder, 'rev-parse', '--show-toplevel']).then(
    ({ stdout }) => stdout.trimEnd(),
    () => null,
  );
}

async function configOf(io: CliIo, options: PlanOptions): Promise<RunConfigRequest> {
  const file = options.config === undefined ? {} : await readConfigFile(io, options.config);
  const git = {
    ...file.git,
    ...(options.autoMerge === undefined ? {} : { autoMerge: options.autoMerge }),
    ...(options.base === undefined ? {} : { baseBranch: options.base }),
  };
  return {
    ...file,
    ...(Object.keys(git).length === 0 ? {} : { git }),
    ...(options.model === undefined ? {} : { modelRouting: { ...file.modelRouting, ...options.model } }),
    ...(options.lint === false ? { commands: { ...file.commands, lint: null } } : {}),
  };
}

// ---- dry run

async function showPlan(io: CliIo, planPath: string, plan: PlanDocument, options: PlanOptions): Promise<number> {
  const waves = wavesOf(plan.phases);
  const found = await commandsHere(io);
  const test = options.test ?? found.test?.command ?? null;
  const lint = options.lint === false ? null : (options.lint ?? found.lint?.command ?? null);
  if (options.json) {
    sayJson(io, { planPath, ...plan, waves, test, lint }, 2);
    return EXIT.done;
  }
  say(io, `${planPath}${plan.title === null ? '' : `: ${plan.title}`}`);
  for (const { number, title, dependsOn, criteria } of plan.phases) {
    const after = dependsOn.length === 0 ? 'depends on none' : `after ${dependsOn.join(', ')}`;
    const items = `${criteria.length} success ${criteria.length === 1 ? 'criterion' : 'criteria'}`;
    say(io, `  Phase ${number}${title === '' ? '' : `: ${title}`} (${after}; ${items})`);
  }
  say(io, `Order: ${waves.map((wave) => wave.join(' and ')).join(', then ')}`);
  say(io, `Test: ${test ?? 'not found here: you will be asked'}`);
  say(io, `Lint: ${lint ?? (options.lint === false ? 'none' : 'none found here')}`);
  say(io, 'Nothing was started.');
  return EXIT.done;
}

/** The commands that the files of this working tree name. */
async function commandsHere({ cwd }: CliIo): Promise<CheckCommands> {
  const top = await topOf(cwd);
  if (top === null) return { test: null, lint: null };
  const { stdout } = await execute('git', ['-C', top, 'ls-files', '-z'], { maxBuffer: 256 * 1024 * 1024 });
  const files = stdout.split('\0').filter((name) => name !== '');
  return findCheckCommands(files, (name) => readFile(path.join(top, name), 'utf8').catch(() => null));
}
