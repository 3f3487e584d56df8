/** The command `plan run`: carries out a plan in phases, and resumes one that waits. */
import type { Gate, NewRun, Project, RunView } from '@autonomous/shared';
import { type Client, MAX_JSON_BYTES } from '@autonomous/shared/client';
import { readPlan, repositoryPath, wavesOf } from '../../../workflows/phased-plan/plan-file.ts';
import { findProjectChecks } from '../../../workflows/phased-plan/project-checks.ts';
import { type CommandLine, numberFrom } from '../../command-line.ts';
import { connect } from '../../connection.ts';
import { CommandFailure, EXIT, exitCodeOf, UsageError } from '../../exit.ts';
import { followFamily, openChildren } from '../../follow/follow-family.ts';
import { gateLines } from '../../gates/gate-lines.ts';
import { readTextFile } from '../../launch/input-files.ts';
import { type CliIo, note, say, sayJson } from '../../io.ts';
import { findOpenRun, inputOf } from '../../launch/open-run.ts';
import { placeOf, type PlanPlace, showPlan } from '../../launch/plan-outline.ts';
import { findProject, launchOn } from '../../project.ts';
import { addRunOptions, configOf, type RunOptions } from '../../launch/run-options.ts';
import { leftLine, statusOf } from '../../run-texts.ts';
import { workflowOfRun } from '../../run-workflow.ts';

const WORKFLOW = 'phased-plan';
const BLOCKED = 'phase_blocked';

interface PlanOptions extends RunOptions {
  readonly resume?: boolean;
  readonly guidance?: string;
  readonly maxIterations?: number;
  readonly maxRetries?: number;
  readonly test?: string;
  /** `false`: none, also where the project has one. */
  readonly lint?: string | false;
  readonly squash?: boolean;
  readonly dryRun?: boolean;
}

export function addPlan(line: CommandLine): void {
  const plan = line
    .command('plan', 'carries out a plan in Markdown phase by phase: plan run')
    .usage('run FILE [options]');
  const run = plan
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
    .option('--squash', 'where the result is merged: one commit instead of one for each phase')
    .option('--dry-run', 'only show the phases, their order and the commands; needs no server');
  addRunOptions(run, 'when all phases are done').action(
    line.ending((file: string, options: PlanOptions) => runPlan(line.io, file, options)),
  );
}

async function runPlan(io: CliIo, file: string, options: PlanOptions): Promise<number> {
  if (options.guidance !== undefined && !options.resume)
    throw new UsageError('--guidance goes with --resume: it is for a phase that is blocked.');
  if (options.resume) refuseWithResume(options);
  const text = await readTextFile(io, file);
  const read = readPlan(text);
  if (!read.ok) throw new UsageError([`${file} cannot be carried out:`, ...read.faults].join('\n  '));
  const place = await placeOf(io, file);
  const { planPath } = place;
  const asked = await configOf(io, options);
  const config = options.lint === false ? { ...asked, commands: { ...asked.commands, lint: null } } : asked;
  if (options.squash && config.git?.autoMerge !== true)
    note(
      io,
      "--squash has an effect only where the result is merged. Add --auto-merge, unless git.autoMerge of the project's configuration says so.",
    );
  if (options.dryRun) {
    const outline = { planPath, ...read.plan, waves: wavesOf(read.plan.phases) };
    return showPlan(io, outline, { ...options, configured: config.commands, findChecks: findProjectChecks });
  }
  const client = await connect(io, options.server);
  const project = await findProject(client, io, options.project);
  const open = 'id' in project ? await openRunOf(client, project, planPath) : undefined;
  if (options.resume) return resume(io, client, planPath, open, options);
  if (open !== undefined)
    throw new UsageError(
      `Run ${open.id} carries out ${planPath} already (${statusOf(open)}). Go on with it: add --resume. Or cancel it: ${io.program} cancel ${open.id}`,
    );
  const launched = await launchOn(
    client,
    io,
    options.project,
    project,
    withinLimit(io, place, {
      workflow: WORKFLOW,
      request: `Carry out ${planPath}`,
      config,
      input: {
        planPath,
        plan: text,
        ...(options.maxRetries === undefined ? {} : { maxRetries: options.maxRetries }),
        ...(options.maxIterations === undefined ? {} : { maxIterations: options.maxIterations }),
        ...(options.squash ? { commits: 'squash' } : {}),
        ...(options.test === undefined ? {} : { test: options.test }),
        ...(typeof options.lint === 'string' ? { lint: options.lint } : {}),
      },
    }),
  );
  if (options.detach) {
    if (options.json) sayJson(io, launched);
    else say(io, `${launched.id}\nFollow it with: ${io.program} plan run ${file} --resume`);
    return EXIT.done;
  }
  if (!options.json) say(io, `run ${launched.id} on ${project.name}: ${read.plan.phases.length} phases of ${planPath}`);
  return follow(io, client, launched.id, options);
}

