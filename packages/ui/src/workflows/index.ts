/** What screens know of single workflows beyond their descriptions. A workflow needs no entry here. */
import { fieldOf, type Gate, gateInfoOf, type RunView, type WorkflowInfo } from '@autonomous/shared';
import { EDITABLE_AT } from './build/edited-plan.ts';

/** Gate kinds at which a document may be approved in an edited version, by workflow. */
const EDITABLE: Readonly<Record<string, ReadonlySet<string>>> = { build: EDITABLE_AT };

/**
 * The open gate at which a person may approve an edited version of a document; `null` where it cannot be edited now.
 * @param type artifact type of the document
 */
export function editingGate(
  run: RunView,
  workflow: Pick<WorkflowInfo, 'gates'> | undefined,
  type: string,
): Gate | null {
  const { gate } = run;
  if (gate === null || !gate.decisions.includes('approve')) return null;
  const info = gateInfoOf(workflow, gate.kind);
  if (info.presents !== 'document' || info.document !== type) return null;
  const isOffered = fieldOf(info, 'approve')?.field === 'editedPlan';
  return isOffered || EDITABLE[run.workflow.name]?.has(gate.kind) === true ? gate : null;
}
