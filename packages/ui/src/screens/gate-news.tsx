/** What was decided elsewhere while a run is looked at: the gate is gone from the page, and this says why. */
import { type GateOutcome, plainWords, type RunView } from '@autonomous/shared';
import { useState } from 'react';
import { stageTitle } from '../labels.ts';
import { Ago } from '../parts/times.tsx';

const DECIDED: Readonly<Record<GateOutcome['decision'], string>> = {
  approve: 'approved',
  reject: 'sent back',
  answer: 'answered',
  ignore: 'ignored',
  ask: 'asked about',
  retry: 'sent back for another try',
  accept: 'accepted as it is',
  extend: 'extended',
  cancel: 'cancelled',
};

/**
 * The newest decision, where somebody made it elsewhere since the run is looked at; `null` where it is older or was made here.
 * @param before how many decisions there were when the run was first looked at
 * @param here gates that were decided on this page
 */
export function decidedElsewhere(
  { gates }: Pick<RunView, 'gates'>,
  before: number,
  here: ReadonlySet<string>,
): GateOutcome | null {
  const newest = gates.length > before ? gates.at(-1) : undefined;
  return newest === undefined || here.has(newest.gateId) ? null : newest;
}

/** What is decided, where the gate's kind does not read as such. */
const KINDS: Readonly<Record<string, string>> = {
  clarification: 'Question',
  escalation: 'Questions',
  fix: 'Failed checks',
  invalid_plan: 'Plan',
  implementation: 'Result',
};

/** `Plan approved by ada` */
export function outcomeLine({ kind, decision, by }: GateOutcome): string {
  return `${KINDS[kind] ?? stageTitle(kind)} ${DECIDED[decision] ?? decision} by ${plainWords(by)}`;
}

export function GateNews({ run, here }: { readonly run: RunView; readonly here: ReadonlySet<string> }) {
  const [before] = useState(run.gates.length);
  const [dismissed, setDismissed] = useState<GateOutcome | null>(null);
  const outcome = decidedElsewhere(run, before, here);
  const isShown = outcome !== null && outcome.at !== dismissed?.at;
  return (
    <div role="status" className={isShown ? 'gate-news' : 'hidden'}>
      {isShown && (
        <>
          <p>
            Decided elsewhere: {outcomeLine(outcome)}, <Ago at={outcome.at} />{' '}
            <button type="button" className="link" onClick={() => setDismissed(outcome)}>
              Dismiss
            </button>
          </p>
          {outcome.notes !== undefined && outcome.notes !== '' && <blockquote>{plainWords(outcome.notes)}</blockquote>}
        </>
      )}
    </div>
  );
}
