/** The command line: its commands and options. What they do lies in `cli/`, `serve.ts` and `doctor.ts`. */
import { readFileSync } from 'node:fs';
import {
  type Client,
  type Gate,
  type GateDecision,
  RUN_STATUSES,
  type RunConfigRequest,
  runConfigRequestSchema,
  type RunStatus,
  type RunView,
  shownAt,
  type TrustLevel,
  vouches,
} from '@autonomous/shared';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { connect } from './connection.ts';
import {
  answerOf,
  type BudgetOptions,
  extensionOf,
  openGate,
  readTextFile,
  statusOf,
  whatIsApproved,
} from './decide.ts';
import { personAtTerminal } from './dialog.ts';
import { CommandFailure, EXIT, exitCodeOf, explainError, UsageError } from './exit.ts';
import { type ExportOptions, exportRun } from './export.ts';
import { type Followed, followRun } from './follow.ts';
import { configFrom, decisionFrom, historyLine, readJson } from './fork.ts';
import { type CliIo, hasPerson, note, say, sayJson } from './io.ts';
import { migrate, type MigrateOptions } from './migrate.ts';
import { chooseProject } from './project.ts';
import { retryAll } from './retry-all.ts';
import { gateLine, runLine, runPage, type Shown, showOf, shownOptions } from './show.ts';
import { confirmFork, decidedGate, namedHashes, type ShownOptions, withConcerns } from './shown.ts';

/**
 * Carries out one command.
 * @param argv arguments without node and the program's file
 * @returns the exit code: 0 completed or done, 1 failed or needs a person, 2 limit reached, 64 usage
 */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  let exitCode: number = EXIT.done;
  const program = createProgram(io, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    // commander has written what it has to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const explained = explainError(error);
    note(io, explained.message);
    if (/^(?:debug|trace)$/.test(io.env['LOG_LEVEL'] ?? '') && error instanceof Error) note(io, error.stack ?? '');
    return explained.exitCode;
  }
}

