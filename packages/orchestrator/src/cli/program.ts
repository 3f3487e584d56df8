/** The program `autonomous`: puts its commands together, carries out one, and turns its end into an exit code. */
import { ApiError, ServerUnreachable } from '@autonomous/shared/client';
import { Command, CommanderError, Help } from 'commander';
import { programVersion } from '../event-store/program-version.ts';
import { type CommandLine, createCommandLine } from './command-line.ts';
import { addAccept } from './commands/decisions/accept.ts';
import { addAnswer } from './commands/decisions/answer.ts';
import { addApprove } from './commands/decisions/approve.ts';
import { addAsk } from './commands/decisions/ask.ts';
import { addCancel } from './commands/cancel.ts';
import { addClean } from './commands/clean.ts';
import { addClose } from './commands/decisions/close.ts';
import { addDoctor } from './commands/doctor.ts';
import { addCompile } from './commands/compile.ts';
import { addExport } from './commands/export.ts';
import { addExtend } from './commands/extend.ts';
import { addFork } from './commands/launch/fork.ts';
import { addGates } from './commands/gates.ts';
import { addHistory } from './commands/history.ts';
import { addHook } from './commands/hook.ts';
import { addIgnore } from './commands/decisions/ignore.ts';
import { addInit } from './commands/init.ts';
import { addKeys } from './commands/keys.ts';
import { addList } from './commands/list.ts';
import { addMessage } from './commands/message.ts';
import { addMigrate } from './commands/migrate.ts';
import { addBacklog } from './commands/launch/backlog.ts';
import { addPause } from './commands/pause.ts';
import { addPlan } from './commands/launch/plan.ts';
import { addRebuild } from './commands/rebuild.ts';
import { addReject } from './commands/decisions/reject.ts';
import { addContinue } from './commands/launch/continue.ts';
import { addRetry } from './commands/decisions/retry.ts';
import { addFullAuto, addResearch, addResearchAndPlan } from './commands/launch/topics.ts';
import { addRoadmap } from './commands/roadmap.ts';
import { addRun } from './commands/launch/run.ts';
import { addServe } from './commands/serve.ts';
import { addShow } from './commands/show.ts';
import { addSignIn } from './commands/sign-in.ts';
import { addSignOut } from './commands/sign-out.ts';
import { addSignal } from './commands/signal.ts';
import { addTake } from './commands/decisions/take.ts';
import { addServersCommands } from './commands/launch/servers-command.ts';
import { addVerify } from './commands/verify.ts';
import { addWatch } from './commands/watch.ts';
import { addWorkflow } from './commands/workflow.ts';
import { wayToServer } from './connection.ts';
import { CommandFailure, EXIT, explainError } from './exit.ts';
import { printable } from './follow/timeline.ts';
import { type CliIo, note } from './io.ts';
import { refusePlaceholders } from './placeholders.ts';
import { misspeltVariables } from '../server-setup/misspelt-variables.ts';

/** Headings of the help, each with its commands in the order in which it lists them. */
const GROUPS: Readonly<Record<string, readonly ((line: CommandLine) => void)[]>> = {
  'Set up': [addServe, addDoctor, addInit, addKeys, addSignIn, addSignOut],
  'Write workflows': [addWorkflow],
  'Start work': [
    addRun,
    addPlan,
    addBacklog,
    addRoadmap,
    addResearch,
    addResearchAndPlan,
    addFullAuto,
    addContinue,
    addHook,
  ],
  'See what happens': [addList, addGates, addShow, addWatch, addHistory, addCompile],
  'Decide at a gate': [
    addApprove,
    addReject,
    addAnswer,
    addAsk,
    addIgnore,
    addRetry,
    addAccept,
    addExtend,
    addTake,
    addClose,
  ],
  'Steer a run': [addMessage, addPause, addCancel, addFork, addSignal, addMigrate],
  'Look after the data': [addVerify, addExport, addRebuild, addClean],
};

/**
 * Carries out one command.
 * @param argv arguments without node and the program's file
 * @returns the exit code: 0 completed or done, 1 failed or needs a person, 2 limit reached, 64 usage
 */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  let exitCode: number = EXIT.done;
  const { program, line } = createCommands(io, (code) => {
    exitCode = code;
  });
  try {
    const [name] = argv;
    if (!program.commands.some((command) => command.name() === name)) {
      program.commandsGroup('Start work, by workflows that only the server has:');
      await addServersCommands(line, program, argv);
    }
    pointToOwnHelp(program, io.program);
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    // commander has written what it has to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    const explained = explainError(
      error,
      error instanceof ServerUnreachable ? await wayToServer(io, error) : undefined,
    );
    note(io, explained.message);
    // The server logs them itself.
    if (error instanceof ServerUnreachable || error instanceof ApiError || error instanceof CommandFailure)
      for (const fault of misspeltVariables(Object.keys(io.env))) note(io, fault);
    if (/^(?:debug|trace)$/.test(io.env['LOG_LEVEL'] ?? '') && error instanceof Error) note(io, error.stack ?? '');
    return explained.exitCode;
  }
}

/** @param end takes the exit code of the command that was carried out */
export function createProgram(io: CliIo, end: (exitCode: number) => void): Command {
  return createCommands(io, end).program;
}

function createCommands(io: CliIo, end: (exitCode: number) => void) {
  const program = new Command('autonomous')
    .description('Runs coding agents that plan, build and check, and asks you where you want to be asked.')
    .version(programVersion(), '-V, --version')
    .usage('COMMAND [options]')
    .helpCommand(false)
    .configureHelp({ subcommandTerm: termInHelp })
    .addHelpText(
      'after',
      `\nArguments and options of a command: ${io.program} COMMAND --help\nEach workflow of a server that runs is a command, too.`,
    )
    .hook('preAction', (_program, command) => refusePlaceholders(command))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(printable(text)),
      writeErr: (text) => io.stderr.write(printable(text)),
    });
  const line = createCommandLine(io, program, end);
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(`${heading}:`);
    for (const add of commands) add(line);
  }
  return { program, line };
}

/** Lets a fault of the command line end with the help of the command at fault. */
function pointToOwnHelp(command: Command, name: string): void {
  command.showHelpAfterError(`Help: ${name} --help`);
  for (const each of command.commands) pointToOwnHelp(each, `${name} ${each.name()}`);
}

/** With their arguments, the names of the program's own commands would leave no room for what they do. */
function termInHelp(command: Command): string {
  return command.parent?.parent === null ? command.name() : new Help().subcommandTerm(command);
}
