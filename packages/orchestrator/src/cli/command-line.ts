/** Registers commands, so that each lies in a file of its own and `program.ts` only lists them. */
import { ID, noSuchRun } from '@autonomous/shared';
import { type Command, InvalidArgumentError } from 'commander';
import type { ShownOptions } from './gates/decided-gate.ts';
import type { CliIo } from './io.ts';

/** The program as its commands see it. */
export interface CommandLine {
  readonly io: CliIo;
  /** Adds a command that needs no server. */
  command(usage: string, description: string): Command;
  /** Adds a command that calls a server: it has `--server`. */
  client(usage: string, description: string): Command;
  /** Adds a command that decides the gate that was shown: it has `--server`, `--gate` and `--hash`. */
  deciding(usage: string, description: string): Command;
  /** Makes an action of a function that returns the exit code. */
  ending<Args extends unknown[]>(work: (...args: Args) => Promise<number>): (...args: Args) => Promise<void>;
}

export interface ServerOptions {
  readonly server?: string;
}
export interface JsonOptions extends ServerOptions {
  readonly json?: boolean;
}
export interface DecidingOptions extends ServerOptions, ShownOptions {}

/** @param end takes the exit code of the command that was carried out */
export function createCommandLine(io: CliIo, program: Command, end: (exitCode: number) => void): CommandLine {
  const command = (usage: string, description: string) => program.command(usage).description(description);
  const client = (usage: string, description: string) => {
    const made = command(usage, description);
    made.registeredArguments.find((argument) => argument.name() === 'run')?.argParser(namedRun);
    return made.option('--server <url>', 'address of the server; else AUTONOMOUS_SERVER, else this machine');
  };
  const deciding = (usage: string, description: string) =>
    client(usage, description)
      .option('--gate <id>', 'the gate that was shown, as show and gates print it; refused while another one is open')
      .option('--hash <hash>', 'what it showed, from the same line; without it the terminal shows the gate and asks');
  return {
    io,
    command,
    client,
    deciding,
    ending:
      (work) =>
      async (...args) =>
        end(await work(...args)),
  };
}

/** Reads the id of a run. @throws {NotFound} for a text that cannot be one, such as a placeholder */
export function namedRun(id: string): string {
  if (!ID.test(id)) throw noSuchRun(id);
  return id;
}

/** Collects the values of a repeated option `ROLE=MODEL`. @throws {InvalidArgumentError} when a value is not of this form */
export function collectModels(
  value: string,
  before: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const at = value.indexOf('=');
  const role = value.slice(0, Math.max(0, at));
  const model = value.slice(at + 1);
  if (role === '' || model === '') {
    throw new InvalidArgumentError(
      'Write ROLE=MODEL: a role of the workflow and PROVIDER:MODEL, such as anthropic:claude-sonnet-4-5.',
    );
  }
  return { ...before, [role]: model };
}

/** Collects the values of a repeated option. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

/** Reads the value of an option as a whole number from `min` to `max`. */
export function numberFrom(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < min || number > max) {
      throw new InvalidArgumentError(`A whole number from ${min} to ${max} is needed.`);
    }
    return number;
  };
}