function createProgram(io: CliIo, end: (exitCode: number) => void): Command {
  /** An action that gives the exit code. */
  const ending =
    <Args extends unknown[]>(work: (...args: Args) => Promise<number>) =>
    async (...args: Args): Promise<void> =>
      end(await work(...args));

  const program = new Command('autonomous')
    .description('Runs coding agents that plan, build and check, and asks you where you want to be asked.')
    .version(version(), '-V, --version')
    .usage('COMMAND [options]')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) })
    .showHelpAfterError(`Help: ${io.program} --help, or ${io.program} COMMAND --help`);
  const command = (usage: string, description: string) => program.command(usage).description(description);
  /** A command that speaks with a server. */
  const client = (usage: string, description: string) =>
    command(usage, description).option(
      '--server <url>',
      'address of the server; else AUTONOMOUS_SERVER, else this machine',
    );

  command('serve', 'starts the server')
    .option('--port <port>', 'where it listens; 0 chooses a free one (ORCHESTRATOR_PORT)')
    .option('--host <address>', 'address it listens on (ORCHESTRATOR_HOST)')
    .option('--data <folder>', 'folder of everything it keeps (AUTONOMOUS_DATA)')
    .option('--record <folder>', 'keeps a cassette of every run there (AUTONOMOUS_RECORD)')
    // Loaded when needed: a client needs none of the server's libraries.
    .action(ending(async (options: object) => (await import('./serve.ts')).serve(options, io)));
  command('doctor', 'says whether this machine has all that a run needs')
    .option('--json', 'one JSON object')
    .action(ending(async (options: object) => (await import('./doctor.ts')).doctor(options, io)));

  client('run [request...]', 'starts a run and follows it')
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
    .action(ending((request: string[], options: RunOptions) => run(io, request.join(' '), options)));
  client('watch [run]', 'follows a run; without its id the newest')
    .option('--json', 'events as JSON lines')
    .action(ending((runId: string | undefined, options: JsonOptions) => watch(io, runId, options)));

  /** A command that decides the gate that was shown. */
  const deciding = (usage: string, description: string) =>
    client(usage, description)
      .option('--gate <id>', 'the gate that was shown, as show and gates print it; refused while another one is open')
      .option('--hash <hash>', 'what it showed, from the same line; without it the terminal shows the gate and asks');
  deciding('approve <run>', 'approves the plan or the result that the run shows')
    .option('--notes <text>', 'kept with the approval')
    .option('--edit <file>', 'a corrected plan instead of the one shown')
    .action(ending((runId: string, options: ApproveOptions) => approve(io, runId, options)));
  deciding('reject <run>', 'sends the plan or the result back')
    .requiredOption('--feedback <text>', 'what should be different')
    .action(decision('reject', ({ feedback }: { feedback: string }) => ({ feedback })));
  deciding('answer <run> [response...]', 'answers a question: text, or options by number or words')
    .option('--file <path>', 'a file as answer; may be repeated', collect)
    .action(ending((runId: string, words: string[], options: AnswerOptions) => answer(io, runId, words, options)));
  deciding('ask <run> <question...>', 'asks the planner about its plan and prints the reply').action(
    ending((runId: string, words: string[], options: DecidingOptions) => ask(io, runId, words.join(' '), options)),
  );
  deciding('retry [run]', 'tries again after a pause or a failed validation')
    .option('--notes <text>', 'a hint for the next try')
    .option('--all', 'all paused runs, or those of --reason')
    .option('--reason <reason>', 'with --all: only runs that paused for this, such as model_unavailable')
    .action(ending((runId: string | undefined, options: RetryOptions) => retry(io, runId, options)));
  client('take <run> <files...>', "takes files of another run's result into the one that waits with its own")
    .requiredOption('--from <run>', 'the other run')
    .option('--feedback <text>', 'what the agent is to do with them; without a word they are only checked')
    .action(ending((runId: string, paths: string[], options: TakeOptions) => take(io, runId, paths, options)));
  deciding('accept <run>', 'takes a result although its validation failed')
    .requiredOption('--reason <text>', 'why; kept with the run')
    .action(decision('accept', ({ reason }: { reason: string }) => ({ reason })));
  client('extend <run> [minutes]', 'gives a stage more time, or a run another budget')
    .option('--gate <id>', 'the gate that was shown; refused while another one is open')
    .option('--max-cost-usd <dollars>', 'what the run may cost from its beginning; none: without a bound')
    .option('--max-tokens <count>', 'how many tokens it may use, or none')
    .option('--max-tool-calls <count>', 'how many tool calls it may make, or none')
    .option('--max-tree-cost-usd <dollars>', 'what the run, its forks and its exploration may cost together, or none')
    .option('--max-tree-tokens <count>', 'how many tokens they may use together, or none')
    .option('--max-tree-tool-calls <count>', 'how many tool calls they may make together, or none')
    .action(
      ending(async (runId: string, minutes: string | undefined, { server, gate, ...budgets }: ExtendOptions) => {
        const extended = await (
          await connect(io, server)
        ).decideOpenGate(runId, {
          decision: 'extend',
          ...extensionOf(minutes, budgets),
          ...(gate === undefined ? {} : { gateId: gate }),
        });
        say(io, `extended; the run is ${statusOf(extended)}`);
        return EXIT.done;
      }),
    );
  deciding('ignore <run>', 'leaves a question unanswered: the planner plans without it').action(
    decision('ignore', () => ({})),
  );
  client('message <run> <text...>', 'tells the agent of a run something; it is heard at its next step').action(
    ending(async (runId: string, words: string[], { server }: ServerOptions) => {
      const text = words.join(' ');
      if (text.trim() === '') throw new UsageError('There is no message; give it after the run.');
      const told = await (await connect(io, server)).sendMessage(runId, text);
      say(io, `said; the run is ${statusOf(told)}`);
      return EXIT.done;
    }),
  );
  client('cancel <run>', 'ends a run')
    .option('--reason <text>', 'kept with the run')
    .action(
      ending(async (runId: string, { server, reason }: ServerOptions & { reason?: string }) => {
        await (await connect(io, server)).cancelRun(runId, reason);
        say(io, 'cancelled');
        return EXIT.done;
      }),
    );

  client('migrate <run>', 'binds a run to another version of its workflow')
    .requiredOption('--to <version>', 'the version', numberFrom(1, 1_000_000))
    .action(ending((runId: string, options: MigrateOptions) => migrate(io, runId, options)));
  client('export <run>', 'writes all that can be read of a run as JSON, also of a damaged one')
    .option('--out <file>', 'where to; else to standard output')
    .option('--data <folder>', "data folder of a stopped server; else the server's own answer")
    .action(ending((runId: string, options: ExportOptions) => exportRun(io, runId, options)));
  command('verify', 'checks every stored event; a server may be running')
    .option('--data <folder>', "the server's data folder (AUTONOMOUS_DATA)")
    // Loaded when needed: a client needs no database.
    .action(ending(async (options: object) => (await import('./verify.ts')).verify(io, options)));

  client('list', 'lists runs, newest first')
    .addOption(new Option('--status <status>', 'only these').choices(RUN_STATUSES))
    .option('--limit <number>', 'how many, up to 200', numberFrom(1, 200), 20)
    .option('--json', 'one JSON line a run')
    .action(ending((options: ListOptions) => list(io, options)));
  client('gates', 'lists all that waits for a person')
    .option('--json', 'one JSON line a gate')
    .action(ending((options: JsonOptions) => gates(io, options)));
  client('sign-in', 'prints a link that signs one browser in to the dashboard, once').action(
    ending(async ({ server }: ServerOptions) => {
      say(io, await (await connect(io, server)).createSignInLink());
      return EXIT.done;
    }),
  );
  client('sign-out', 'signs every browser out of the dashboard').action(
    ending(async ({ server }: ServerOptions) => {
      const ended = await (await connect(io, server)).signOut({ everywhere: true });
      say(io, ended === 1 ? '1 browser was signed out.' : `${ended} browsers were signed out.`);
      return EXIT.done;
    }),
  );
  client('show <run>', 'shows a run')
    .option('--plan', 'its plan')
    .option('--report', 'its validation report')
    .option('--diff', 'its changes')
    .option('--statechart', 'where it is in its statechart, as a Mermaid diagram')
    .option('--at <event>', 'the run as it was after this event', numberFrom(1, Number.MAX_SAFE_INTEGER))
    .option('--json', 'the run as JSON')
    .action(ending((runId: string, options: ShowOptions) => show(io, runId, options)));
  client('history <run>', 'lists the events of a run, each with its number, time and type')
    .option('--json', 'one JSON line an event')
    .action(ending((runId: string, options: JsonOptions) => history(io, runId, options)));
  client('fork <run>', 'starts a new run where another was after one of its events')
    .requiredOption('--at <event>', 'number of that event, as history shows it', numberFrom(1, Number.MAX_SAFE_INTEGER))
    .option(
      '--model <role=model>',
      'another model for planner, implementer or validator; may be repeated',
      collectModels,
    )
    .option('--config <key=value>', 'another setting, such as trustMode.fixes=manual; may be repeated', collect)
    .option(
      '--answer <decision>',
      'decides the open gate: approve, retry, ignore, reject=…, accept=…, ask=…, extend=MINUTES, or an answer',
    )
    .option('--gate <id>', 'the gate that --answer is of, as show --at prints it')
    .option('--hash <hash>', 'what it showed, from the same line')
    .option('--request <text>', 'another request')
    .option('--detach', 'only start it')
    .option('--json', 'events as JSON lines; with --detach the run as JSON')
    .action(ending((runId: string, options: ForkOptions) => fork(io, runId, options)));
  client(
    'signal <run> <type> [payload]',
    'sends a signal that the workflow of a run declares; its payload is JSON or @FILE',
  ).action(
    ending(async (runId: string, type: string, payload: string | undefined, { server }: ServerOptions) => {
      const fields = payload === undefined ? {} : await readJson(io, payload, 'The payload');
      const after = await (await connect(io, server)).sendSignal(runId, { ...fields, type });
      say(io, `${type}; the run is ${statusOf(after)}`);
      return EXIT.done;
    }),
  );
  return program;

  /** The action of a command that decides the open gate with nothing but its options. */
  function decision<Options>(
    kind: GateDecision['decision'],
    fields: (options: Options) => Omit<GateDecision, 'decision'>,
  ) {
    return ending(async (runId: string, options: DecidingOptions & Options) => {
      const server = await connect(io, options.server);
      const rest = kind === 'accept' ? ' --reason "…"' : '';
      const { gate, shown } = await decidedGate(server, io, { runId, decision: kind, rest }, options);
      const decided = await server.decideGate(gate.id, { decision: kind, ...fields(options), ...shown });
      say(io, `${kind}: ${gate.summary}\nthe run is ${statusOf(decided)}`);
      return EXIT.done;
    });
  }
}