/** Options that only the start of a run takes. */
const START_OPTIONS = {
  maxIterations: '--max-iterations',
  maxRetries: '--max-retries',
  test: '--test',
  lint: '--lint',
  autoMerge: '--auto-merge',
  pullRequest: '--pull-request',
  squash: '--squash',
  base: '--base',
  model: '--model',
  config: '--config',
} as const satisfies { readonly [Name in keyof PlanOptions]?: string };

/** @throws {UsageError} naming the options that have no effect with `--resume` */
function refuseWithResume(options: PlanOptions): void {
  if (options.dryRun)
    throw new UsageError('--dry-run starts nothing, and --resume goes on with a run. Leave one of them out.');
  const given = { ...START_OPTIONS, ...(options.lint === false ? { lint: '--no-lint' } : {}) };
  const names = Object.entries(given).flatMap(([name, option]) => (Object.hasOwn(options, name) ? [option] : []));
  if (names.length === 0) return;
  const [have, them] = names.length === 1 ? ['has', 'it'] : ['have', 'them'];
  throw new UsageError(
    `${names.join(', ')} ${have} no effect with --resume: the run keeps what it was started with. Leave ${them} out.`,
  );
}

/**
 * The request as it can be sent: without the text of a plan that is too long for one request, which the server then reads from the
 * repository.
 * @throws {UsageError} where the plan lies in no repository
 */
function withinLimit(io: CliIo, { planPath, top }: PlanPlace, request: NewRun): NewRun {
  const bytes = Buffer.byteLength(JSON.stringify(request));
  if (bytes <= MAX_JSON_BYTES) return request;
  const why = `${planPath} is too long to be sent: the request would have ${bytes.toLocaleString('en')} bytes, and at most ${MAX_JSON_BYTES.toLocaleString('en')} are taken.`;
  if (top === null)
    throw new UsageError(`${why} Commit the plan to the repository of the project, push it, and name it there.`);
  note(io, `${why} The run reads it from the base branch instead: commit it and push it there.`);
  const { plan: _text, ...input } = request.input ?? {};
  return { ...request, input };
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
  const rebuilt = gates.find(({ reason }) => reason === 'rebuilt');
  if (rebuilt !== undefined)
    throw new CommandFailure(
      `Run ${rebuilt.runId} comes from a record in git that others could have written. Look at what applies with "show ${rebuilt.runId}", then "retry ${rebuilt.runId}".`,
    );
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
    if (options.json) sayJson(io, await client.getRun(open.id));
    else say(io, `${open.id} goes on`);
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
  if (!json) {
    if (interrupted) note(io, leftLine(runId, gates, io.program));
    for (const gate of gates) for (const line of await linesOf(io, client, gate)) say(io, line);
    if (run.status === 'completed') say(io, 'ALL_PHASES_COMPLETE');
  }
  for (const gate of gates) if (await isAtLimit(client, gate)) return EXIT.limit;
  return exitCodeOf(run);
}

/** Has the limit of iterations opened the gate? */
async function isAtLimit(client: Client, { kind, runId, summary, details }: Gate): Promise<boolean> {
  // The pause of a plan has its reason in words alone.
  if (kind !== BLOCKED) return /cannot be used: the limit of \d{1,10} iterations is reached/.test(summary);
  // A phase with retries left is blocked by nothing else.
  const { attempts } = details;
  const { maxRetries } = await inputOf(client, runId);
  return Array.isArray(attempts) && typeof maxRetries === 'number' && attempts.length <= maxRetries;
}

/** Lines about an open gate: its summary, and the commands that decide it. Lines of other phases may have followed its own. */
async function linesOf(io: CliIo, client: Client, gate: Gate): Promise<readonly string[]> {
  const run = await client.getRun(gate.runId);
  return [gate.summary, ...gateLines(io, gate, { run, workflow: await workflowOfRun(client, run) })];
}

/** Finds the newest open run of a plan by the path in its input. Anybody may have launched it. */
async function openRunOf(client: Client, project: Project, planPath: string): Promise<RunView | undefined> {
  const wanted = repositoryPath(planPath);
  return findOpenRun(
    client,
    { projectId: project.id, workflow: WORKFLOW },
    ({ planPath: given }) => typeof given === 'string' && repositoryPath(given) === wanted,
  );
}
