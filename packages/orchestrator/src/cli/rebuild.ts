/** Carries out `rebuild` and says what came back. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { showHiddenInLine } from '@autonomous/shared';
import { pino } from 'pino';
import { rebuild, type RebuildReport, type RebuiltRun } from '../composition/rebuild.ts';
import { readServerConfig } from '../config.ts';
import { isFinal } from '../core/advance.ts';
import { isBranchName, isOwnBranch } from '../path-rules/branch-names.ts';
import { parseRemoteAddress } from '../repository/remote-url.ts';
import { EXIT, UsageError } from './exit.ts';
import { type CliIo, note, say } from './io.ts';

export interface RebuildCommand {
  readonly from: readonly string[];
  readonly data?: string;
  /** `PROJECT=URL` each. */
  readonly remote?: readonly string[];
  /** `PROJECT=BRANCH` each. */
  readonly base?: readonly string[];
}

/**
 * Prints a line for each project and for each run that a person has to look at, and counts.
 * @returns 1 when a project or run was left out or quarantined
 */
export async function rebuildFrom({ from, data, remote = [], base = [] }: RebuildCommand, io: CliIo): Promise<number> {
  const remotes = new Map(
    remote.map((each) => {
      const [project, address] = pairOf('--remote', 'URL', each);
      return [project, orUsage(() => parseRemoteAddress(address).url)];
    }),
  );
  const bases = new Map(
    base.map((each) => {
      const [project, branch] = pairOf('--base', 'BRANCH', each);
      if (isBranchName(branch) && !isOwnBranch(branch)) return [project, branch];
      throw new UsageError(`--base '${each}' names no branch that a project may have.`);
    }),
  );
  const config = configOf(io, data);
  const log = pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: true }));
  const report = await rebuild({ config, log, from: from.map((place) => placeOf(io, place)), remotes, bases });
  return tell(report, io);
}

function configOf(io: CliIo, data: string | undefined): ReturnType<typeof readServerConfig> {
  return orUsage(() =>
    readServerConfig({ ...io.env, ...(data === undefined ? {} : { AUTONOMOUS_DATA: resolve(io.cwd, data) }) }),
  );
}

function pairOf(option: string, what: string, given: string): readonly [project: string, value: string] {
  const at = given.indexOf('=');
  const [project, value] = [given.slice(0, Math.max(0, at)), given.slice(at + 1)];
  if (/^[\w-]{1,100}$/.test(project)) return [project, value];
  throw new UsageError(
    `${option} '${given}' names no project: write PROJECT=${what} with the id of a project in the record.`,
  );
}

function orUsage<Value>(read: () => Value): Value {
  try {
    return read();
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

function tell({ projects, runs, leftOut, withoutParent, repeated, unknownRemotes }: RebuildReport, io: CliIo): number {
  // Names and texts of a record may be anything.
  const told = (text: string): void => say(io, showHiddenInLine(text));
  const warned = (text: string): void => note(io, showHiddenInLine(text));
  const quarantined = runs.filter(({ fault }) => fault !== null);
  const paused = runs.filter(({ view, fault }) => fault === null && !isFinal(view.status));
  for (const { id, name, repository, baseBranch, renamedFrom } of projects)
    told(
      `project ${id} is '${name}', ${repository}, with the base branch ${baseBranch}${renamedFrom === undefined ? '' : `; its name in the record, '${renamedFrom}', is taken by another project`}`,
    );
  for (const line of repeated) told(line);
  for (const run of paused) told(pausedLine(run));
  for (const { view, fault } of quarantined) warned(`run ${view.id} is quarantined: ${fault}`);
  for (const { kind, id, message } of leftOut) warned(`${kind} ${id} was left out: ${message}`);
  if (withoutParent.length > 0)
    warned(
      `The parents of these child runs did not come back, so that nobody waits for their results: ${withoutParent.map(({ view: { id, parent } }) => `run ${id} (of ${parent?.runId ?? ''})`).join(', ')}`,
    );
  for (const id of unknownRemotes) warned(`project ${id} of --remote is in none of these records`);
  if (leftOut.length > 0)
    warned(
      'What was left out stays in git. To bring it back with this version, commit a whole version of its files to the branch autonomous/record of a clone (git log autonomous/record -- .autonomous/runs/RUN lists them) and rebuild into a new folder from that clone.',
    );
  const ended = runs.length - quarantined.length - paused.length;
  told(
    `${count(projects.length, 'project')}, ${count(runs.length, 'run')}: ${ended} ended, ${paused.length} paused, ${quarantined.length} quarantined; ${leftOut.length} left out`,
  );
  const isDone = quarantined.length + leftOut.length + unknownRemotes.length === 0;
  return isDone ? EXIT.done : EXIT.notDone;
}

function pausedLine({ view: { id, status, gate, currentStage } }: RebuiltRun): string {
  const where = currentStage === null ? '' : ` in stage ${currentStage}`;
  return `run ${id} is ${status}${where} (${gate?.reason ?? ''}): show it, and retry lets it go on`;
}

function count(figure: number, what: string): string {
  return `${figure} ${what}${figure === 1 ? '' : 's'}`;
}