interface ServerOptions {
  readonly server?: string;
}
interface DecidingOptions extends ServerOptions, ShownOptions {}
interface RetryOptions extends DecidingOptions {
  readonly notes?: string;
  readonly all?: boolean;
  readonly reason?: string;
}
interface TakeOptions extends ServerOptions {
  readonly from: string;
  readonly feedback?: string;
}
interface ExtendOptions extends ServerOptions, BudgetOptions {
  readonly gate?: string;
}
interface JsonOptions extends ServerOptions {
  readonly json?: boolean;
}
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
interface ApproveOptions extends DecidingOptions {
  readonly notes?: string;
  readonly edit?: string;
}
interface AnswerOptions extends DecidingOptions {
  readonly file?: readonly string[];
}
interface ListOptions extends JsonOptions {
  readonly status?: RunStatus;
  readonly limit: number;
}
interface ForkOptions extends JsonOptions, ShownOptions {
  readonly at: number;
  readonly model?: Readonly<Record<string, string>>;
  readonly config?: readonly string[];
  readonly answer?: string;
  readonly request?: string;
  readonly detach?: boolean;
}

interface ShowOptions extends JsonOptions, Partial<Readonly<Record<Shown, boolean>>> {
  readonly at?: number;
  readonly statechart?: boolean;
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

/** A run that was just started: told of or followed. */
async function followStarted(
  io: CliIo,
  client: Client,
  launched: RunView,
  name: string,
  options: { readonly detach?: boolean; readonly json?: boolean },
): Promise<number> {
  if (options.detach) {
    if (options.json) sayJson(io, launched);
    else say(io, `${launched.id}\n${name}: ${statusOf(launched)}; follow it with: ${io.program} watch ${launched.id}`);
    return EXIT.done;
  }
  const atGate = hasPerson(io) && !options.json ? personAtTerminal(client, io) : 'end';
  const json = options.json ?? false;
  return endOf(io, await followRun({ client, io, runId: launched.id, json, atGate }), json);
}

/** On a terminal it shows what others decide until the run ends; a script gets its turn back when a person is needed. */
async function watch(io: CliIo, given: string | undefined, options: JsonOptions): Promise<number> {
  const client = await connect(io, options.server);
  const runId = given ?? (await client.listRuns({ limit: 1 })).items[0]?.id;
  if (runId === undefined) throw new UsageError('There is no run to watch.');
  const json = options.json ?? false;
  const followed = await followRun({ client, io, runId, json, atGate: hasPerson(io) && !json ? 'wait' : 'end' });
  return endOf(io, followed, json);
}

/** What the person can do next, and the exit code. */
function endOf(io: CliIo, { run: last, interrupted }: Followed, json: boolean): number {
  if (!json) {
    if (interrupted) note(io, `The run goes on. Follow it with: ${io.program} watch ${last.id}`);
    else if (last.gate) for (const line of [...wayOn(io, last.gate), ...concernsAt(last.gate)]) say(io, line);
  }
  return exitCodeOf(last);
}

function wayOn(io: CliIo, gate: Gate): readonly string[] {
  const start = `  ${io.program}`;
  const shown = ` ${shownOptions(gate)}`;
  const look: Readonly<Record<string, readonly string[]>> = {
    plan: [`${start} show ${gate.runId} --plan`],
    implementation: [`${start} show ${gate.runId} --diff`],
    fix: [`${start} show ${gate.runId} --report`],
  };
  const rest: Readonly<Record<GateDecision['decision'], string>> = {
    approve: `${shown}${gate.kind === 'invalid_plan' ? ' --edit FILE' : gate.kind === 'escalation' ? ' --notes "…"' : ''}`,
    reject: ' --feedback "…"',
    answer: gate.question?.responseType === 'file_upload' ? ' --file PATH' : ' "…"',
    ignore: '',
    ask: ' "…"',
    retry: '',
    accept: `${shown} --reason "…"`,
    extend: ' MINUTES',
  };
  return [...(look[gate.kind] ?? []), ...gate.decisions.map((kind) => `${start} ${kind} ${gate.runId}${rest[kind]}`)];
}

/** The hash of the lines above covers them. */
function concernsAt(gate: Gate): readonly string[] {
  const decision = gate.decisions.find(vouches);
  const text = decision === undefined ? '' : withConcerns(gate, decision);
  return text === '' ? [] : [text.slice(1)];
}

async function approve(io: CliIo, runId: string, options: ApproveOptions): Promise<number> {
  const edited = options.edit === undefined ? undefined : await readTextFile(io, options.edit);
  const client = await connect(io, options.server);
  const { gate, shown } = await decidedGate(client, io, { runId, decision: 'approve' }, options);
  say(io, `approve: ${whatIsApproved(gate)}`);
  const approved = await client.decideGate(gate.id, {
    decision: 'approve',
    ...shown,
    notes: options.notes,
    editedPlan: edited,
  });
  say(io, `the run is ${statusOf(approved)}`);
  return EXIT.done;
}

async function answer(io: CliIo, runId: string, words: readonly string[], options: AnswerOptions): Promise<number> {
  const files = options.file ?? [];
  if (words.length === 0 && files.length === 0)
    throw new UsageError('There is no answer; give it after the run, or --file PATH.');
  const client = await connect(io, options.server);
  const { gate, shown } = await decidedGate(client, io, { runId, decision: 'answer' }, options);
  const decision = await answerOf(client, io, gate.question, { words, files });
  const answered = await client.decideGate(gate.id, { ...decision, ...shown });
  say(io, `answer: ${gate.summary}\nthe run is ${statusOf(answered)}`);
  return EXIT.done;
}

async function retry(io: CliIo, runId: string | undefined, options: RetryOptions): Promise<number> {
  const { all = false, reason, notes } = options;
  if (all) {
    if (runId !== undefined || notes !== undefined)
      throw new UsageError('--all retries every paused run: leave the run and --notes out.');
    return retryAll(io, await connect(io, options.server), reason);
  }
  if (runId === undefined) throw new UsageError('Name the run to retry, or give --all.');
  if (reason !== undefined) throw new UsageError('--reason goes with --all.');
  const client = await connect(io, options.server);
  const { gate, shown } = await decidedGate(client, io, { runId, decision: 'retry' }, options);
  const decided = await client.decideGate(gate.id, { decision: 'retry', notes, ...shown });
  say(io, `retry: ${gate.summary}\nthe run is ${statusOf(decided)}`);
  return EXIT.done;
}

/** At the gate of a result, or at that of a failed validation: the files come in, and the result is checked anew. */
async function take(io: CliIo, runId: string, paths: readonly string[], options: TakeOptions): Promise<number> {
  const client = await connect(io, options.server);
  const isFailed = (await client.getRun(runId)).gate?.kind === 'fix';
  const gate = await openGate(client, runId, isFailed ? 'retry' : 'reject');
  const { to } = await client.getDiff(options.from);
  const { feedback } = options;
  const taken = await client.decideGate(gate.id, {
    decision: isFailed ? 'retry' : 'reject',
    take: { runId: options.from, commit: to, paths },
    ...(feedback === undefined ? {} : { [isFailed ? 'notes' : 'feedback']: feedback }),
  });
  say(io, `take: ${paths.join(', ')} from run ${options.from}\nthe run is ${statusOf(taken)}`);
  return EXIT.done;
}

async function ask(io: CliIo, runId: string, question: string, options: DecidingOptions): Promise<number> {
  const client = await connect(io, options.server);
  const gate = await openGate(client, runId, 'ask');
  // It decides nothing: nobody has to be asked whether they mean it.
  const asked = await client.decideGate(options.gate ?? gate.id, { decision: 'ask', question });
  await followRun({ client, io, runId, json: false, atGate: 'end', after: asked.lastSequence });
  return EXIT.done;
}

async function list(io: CliIo, { server, status, limit, json }: ListOptions): Promise<number> {
  const { items } = await (await connect(io, server)).listRuns({ limit, status });
  for (const item of items)
    if (json) sayJson(io, item);
    else say(io, runLine(item));
  if (items.length === 0 && !json) note(io, 'There are no such runs.');
  return EXIT.done;
}

async function gates(io: CliIo, { server, json }: JsonOptions): Promise<number> {
  const open = await (await connect(io, server)).listGates();
  for (const gate of open)
    if (json) sayJson(io, gate);
    else say(io, gateLine(gate));
  if (open.length === 0 && !json) note(io, 'Nothing waits for a person.');
  return EXIT.done;
}

async function history(io: CliIo, runId: string, { server, json }: JsonOptions): Promise<number> {
  const client = await connect(io, server);
  const { lastSequence } = await client.getRun(runId);
  for (let after = 0; after < lastSequence;) {
    const events = await client.listEvents(runId, after, 1_000);
    for (const event of events)
      if (json) sayJson(io, event);
      else say(io, historyLine(event, String(lastSequence).length));
    const last = events.at(-1);
    if (!last) break;
    after = last.sequence;
  }
  return EXIT.done;
}

async function fork(io: CliIo, runId: string, options: ForkOptions): Promise<number> {
  const { at, model = {}, config = [], answer: decision, request } = options;
  const change = configFrom(config, model);
  const wanted = {
    at,
    ...(Object.keys(change).length === 0 ? {} : { config: change }),
    ...(request === undefined ? {} : { request }),
  };
  const client = await connect(io, options.server);
  const answer =
    decision === undefined ? undefined : await answerThen(client, io, runId, at, decisionFrom(decision), options);
  const forked = await client.forkRun(runId, answer === undefined ? wanted : { ...wanted, answer });
  if (!options.json && !options.detach) say(io, `run ${forked.id}, forked from ${runId} at event ${at}`);
  return followStarted(io, client, forked, `fork of ${runId}`, options);
}

/** The answer of a fork, bound to the gate that was open after the event and what that gate showed. */
async function answerThen(
  client: Client,
  io: CliIo,
  runId: string,
  at: number,
  answer: GateDecision,
  given: ShownOptions,
): Promise<GateDecision> {
  const hashes = namedHashes(given);
  if (given.gate !== undefined) return { ...answer, gateId: given.gate, ...hashes };
  const { gate } = await client.getRun(runId, at);
  // The server says why there is nothing to decide.
  if (gate === null || !vouches(answer.decision)) return answer;
  if (hasPerson(io)) {
    await confirmFork(client, io, gate, answer.decision);
    return { ...answer, ...shownAt(gate) };
  }
  throw new CommandFailure(
    `Nobody at a terminal has seen what the fork would ${answer.decision}: ${gate.summary}. Look at it with ${io.program} show ${runId} --at ${at}, then add:\n  ${shownOptions(gate)}${withConcerns(gate, answer.decision)}`,
  );
}

async function show(
  io: CliIo,
  runId: string,
  { server, json, at, statechart, ...wanted }: ShowOptions,
): Promise<number> {
  const client: Client = await connect(io, server);
  if (statechart) {
    const chart = await client.getStatechart(runId, at);
    if (json) sayJson(io, chart);
    else say(io, chart.mermaid);
    return EXIT.done;
  }
  const parts = (['plan', 'report', 'diff'] as const).filter((part) => wanted[part]);
  if (at !== undefined && parts.length > 0)
    throw new UsageError(`--at shows the run as it was; --${parts[0]} is always the newest one. Give one of the two.`);
  for (const part of parts) say(io, await showOf(client, runId, part));
  if (parts.length > 0) return EXIT.done;
  const found = await client.getRun(runId, at);
  if (json) sayJson(io, found);
  else say(io, runPage(found));
  return EXIT.done;
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

async function readConfigFile(io: CliIo, path: string): Promise<RunConfigRequest> {
  const text = await readTextFile(io, path);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${path} is no JSON: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  const parsed = runConfigRequestSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `  ${issue.path.join('.') || 'the whole'}: ${issue.message}`);
  throw new UsageError(`${path} is no run configuration:\n${faults.join('\n')}`);
}

function trust(flag: string, what: string): Option {
  return new Option(`${flag} <mode>`, `manual asks you about ${what}, auto goes on`).choices(['auto', 'manual']);
}

const ROLES = ['planner', 'implementer', 'validator'];

function collectModels(
  value: string,
  before: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const at = value.indexOf('=');
  const role = value.slice(0, Math.max(0, at));
  const model = value.slice(at + 1);
  if (!ROLES.includes(role) || model === '') {
    throw new InvalidArgumentError(
      `Write ROLE=MODEL with one of ${ROLES.join(', ')}, such as planner=anthropic:claude-sonnet-4-5.`,
    );
  }
  return { ...before, [role]: model };
}

function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

function numberFrom(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < min || number > max) {
      throw new InvalidArgumentError(`A whole number from ${min} to ${max} is needed.`);
    }
    return number;
  };
}

function version(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}
