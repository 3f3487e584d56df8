/** Finds the gate at which a person may edit a document. */
import { fieldOf, type Gate, gateInfoOf, type RunView, type WorkflowInfo } from '@autonomous/shared';

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
  return fieldOf(info, 'approve')?.field === 'editedPlan' ? gate : null;
}
