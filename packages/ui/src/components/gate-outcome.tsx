/** Words a gate's decision and its author, in the same way on every screen. */
import { gateInfoOf, type GateOutcome, type WorkflowInfo } from '@autonomous/shared';
import { withoutTerminal } from '@autonomous/shared/presentation';
import type { ReactNode } from 'react';
import { Link } from './link.tsx';
import { Ago } from './times.tsx';

const DECIDED: Readonly<Record<GateOutcome['decision'], string>> = {
  approve: 'approved',
  reject: 'sent back',
  answer: 'answered',
  ignore: 'ignored',
  ask: 'answered with a question',
  retry: 'sent back for another try',
  accept: 'accepted as it is',
  extend: 'extended',
  close: 'closed',
  cancel: 'cancelled',
};

/**
 * `['Plan', 'approved']`. A newer server may know decisions that this program does not: they are called what they are.
 * @param workflow absent while it is not known: the gate is then named after its kind
 */
export function outcomeWords(
  { kind, decision }: Pick<GateOutcome, 'kind' | 'decision'>,
  workflow?: Pick<WorkflowInfo, 'gates'>,
): readonly [string, string] {
  return [gateInfoOf(workflow, kind).title, DECIDED[decision] ?? decision];
}

/**
 * `Decided elsewhere: Plan approved by ada, 3 min ago`, and below it what was said with it.
 * @param lead what comes first; nothing when absent
 * @param linkedIn the run whose gate it is, where it leads there
 * @param children what follows in the same line
 */
export function OutcomeOfGate({
  lead,
  outcome,
  workflow,
  linkedIn,
  children,
}: {
  readonly lead?: string;
  readonly outcome: GateOutcome;
  readonly workflow: Pick<WorkflowInfo, 'gates'> | undefined;
  readonly linkedIn?: string;
  readonly children?: ReactNode;
}) {
  const [what, decided] = outcomeWords(outcome, workflow);
  const { by, at, notes, gateId } = outcome;
  return (
    <>
      <p>
        {lead !== undefined && `${lead}: `}
        {linkedIn === undefined ? what : <Link to={{ name: 'run', runId: linkedIn, gate: gateId }}>{what}</Link>}{' '}
        <strong>{decided}</strong> by {withoutTerminal(by)}, <Ago at={at} />
        {children}
      </p>
      {notes !== undefined && notes !== '' && <blockquote>{withoutTerminal(notes)}</blockquote>}
    </>
  );
}
