/** Follows a run until its command ends, and prints how to continue. */
import { type Client, type Gate, type GateDecision, type RunView, vouches } from '@autonomous/shared';
import { withConcerns } from './decided-gate.ts';
import { personAtTerminal } from './dialog.ts';
import { EXIT, exitCodeOf } from './exit.ts';
import { type Followed, followRun } from './follow.ts';
import { type CliIo, hasPerson, note, say, sayJson } from './io.ts';
import { shownOptions, statusOf } from './run-texts.ts';

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
export function endOf(io: CliIo, { run: last, interrupted }: Followed, json: boolean): number {
  if (!json) {
    if (interrupted) note(io, `The run continues. Follow it with: ${io.program} watch ${last.id}`);
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
