/** Follows a run until its command ends, and prints how to continue. */
import type { Gate, RunView, WorkflowEvent } from '@autonomous/shared';
import type { Client } from '@autonomous/shared/client';
import { personAtTerminal } from '../gates/dialog.ts';
import { EXIT, exitCodeOf } from '../exit.ts';
import { followWatching } from './follow-watching.ts';
import { type Followed, followRun } from './follow.ts';
import { gateLines } from '../gates/gate-lines.ts';
import { type CliIo, hasPerson, note, say, sayJson } from '../io.ts';
import { resultLines } from './result-lines.ts';
import { leftLine, statusOf } from '../run-texts.ts';

/** How a followed run ended, or where it waits. */
export interface FollowedRun {
  readonly run: RunView;
  /** Gates of the run and its child runs that wait for a person. */
  readonly gates: readonly Gate[];
}

/** A look at all events of a run and its child runs. */
export interface Watch {
  readonly onEvent: (event: WorkflowEvent) => void;
  /** @returns the exit code, from the one that the state of the run gives */
  readonly end: (code: number, followed: FollowedRun) => Promise<number> | number;
}

interface FollowStartedOptions {
  readonly detach?: boolean;
  readonly json?: boolean;
  readonly watch?: Watch | undefined;
}

/**
 * Follows a run that was just started, with its child runs, and asks the person at the terminal at their gates.
 * With `detach` it only prints the run.
 * @param name of the project, or of whatever else the run belongs to
 * @returns the exit code
 */
export async function followStarted(
  io: CliIo,
  client: Client,
  launched: RunView,
  name: string,
  options: FollowStartedOptions,
): Promise<number> {
  if (options.detach) {
    if (options.json) sayJson(io, launched);
    else say(io, `${launched.id}\n${name}: ${statusOf(launched)}; follow it with: ${io.program} watch ${launched.id}`);
    return EXIT.done;
  }
  const json = options.json ?? false;
  const person = hasPerson(io) && !json ? personAtTerminal(client, io) : undefined;
  const runId = launched.id;
  const { watch } = options;
  if (watch !== undefined) {
    const { run, gates } = await followWatching({ client, io, runId, json, person, onEvent: watch.onEvent });
    return watch.end(exitCodeOf(run, gates), { run, gates });
  }
  const followed = await followRun({ client, io, runId, json, atGate: person ?? 'end', endsAtChildren: true });
  if (followed.interrupted || followed.run.status !== 'awaiting_children') return endOf(io, client, followed, json);
  // The run has nothing to tell while its child runs are under way, and one of them may wait for a person.
  const { run, gates } = await followWatching({ client, io, runId, json, person, toldUpTo: followed.position });
  return exitCodeOf(run, gates);
}

/** Prints the commands that can follow. @returns the exit code */
export async function endOf(io: CliIo, client: Client, followed: Followed, json: boolean): Promise<number> {
  const { run: last, interrupted } = followed;
  if (!json) {
    // A server that is away by now has been told of before.
    const shown = await client.getRun(last.id).catch(() => null);
    if (shown?.recordPlace === 'pending')
      note(io, 'Only the server has the run: its record is not on the remote of its project yet.');
    if (interrupted) note(io, leftLine(last.id, last.gate === null ? [] : [last.gate], io.program));
    if (last.gate) for (const line of gateLines(io, last.gate, followed)) say(io, line);
    else for (const line of await resultLines(io, client, last)) say(io, line);
  }
  return exitCodeOf(last);
}
