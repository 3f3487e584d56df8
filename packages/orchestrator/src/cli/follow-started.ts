/** Follows a run until its command ends, and prints how to continue. */
import { type Gate, type GateDecision, gateInfoOf, type RunView, vouches } from '@autonomous/shared';
import { branchConflictOf, conflictCommands } from '@autonomous/shared/presentation';
import type { Client } from '@autonomous/shared/client';
import { approvalOption } from './decide.ts';
import { withConcerns } from './decided-gate.ts';
import { personAtTerminal } from './dialog.ts';
import { EXIT, exitCodeOf } from './exit.ts';
import { type Followed, followRun } from './follow.ts';
import { type CliIo, hasPerson, note, say, sayJson } from './io.ts';
import { optionsToShow, shownOptions, statusOf } from './run-texts.ts';

/**
 * Follows a run that was just started, and asks the person at the terminal at its gates.
 * With `detach` it only prints the run.
 * @param name of the project, or of whatever else the run belongs to
 * @returns the exit code
 */
export async function followStarted(
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

/** Prints the commands that can follow. @returns the exit code */
export function endOf(io: CliIo, followed: Followed, json: boolean): number {
  const { run: last, interrupted } = followed;
  if (!json) {
    if (interrupted) note(io, `The run continues. Follow it with: ${io.program} watch ${last.id}`);
    else if (last.gate) for (const line of gateLines(io, last.gate, followed)) say(io, line);
  }
  return exitCodeOf(last);
}

/** The commands of an open gate, and the concerns that a decision would accept. */
export function gateLines(io: CliIo, gate: Gate, followed: Pick<Followed, 'run' | 'workflow'>): readonly string[] {
  return [...waysOn(io, gate, followed), ...concernsAt(gate)];
}

/** Commands that show what an open gate presents and decide it. A label of the workflow's own follows as a comment of the shell. */
export function waysOn(
  io: CliIo,
  gate: Gate,
  { run, workflow }: Pick<Followed, 'run' | 'workflow'>,
): readonly string[] {
  const start = `  ${io.program}`;
  const shown = ` ${shownOptions(gate)}`;
  const info = gateInfoOf(workflow, gate.kind);
  const rest: Readonly<Record<GateDecision['decision'], string>> = {
    approve: `${shown}${approvalOption(info)}`,
    reject: ' --feedback "…"',
    answer: gate.question?.responseType === 'file_upload' ? ' --file PATH' : ' "…"',
    ignore: '',
    ask: ' "…"',
    retry: '',
    accept: `${shown} --reason "…"`,
    extend: ' MINUTES',
    close: ' --reason "…"',
  };
  const conflict = branchConflictOf(run);
  return [
    ...(conflict === null ? [] : conflictCommands(conflict).map((command) => `  ${command}`)),
    ...optionsToShow(workflow, gate, run.artifacts).map((option) => `${start} show ${gate.runId} ${option}`),
    ...gate.decisions.map((kind) => {
      const label = info.labels?.[kind]?.button;
      return `${start} ${kind} ${gate.runId}${rest[kind]}${label === undefined ? '' : `  # ${label}`}`;
    }),
  ];
}

/** The hash of the lines above covers them. */
function concernsAt(gate: Gate): readonly string[] {
  const decision = gate.decisions.find(vouches);
  const text = decision === undefined ? '' : withConcerns(gate, decision);
  return text === '' ? [] : [text.slice(1)];
}
