/** The phases of a plan, their order and the commands that verify them, as `plan run --dry-run` shows them without a server. */
import { readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { RunConfigRequest } from '@autonomous/shared';
import type { findCheckCommands } from '../../project-analysis/check-commands.ts';
import { CONFIG_PATH, ownConfigOf } from '../../run-config/project-config.ts';
import { EXIT } from '../exit.ts';
import { type CliIo, note, say, sayJson } from '../io.ts';
import { askGit, refuseOwnClone, topOf } from '../local-git.ts';

/** Place of a plan's file. */
export interface PlanPlace {
  /** Path in its repository; where it lies in none, as the person named it. */
  readonly planPath: string;
  /** Folder of the repository; `null` where it lies in none. */
  readonly top: string | null;
}

/** A plan as it is shown. */
export interface PlanOutline {
  readonly planPath: string;
  /** `null` where the plan has none. */
  readonly title: string | null;
  readonly phases: readonly OutlinedPhase[];
  /** Numbers of phases; each wave depends only on those before it. */
  readonly waves: readonly (readonly number[])[];
}

interface OutlinedPhase {
  readonly number: number;
  readonly title: string;
  readonly criteria: readonly string[];
  readonly dependsOn: readonly number[];
}

type Commands = RunConfigRequest['commands'];

export interface OutlineOptions {
  readonly json?: boolean;
  /** Test command of the command line. */
  readonly test?: string;
  /** Lint command of the command line; `false`: none. */
  readonly lint?: string | false;
  /** Commands of the run configuration; `null`: there is none. Those that are absent are looked for in the project. */
  readonly configured?: Commands;
  /** Finds the commands of a project as the workflow does. */
  readonly findChecks: typeof findCheckCommands;
}

/** @param file relative to the folder in which the person stands, or absolute */
export async function placeOf(io: CliIo, file: string): Promise<PlanPlace> {
  const absolute = await realpath(path.resolve(io.cwd, file));
  const top = await topOf(path.dirname(absolute));
  return { planPath: top === null ? file : path.relative(top, absolute).split(path.sep).join('/'), top };
}

/** Prints a plan. @returns the exit code */
export async function showPlan(io: CliIo, outline: PlanOutline, options: OutlineOptions): Promise<number> {
  const { planPath, title: planTitle, phases, waves } = outline;
  const found = await commandsHere(io, options);
  const test = options.test ?? found.test;
  const lint = options.lint === false ? '' : (options.lint ?? found.lint);
  if (options.json) {
    sayJson(io, { ...outline, test, lint: lint || null }, 2);
    return EXIT.done;
  }
  say(io, `${planPath}${planTitle === null ? '' : `: ${planTitle}`}`);
  for (const { number, title, dependsOn, criteria } of phases) {
    const after = dependsOn.length === 0 ? 'depends on none' : `after ${dependsOn.join(', ')}`;
    const items = `${criteria.length} success ${criteria.length === 1 ? 'criterion' : 'criteria'}`;
    say(io, `  Phase ${number}${title === '' ? '' : `: ${title}`} (${after}; ${items})`);
  }
  say(io, `Order: ${waves.map((wave) => wave.join(' and ')).join(', then ')}`);
  say(io, `Test: ${test === '' ? 'none' : (test ?? 'not found here: you will be asked')}`);
  say(io, `Lint: ${lint === '' ? 'none' : (lint ?? 'none found here')}`);
  say(io, 'Nothing was started.');
  return EXIT.done;
}

/** The commands that a run of this working tree would use; an empty one: there is none. `null` where none was found. */
async function commandsHere(io: CliIo, { configured, findChecks }: OutlineOptions) {
  const top = await topOf(io.cwd);
  if (top !== null) await refuseOwnClone(top);
  const read = async (name: string) => (top === null ? null : readFile(path.join(top, name), 'utf8').catch(() => null));
  const named = { ...commandsOfProject(io, await read(CONFIG_PATH)), ...configured };
  const found = top === null ? { test: null, lint: null } : await findChecks(await filesOf(top), read);
  const chosen = (name: 'test' | 'lint') =>
    named[name] === undefined ? (found[name]?.command ?? null) : (named[name] ?? '');
  return { test: chosen('test'), lint: chosen('lint') };
}

/** The commands that the project's own configuration names. */
function commandsOfProject(io: CliIo, text: string | null): Commands {
  const { config, fault } = ownConfigOf(text);
  if (fault !== null) note(io, fault);
  return config?.defaultRunConfig?.commands;
}

async function filesOf(top: string): Promise<readonly string[]> {
  const answer = await askGit(top, 'ls-files', '-z');
  return answer.ok ? answer.output.split('\0').filter((name) => name !== '') : [];
}
