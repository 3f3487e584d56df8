/** The commands that show and decide an open gate, as lines for a terminal. */
import { type Gate, type GateDecision, gateInfoOf, type RunView, vouches } from '@autonomous/shared';
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

/**
 * Commands that show what an open gate presents and decide it. Words stand on lines of their own, less far in: not every shell takes
 * a comment behind a command that is pasted.
 */
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
  return [
    ...conflictLines(run),
    ...optionsToShow(workflow, gate, run.artifacts).map((option) => `${start} show ${gate.runId} ${option}`),
    ...gate.decisions.flatMap((kind) => {
      const label = info.labels?.[kind]?.button;
      return [...(label === undefined ? [] : [`${label}:`]), `${start} ${kind} ${gate.runId}${rest[kind]}`];
    }),
  ];
}

function conflictLines(run: RunView): readonly string[] {
  const conflict = branchConflictOf(run);
  if (conflict === null) return [];
  const { merge, push } = conflictCommands(conflict);
  return [
    'In a clone of the project:',
    ...merge.map((command) => `  ${command}`),
    'Resolve the conflicts in the files that it names, then:',
    `  ${push}`,
    'Then decide:',
  ];
}

/** The hash of the lines above covers them. */
function concernsAt(gate: Gate): readonly string[] {
  const decision = gate.decisions.find(vouches);
  const text = decision === undefined ? '' : withConcerns(gate, decision);
  return text === '' ? [] : [text.slice(1)];
}
