/** Cause for which a run stands at a gate, from what is stored of the run and not from the words of the gate. */
import type { Evidence, Gate, RunView } from '../run.ts';
import { failedChecksText } from '../test-count.ts';
import { PAUSE_LABELS } from '../text/pause-labels.ts';

/** Characters of a cause that is stored with the end of a run. */
const LONGEST_CAUSE = 1_000;

/** Checks of the code at the gate that failed; `undefined` if none did, or if the gate shows no code. */
export function failedChecksAt({ gate, evidence }: Pick<RunView, 'gate' | 'evidence'>): Evidence | undefined {
  if (gate?.codeTree === undefined) return undefined;
  const last = evidence.findLast(({ codeTree }) => codeTree === gate.codeTree);
  return last?.passed === false ? last : undefined;
}

/**
 * Why an attempt that ends at this gate came to nothing, in one line: the failed tests, the agent's question, the reason of a pause, or
 * the summary of the gate without its concerns. It contains texts of others.
 */
export function gateCause(gate: Gate, { evidence }: Pick<RunView, 'evidence'>): string {
  const { question, reason, summary } = gate;
  const [first = ''] = summary.trim().split('\n');
  if (reason !== undefined) return `${PAUSE_LABELS[reason]}: ${first}`;
  if (question !== undefined) return `the agent asked: ${question.question.trim().replaceAll(/\s+/g, ' ')}`;
  if (isUnchanged(gate)) return 'the agent changed no file';
  const failed = failedChecksAt({ gate, evidence });
  if (failed === undefined) return first;
  return `${failed.mode === 'base_tests' ? "with the base commit's tests, " : ''}${failedChecksText(failed)}`;
}

/** Why a run that is ended at its gate has come to nothing; `undefined` where it stands at none, or its result waits for an approval. */
export function causeOfEnd({ gate, evidence }: Pick<RunView, 'gate' | 'evidence'>): string | undefined {
  if (gate === null) return undefined;
  const isOffered = gate.decisions.includes('approve') && !isUnchanged(gate);
  return isOffered ? undefined : gateCause(gate, { evidence }).slice(0, LONGEST_CAUSE).toWellFormed();
}

/** True for a gate whose result is empty. */
export function isUnchanged({ concerns = [] }: Pick<Gate, 'concerns'>): boolean {
  return concerns.some(({ kind }) => kind === 'no_change');
}
