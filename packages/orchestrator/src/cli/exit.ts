/** Exit codes, and what a person reads when a command ends in an error. */
import { type Gate, type ProblemDetails, type RunView, toProblem } from '@autonomous/shared';
import { ApiError, refusalLines, ServerUnreachable } from '@autonomous/shared/client';
import { startCommand } from '../server/start-command.ts';

export const EXIT = {
  /** The run completed, or the command did what it was asked. */
  done: 0,
  /** A person is needed, or it failed. */
  notDone: 1,
  /** A budget or rate limit was reached. */
  limit: 2,
  /** The command line, or the configuration, cannot be taken (EX_USAGE of sysexits.h). */
  usage: 64,
} as const;

/** The command line asks for something that cannot be. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command line is right, and it cannot be done here and now. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}

/**
 * How a command ends that followed a run as far as this.
 * @param gates at which the run or its child runs wait. Default: the gate of the run
 */
export function exitCodeOf(run: RunView, gates: readonly Gate[] = run.gate === null ? [] : [run.gate]): number {
  if (run.status === 'completed') return run.failures === undefined ? EXIT.done : EXIT.notDone;
  const isAtLimit = gates.some(({ reason }) => reason === 'budget' || reason === 'rate_limited');
  return isAtLimit ? EXIT.limit : EXIT.notDone;
}

/**
 * Returns the message and exit code of an error. Only an unexpected error is called one of the program.
 * @param start what to do where no server answers
 */
export function explainError(
  error: unknown,
  start = `Start it with: ${startCommand().serve}`,
): { readonly message: string; readonly exitCode: number } {
  if (error instanceof UsageError) return { message: error.message, exitCode: EXIT.usage };
  if (error instanceof CommandFailure) return { message: error.message, exitCode: EXIT.notDone };
  if (error instanceof ServerUnreachable) {
    return { message: `${error.message}\n${start}`, exitCode: EXIT.notDone };
  }
  const problem = error instanceof ApiError ? error.problem : toProblem(error);
  if (error instanceof ApiError || problem.code !== 'internal') return explainRefusal(problem);
  const what = error instanceof Error ? error.message : String(error);
  return { message: `This should not have happened, it is a fault of the program: ${what}`, exitCode: EXIT.notDone };
}

function explainRefusal(problem: ProblemDetails): { readonly message: string; readonly exitCode: number } {
  const { status } = problem;
  if (status === 401) {
    const wayOut =
      "Set AUTONOMOUS_TOKEN to the server's token. Where it is set to an old one, unset it: the one in the server's data folder is used then.";
    return { message: `The server refuses the token.\n${wayOut}`, exitCode: EXIT.notDone };
  }
  const way = problem['missing'] === 'run' ? [`The runs are listed by: ${startCommand().program} list`] : [];
  return {
    message: [...refusalLines(problem), ...way].join('\n'),
    exitCode: status === 429 ? EXIT.limit : EXIT.notDone,
  };
}
