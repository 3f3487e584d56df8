/** The commands that show and decide an open gate, as lines for a terminal. */
import { type Gate, type GateDecision, gateInfoOf, vouches } from '@autonomous/shared';
import { branchConflictOf, conflictCommands } from '@autonomous/shared/presentation';
import { approvalOption } from './decide.ts';
import { withConcerns } from './decided-gate.ts';
import type { Followed } from '../follow/follow.ts';
import type { CliIo } from '../io.ts';
import { optionsToShow, shownOptions } from '../run-texts.ts';

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
