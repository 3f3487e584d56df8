/** Carries out `rebuild` and says what came back. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pino } from 'pino';
import { rebuild, type RebuildReport } from '../composition/rebuild.ts';
import { readServerConfig } from '../config.ts';
import { isFinal } from '../core/advance.ts';
import { EXIT, UsageError } from './exit.ts';
import { type CliIo, note, say } from './io.ts';

export interface RebuildCommand {
  readonly from: readonly string[];
  readonly data?: string;
}

/**
 * Prints a line for each run that a person has to look at, and counts.
 * @returns 1 when a run was left out or quarantined
 */
export async function rebuildFrom({ from, data }: RebuildCommand, io: CliIo): Promise<number> {
  const config = configOf(io, data);
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: true }));
  const report = await rebuild({ config, log, from: from.map((place) => placeOf(io, place)) });
  return tell(report, io);
}

function configOf(io: CliIo, data: string | undefined): ReturnType<typeof readServerConfig> {
  try {
    return readServerConfig({ ...io.env, ...(data === undefined ? {} : { AUTONOMOUS_DATA: resolve(io.cwd, data) }) });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** A folder as an absolute path; anything else as it is. */
function placeOf(io: CliIo, place: string): string {
  const folder = resolve(io.cwd, place);
  const isAddress = place.includes('://') || /^[\w.-]+@[^/:]+:/.test(place);
  return isAddress && !existsSync(folder) ? place : folder;
}

function tell({ projects, runs, leftOut }: RebuildReport, io: CliIo): number {
  const held = runs.filter(({ view, fault }) => fault === null && view.gate?.reason === 'rebuilt');
  const quarantined = runs.filter(({ fault }) => fault !== null);
  const waiting = runs.filter(
    ({ view, fault }) => fault === null && !isFinal(view.status) && !held.some((each) => each.view === view),
  );
  for (const { view } of waiting) say(io, `run ${view.id} waits at its gate '${view.gate?.kind ?? ''}'`);
  for (const { view } of held) say(io, `run ${view.id} was under way and is paused: retry lets it go on`);
  for (const { view, fault } of quarantined) note(io, `run ${view.id} is quarantined: ${fault}`);
  for (const { runId, message } of leftOut) note(io, `run ${runId} was left out: ${message}`);
  const ended = runs.length - held.length - quarantined.length - waiting.length;
  say(
    io,
    `${count(projects.length, 'project')}, ${count(runs.length, 'run')}: ${ended} ended, ${waiting.length} waiting, ${held.length} paused, ${quarantined.length} quarantined; ${leftOut.length} left out`,
  );
  return quarantined.length + leftOut.length === 0 ? EXIT.done : EXIT.notDone;
}

function count(figure: number, what: string): string {
  return `${figure} ${what}${figure === 1 ? '' : 's'}`;
}
